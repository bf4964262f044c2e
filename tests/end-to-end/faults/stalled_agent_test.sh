#!/usr/bin/env bash
# The agent is stopped while a job runs, as by a paused machine. The job offers its ring again and ends; then the agent goes
# on, and finds the ring that it has and the ring that is offered. And the agent is killed just before a job ends, with the
# next one at hand. Nothing is counted twice, and nothing is missing.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
. "$(dirname "$0")/../support/daemon_harness.sh"

# offers: connections to the agent's socket that wait to be accepted. The listening socket itself is a line, too.
offers() { echo $(($(grep -c " $scratch/agent\$" /proc/net/unix) - 1)); }

# start_job TRUTH LAUNCHES: is in $job, and has launched 1,000 kernels.
start_job() {
	local kernels=k0=100000-150000,k1=100000-150000,k2=100000-150000,k3=100000-150000,k4=100000-150000
	rm -f "$scratch/progress"
	mkfifo "$scratch/progress"
	FAKE_CUDA_DEVICES=2 FAKE_CUDA_LAUNCH_NS=0 FAKE_CUDA_KERNEL_NS=$kernels FAKE_CUDA_TRUTH=$1 "$flamegrid" run --agent "$scratch/agent" -- \
		"$fake_launches" --devices 2 --streams 4 --threads 2 --launches "$2" --kernels 5 --sync-every 1000 \
		--progress "$scratch/progress" >"$scratch/out" 2>"$scratch/err" &
	job=$!
	exec 3<"$scratch/progress"
	read -r _pid _launched <&3
	cat <&3 >/dev/null &
	exec 3<&-
}

start_aggregator
start_agent --symbol-cache off

# Long enough to miss its agent: some seconds of GPU work.
start_job "$scratch/truth" 120000
kill -STOP $agent
until [ "$(offers)" -ge 1 ] || ! kill -0 $job; do sleep 0.05; done
check "the job offers its ring again" [ "$(offers)" -ge 1 ]
wait $job
same "the job's status while its agent is stopped" $? 0
kill -CONT $agent
until [ "$(offers)" -eq 0 ]; do sleep 0.05; done
kill -TERM $agent
wait $agent
same "the status of the agent that was stopped" $? 0
start_agent --symbol-cache off

# The next agent listens on a socket of its own until the first is killed: renamed, it is there at once.
start agent "$BUILD/bin/flamegrid-agent" --connect "$endpoint" --socket "$scratch/next" --devices "$list" --symbol-cache off
next=$started
start_job "$scratch/truth.2" 20000
kill -9 $agent
wait $agent 2>/dev/null
mv "$scratch/next" "$scratch/agent"
agent=$next
end_all $job

cat "$scratch/truth" "$scratch/truth.2" >"$scratch/truths"
compare_with_truth "$scratch/profile.db" "$scratch/truths" "after a stop and a kill"
same "processes" "$("$flamegrid" report "$scratch/profile.db" --format json 2>/dev/null | grep -c '"command":')" 2
same "launches lost" "$(ledger "$scratch/profile.db" launch_ring_full)" 0
"$flamegrid" report "$scratch/profile.db" --strict >/dev/null 2>"$scratch/strict"
same "report --strict" $? 0
