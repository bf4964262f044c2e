#!/usr/bin/env bash
# The agent killed in the middle of a job and started again on the same socket, also asked to end and started again: the
# job hands its memory to the next agent, and the totals are those of an undisturbed run, to the nanosecond.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
. "$(dirname "$0")/../support/daemon_harness.sh"
RANDOM=${KILL_SEED:-20261121}
rounds=$(rounds 4 40)

start_aggregator
start_agent --symbol-cache off

# Slow enough that the ring holds what is launched until the job has noticed.
mkfifo "$scratch/progress"
FAKE_CUDA_DEVICES=2 FAKE_CUDA_LAUNCH_NS=50000 FAKE_CUDA_TRUTH=$scratch/truth FAKE_CUPTI_SHUFFLE=11 "$flamegrid" run \
	--agent "$scratch/agent" -- "$fake_launches" --devices 2 --streams 4 --threads 2 \
	--launches $((rounds * 60000)) --kernels 5 --sync-every 1000 --progress "$scratch/progress" \
	>"$scratch/out" 2>"$scratch/err" &
job=$!
kills=0 next=5000
while read -r _pid launched <&3; do
	if [ "$launched" -ge $next ] && [ $kills -lt "$rounds" ]; then
		if [ $((kills % 4)) -eq 3 ]; then
			kill -TERM $agent
			wait $agent
			same "asked to end, the agent leaves the job behind: status" $? 0
		else
			kill -9 $agent
			wait $agent 2>/dev/null
		fi
		start_agent --symbol-cache off
		kills=$((kills + 1))
		next=$((launched + 80000 + RANDOM))
	fi
done 3<"$scratch/progress"
end_all $job
same "agents that came and went" $kills "$rounds"
compare_with_truth "$scratch/profile.db" "$scratch/truth" "after $kills agents"
all=$(sed ':a;s/\B[0-9]\{3\}\>/,&/;ta' <<<$((rounds * 120000)))
contains "the last agent counts what all of them read" "$scratch/err" \
	"$all launches and $all GPU records of 1 process are stored; the agent knows of no loss; 1 went over from an earlier agent"
same "launches lost" "$(ledger "$scratch/profile.db" launch_ring_full)" 0
same "processes" "$("$flamegrid" report "$scratch/profile.db" --format json 2>/dev/null | grep -c '"command":')" 1
"$flamegrid" report "$scratch/profile.db" --strict >/dev/null
same "report --strict" $? 0
