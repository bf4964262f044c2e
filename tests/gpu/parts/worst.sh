# The slowest step of a minute's training on all GPUs, as a trace for Perfetto.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# WORST_SECONDS: how long the training lasts.
worst() {
	local step from to

	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	SECONDS_LONG=${WORST_SECONDS:-60} FLAMEGRID=$flamegrid "$flamegrid" run --timeline all -o "$scratch/worst" -- \
		torchrun --nproc_per_node="$gpus" "$here/programs/worst_train.py" >"$out/worst.stdout" 2>"$out/worst.stderr"
	same "worst: exit status" $? 0
	grep '^flamegrid:' "$out/worst.stderr"
	step=$(sed -n 's/^saved \([0-9]*\) .*/\1/p' "$out/worst.stdout")
	cat "$out/worst.stdout"
	du -sb "$scratch/worst/profile.db" "$scratch"/worst/profile.db.timeline 2>/dev/null
	time "$flamegrid" timeline "$scratch/worst" --around-worst -o "$out/worst.perfetto" 2>"$out/worst.said"
	same "worst: the trace" $? 0
	cat "$out/worst.said"
	from=$(sed -n 's/.*; from \([0-9.]*\) s to .*/\1/p' "$out/worst.said")
	to=$(sed -n 's/.*; from .* s to \([0-9.]*\) s$/\1/p' "$out/worst.said")
	"$flamegrid" timeline "$scratch/worst" --from 10s --to 12s -o "$scratch/plain.perfetto" 2>"$out/plain.stderr"
	cat "$out/plain.stderr"
	at_least "worst: 2 s of plain steps: bytes an event below 50" \
		$((50 - $(sed -n 's/.*; \([0-9]*\)\.[0-9] bytes an event.*/\1/p' "$out/plain.stderr"))) 1
	# All ranks' work of that time. --around-worst takes each rank's own step of that number instead.
	"$flamegrid" timeline "$scratch/worst" --from "${from}s" --to "${to}s" -f profile -o "$scratch/worst_part"
	"$flamegrid" report "$scratch/worst_part" -u ns -o "$scratch/worst.folded" 2>/dev/null
	"$flamegrid" timeline "$scratch/worst" --steps >"$out/worst.steps" 2>&1
	head -n 40 "$out/worst.steps"
	python3 "$here/programs/worst_check.py" "$out/worst.perfetto" "$scratch/worst.folded" "$step" "$gpus" "$from" "$to" || failed=1
}
