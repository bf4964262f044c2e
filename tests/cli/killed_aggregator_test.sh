#!/usr/bin/env bash
# kill -9 of the aggregator at random points, started again on the same store: the totals are those of an undisturbed
# run, to the nanosecond; nothing twice, nothing lost.
. "$(dirname "$0")/harness.sh"
list=$(devices 2)
RANDOM=${KILL_SEED:-20261121}
endpoint=ipc://$scratch/aggregator
daemon=

start_aggregator() {
	mkfifo "$scratch/ready"
	"$BUILD/bin/flamegrid-aggregator" --listen "$endpoint" --store "$scratch/profile.db" 2> >(tee "$scratch/ready" \
		>>"$scratch/aggregator.log") &
	daemon=$!
	grep -m1 -q 'listening on' "$scratch/ready"
	rm -f "$scratch/ready"
}

at_end() { kill -9 $daemon $agent 2>/dev/null; }

start_aggregator
mkfifo "$scratch/agent.ready"
"$BUILD/bin/flamegrid-agent" --connect "$endpoint" --socket "$scratch/agent" --devices "$list" \
	2> >(tee "$scratch/agent.ready" >"$scratch/agent.log") &
agent=$!
grep -m1 -q 'listening on' "$scratch/agent.ready"

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
wait $job
same "the job's status" $? 0
kill -TERM $agent
wait $agent
same "the agent's status" $? 0
kill -TERM $daemon
wait $daemon
same "the aggregator's status" $? 0
check "killed more than once ($kills times)" [ $kills -gt 1 ]
compare_with_truth "$scratch/profile.db" "$scratch/truth" "after $kills kills"
"$flamegrid" report "$scratch/profile.db" --strict >/dev/null
same "report --strict" $? 0
