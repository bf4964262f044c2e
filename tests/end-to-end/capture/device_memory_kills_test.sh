#!/usr/bin/env bash
# kill -9 of the aggregator while memory is recorded, started again on the same store: peaks, what lives and where it
# came from are the truth's, to the byte.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/memory_harness.sh"
list=$(devices 2)
. "$(dirname "$0")/../support/daemon_harness.sh"
RANDOM=${KILL_SEED:-20261121}

start_aggregator
start_agent

mkfifo "$scratch/progress"
FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=$scratch/truth FAKE_CUPTI_SHUFFLE=11 "$flamegrid" run --agent "$scratch/agent" \
	--record memory -- "$fake_memory" --devices 2 --threads 4 --rounds 3000 --progress "$scratch/progress" \
	>"$scratch/out" 2>"$scratch/err" &
job=$!
kills=0 next=1
while read -r _pid rounds <&3; do
	if [ "$rounds" -ge $next ] && [ $kills -lt 5 ]; then
		kill -9 $daemon
		wait $daemon 2>/dev/null
		start_aggregator
		kills=$((kills + 1))
		next=$((rounds + RANDOM % 2000 + 1))
	fi
done 3<"$scratch/progress"
end_all $job
check "killed more than once ($kills times)" [ $kills -gt 1 ]
compare_memory "$scratch/profile.db" "$scratch/truth" "after $kills kills"
compare_with_truth "$scratch/profile.db" "$scratch/truth" "after $kills kills"
"$flamegrid" report "$scratch/profile.db" --strict >/dev/null 2>&1
same "report --strict" $? 0
