# CUDA calls of processes without a guest, as the kernel sees them: the same launches that CUPTI counts where there is a guest.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# host_profile NAME COMMAND...: a run without a guest; its calls by count and by time.
host_profile() {
	local name=$1
	shift

	"$flamegrid" run --host-calls on --bpf-buffer 131072 -o "$scratch/$name" -- "$@" >"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	grep '^flamegrid:' "$out/$name.stderr"
	"$flamegrid" report "$scratch/$name" --planes calls --weight count --format folded --strict >"$out/$name.calls.folded" 2>/dev/null
	same "$name: nothing lost (report --strict)" $? 0
	"$flamegrid" report "$scratch/$name" --planes calls --unit ns --format folded >"$out/$name.calls.ns.folded" 2>/dev/null
	by_function "$out/$name.calls.folded" | sed "s/^/$name: /"
}
by_function() { awk '{ n = $NF; sub(/ [0-9]+$/, ""); sub(/.*\[GPU_Launch\]/, ""); s[$0] += n } END { for (f in s) printf "%.0f %s\n", s[f], f }' "$1" | sort -rn; }
launches() { leaf_sum "$1" 'GPU_Launch.cu(da)?Launch'; }

# The runtime that the program links to, and the one that is a part of it.
host_launch_bound() {
	local name=$1 program=$2 launched

	host_profile "$name" "$program" 50000 2 1
	launched=$(sed -n 's/^launched tiny \([0-9]*\) spin \([0-9]*\)/\1 \2/p' "$out/$name.stdout" | awk '{ print $1 + $2 }')
	same "$name: launches" "$(launches "$out/$name.calls.folded")" "$launched"
	same "$name: of these by the runtime" "$(leaf_sum "$out/$name.calls.folded" 'GPU_Launch.cudaLaunchKernel')" "$launched"
	same "$name: of these from launch_tiny or launch_spin" \
		"$(grep '\]cudaLaunchKernel' "$out/$name.calls.folded" | grep -cvE 'launch_(tiny|spin)')" 0
	same "$name: waits for the device" "$(leaf_sum "$out/$name.calls.folded" 'GPU_Launch.cudaDeviceSynchronize')" \
		$((2 * 5 * (50000 / 1024 + 1)))
}

# In a hundred calls that no autograd thread makes (those have no Python): how many stand under the script's frames.
python_share() {
	awk -v script="$2" '/autograd::(python::Python)?Engine::(thread_|evaluate_function)/ { next } { n += $NF } index($0, script ":") { p += $NF } END { printf "%.0f\n", n ? int(100 * p / n) : 0 }' "$1"
}

# us a step, or ns a launch: without a profiler, host-only, with a guest, in turn.
host_cost() {
	local name=$1 cut=$2 kind
	shift 2

	[ -z "${HOSTCALLS_COUNTS_ALONE:-}" ] || return 0

	for _ in 1 2 3 4 5; do
		for kind in none host guest; do
			case $kind in
			none) "$@" ;;
			host) "$flamegrid" run -q --host-calls on --bpf-buffer 131072 -o "$scratch/timed" -- "$@" ;;
			guest) "$flamegrid" run -q -o "$scratch/timed" -- "$@" ;;
			esac 2>/dev/null | sed -n "$cut" | tr ' ' '\n' | grep -v '^$' | tail -n +2 >>"$scratch/$name.hostcalls.$kind"
		done
	done
	for kind in none host guest; do printf '%-12s %-6s %s\n' "$name" $kind "$(median <"$scratch/$name.hostcalls.$kind")"; done |
		tee "$out/$name.hostcalls.txt"
}

hostcalls() {
	local kernels attached

	host_launch_bound hostcalls_shared "$scratch/programs/launch_bound"
	nvcc -O2 -g -arch=native -cudart static -Xcompiler -fno-omit-frame-pointer "$here/programs/launch_bound.cu" \
		-o "$scratch/programs/launch_bound_static" 2>"$out/nvcc-static.log" || not_ok "nvcc: $out/nvcc-static.log"
	host_launch_bound hostcalls_static "$scratch/programs/launch_bound_static"
	host_cost launch_bound 's/^thread 0 device 0 ns.launch://p' "$scratch/programs/launch_bound" 200000
	have_torch || { echo "left out: no PyTorch"; return; }

	FLAMEGRID_API='cudaLaunch*,cuLaunch*' profile hostcalls_guest python3 "$here/programs/tiny_train.py"
	kernels=$(leaf_sum "$out/hostcalls_guest.count.folded" '_Kernel\]')
	"$flamegrid" report "$scratch/hostcalls_guest" --format csv --rows calls >"$out/hostcalls_guest.calls.csv"
	head -n 20 "$out/hostcalls_guest.calls.csv"
	host_profile hostcalls_train python3 "$here/programs/tiny_train.py"
	same "hostcalls_train: launches, as CUPTI counts kernels of a run with a guest" "$(launches "$out/hostcalls_train.calls.folded")" "$kernels"
	at_least "hostcalls_train: of 100 calls outside of autograd's threads, under tiny_train.py's frames" \
		"$(python_share "$out/hostcalls_train.calls.folded" tiny_train.py)" 95
	at_least "hostcalls_train: calls under tiny_train.py's frames" "$(awk '/(^|;)tiny_train.py:/ { n += $NF } END { printf "%.0f\n", n }' "$out/hostcalls_train.calls.folded")" 1000
	awk '{ n += $NF } /tiny_train.py:/ { p += $NF } /frames missing/ { m += $NF } /frames differ/ { d += $NF }
		END { printf "hostcalls_train: of %.0f calls %.0f under Python, %.0f with missing frames, %.0f where native and Python frames differ\n", n, p, m, d }' "$out/hostcalls_train.calls.folded"
	host_cost tiny_train 's/^ *us.step://p' python3 "$here/programs/tiny_train.py"

	python3 "$here/programs/duty_train.py" 30 >"$out/hostcalls_attach.stdout" 2>&1 &
	attached=$!
	until grep -q ready "$out/hostcalls_attach.stdout"; do sleep 0.1; done
	"$flamegrid" attach --pid $attached --duration 5s -o "$scratch/hostcalls_attach" 2>"$out/hostcalls_attach.stderr"
	same "hostcalls_attach: exit status" $? 0
	grep '^flamegrid:' "$out/hostcalls_attach.stderr"
	wait $attached
	same "hostcalls_attach: the process's status" $? 0
	at_least "hostcalls_attach: launches" "$("$flamegrid" report "$scratch/hostcalls_attach" --planes calls --weight count --format folded 2>/dev/null |
		awk '/\[GPU_Launch\]cu(da)?Launch/ { n += $NF } END { printf "%.0f\n", n }')" 1000
}
