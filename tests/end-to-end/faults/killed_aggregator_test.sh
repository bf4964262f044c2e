#!/usr/bin/env bash
# kill -9 of the aggregator at random points, started again on the same store: the totals are those of an undisturbed
# run, to the nanosecond; nothing twice, nothing lost.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
. "$(dirname "$0")/../support/daemon_harness.sh"
RANDOM=${KILL_SEED:-20261121}

start_aggregator
start_agent

mkfifo "$scratch/progress"
FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=$scratch/truth FAKE_CUPTI_SHUFFLE=11 "$flamegrid" run --agent "$scratch/agent" -- \
	"$fake_launches" --devices 2 --streams 4 --threads 2 --launches 150000 --kernels 5 \
	--progress "$scratch/progress" >"$scratch/out" 2>"$scratch/err" &
job=$!
kills=0 next=1
while read -r _pid launched <&3; do
	if [ "$launched" -ge $next ] && [ $kills -lt 6 ]; then
		kill -9 $daemon
		wait $daemon 2>/dev/null
		start_aggregator
		kills=$((kills + 1))
		next=$((launched + RANDOM % 30000 + 1))
	fi
done 3<"$scratch/progress"
# An agent that is asked to end gives up after ten seconds. With other work on the machine the last aggregator may take longer.
wait $job
for _ in {1..300}; do
	[ "$(total_ns "$scratch/profile.db" 2>/dev/null)" != "$(truth_sum valid_ns "$scratch/truth")" ] || break
done
end_all $job
check "killed more than once ($kills times)" [ $kills -gt 1 ]
compare_with_truth "$scratch/profile.db" "$scratch/truth" "after $kills kills"
"$flamegrid" report "$scratch/profile.db" --strict >/dev/null
same "report --strict" $? 0
