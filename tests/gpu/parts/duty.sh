# Capture windows of production: 1 s in 30, over whole cycles; and one thread that feeds several GPUs.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# duty_of NAME SED-EXPRESSION COMMAND...: without us and with a window in 30 s, in turn, each over two cycles. The expression cuts out
# a rate. In the background: two of these share no GPU.
duty_of() {
	local name=$1 cut=$2 round
	shift 2

	for round in 1 2; do
		"$@" 2>>"$out/$name.stderr" | sed -n "$cut" >>"$scratch/$name.none"
		"$flamegrid" run --duty 1s/30s -o "$scratch/$name.$round" -- "$@" 2>>"$out/$name.stderr" | sed -n "$cut" >>"$scratch/$name.duty"
	done
	printf '%s: without %s, 1 s in 30 s %s\n' "$name" "$(tr '\n' ' ' <"$scratch/$name.none")" "$(tr '\n' ' ' <"$scratch/$name.duty")"
	awk -v name="$name" -v duty="$(awk '{ s += $1 } END { print s / NR }' "$scratch/$name.duty")" \
		'{ s += $1; if (NR == 1 || $1 < low) low = $1; if ($1 > high) high = $1 } END {
		printf "%s: %.4f x the time without (which itself spans %.4f)\n", name, s / NR / duty, high / low }' "$scratch/$name.none"
}

# One run over a whole cycle, its batches against those of the same run between the windows: no other run's noise in it.
duty_cycle() {
	"$flamegrid" run -q --duty 1s/30s -o "$scratch/cycle" -- "$scratch/programs/steady" 62 >"$out/duty_cycle.stdout" 2>>"$out/duty.stderr"
	awk '/^batch/ { n++; sum += $3; at = $2 % 30000; if (at < 1000) { within += $3; w++ } else if (at > 2500 && at < 29900) { rest += $3; r++ } }
		END { if (!w || !r) { print "NOT OK  duty_cycle: no batches"; exit 1 }
		printf "duty_cycle: mean within %.0f, between %.0f ns a launch; all batches of two cycles %.4f x those between\n",
			within / w, rest / r, sum / n / (rest / r) }' "$out/duty_cycle.stdout" || failed=1
}

duty() {
	nvcc -O2 -g -arch=native -cudart shared "$here/programs/steady.cu" -o "$scratch/programs/steady" 2>>"$out/nvcc.log" ||
		{ not_ok "nvcc: $out/nvcc.log"; return; }
	duty_cycle
	[ -n "${DUTY_CYCLE_ALONE:-}" ] && return
	if have_torch && [ "$gpus" -gt 1 ]; then
		CUDA_VISIBLE_DEVICES=1 duty_of duty_train 's/^steps.s //p' python3 "$here/programs/duty_train.py" 60 >"$out/duty_train" &
		duty_of duty_steady 's/^launched //p' "$scratch/programs/steady" 60
		wait $!
		cat "$out/duty_train"
		return
	fi
	duty_of duty_steady 's/^launched //p' "$scratch/programs/steady" 60
	have_torch && duty_of duty_train 's/^steps.s //p' python3 "$here/programs/duty_train.py" 60
}

# No window may end in the middle of a group: CUPTI waits for all GPUs then, and half of a group waits for the other half.
group() {
	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	timeout 120 "$flamegrid" run --duty 100ms/300ms -o "$scratch/group" -- python3 "$here/programs/nccl_group.py" 15 \
		>"$out/group.stdout" 2>"$out/group.stderr"
	same "group: exit status" $? 0
	cat "$out/group.stdout"
	grep '^flamegrid:' "$out/group.stderr"
	same "group: sums" "$(sed -n 's/^right //p' "$out/group.stdout")" True
	"$flamegrid" report "$scratch/group" --format folded --weight count --by gpu >"$out/group.count.folded"
	"$flamegrid" report "$scratch/group" --format table --strict >"$out/group.table" 2>&1
	same "group: nothing lost (report --strict)" $? 0
	same "group: GPUs in the profile" "$(sed -n 's/^\(GPU[0-9]*\);.*_Kernel\].*/\1/p' "$out/group.count.folded" | sort -u | wc -l)" "$gpus"
}
