#!/usr/bin/env bash
# Two processes of one pid, the second of which runs when the agent hears of the first: each keeps its own records, stacks,
# rank and command. In a pid namespace of their own, whose next pid can be chosen. Needs root.
if [ $$ -ne 1 ] && [ -z "${IN_NAMESPACE:-}" ]; then
	exec env IN_NAMESPACE=1 unshare --pid --fork --kill-child --mount-proc bash "$0"
fi
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
. "$(dirname "$0")/../support/daemon_harness.sh"

offers() { echo $(($(grep -c " $scratch/agent\$" /proc/net/unix) - 1)); }

# launch RANK TRUTH ARGUMENTS...: in this shell's place.
launch() {
	export SLURM_JOB_ID=7 SLURM_PROCID=$1 FAKE_CUDA_TRUTH=$2 FAKE_CUDA_DEVICES=2 FAKE_CUDA_REALTIME=0 FAKE_CUDA_LAUNCH_NS=0
	export FLAMEGRID_SOCKET=$scratch/agent CUDA_INJECTION64_PATH=$BUILD/lib/libflamegrid_inject.so
	shift 2
	exec "$fake_launches" "$@" >/dev/null
}

start_aggregator
start_agent --symbol-cache off
kill -STOP $agent

(launch 0 "$scratch/truth.0" --launches 1000 --kernels 3) &
first=$!
wait $first
same "the first process" $? 0
mkfifo "$scratch/progress"
echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
(launch 1 "$scratch/truth.1" --launches 2000 --kernels 2 --mangled --progress "$scratch/progress") &
second=$!
same "the second process's pid" $second $first
# It waits for a reader before it does anything; what it tells fits the pipe.
exec 3<>"$scratch/progress"
until [ "$(offers)" -ge 2 ] || ! kill -0 $second; do nap; done
kill -STOP $second
kill -CONT $agent
until [ "$(offers)" -eq 0 ]; do sleep 0.05; done
kill -CONT $second
end_all $second

report() { "$flamegrid" report "$scratch/profile.db" "$@" 2>/dev/null; }
cat "$scratch/truth.0" "$scratch/truth.1" >"$scratch/truth"
compare_with_truth "$scratch/profile.db" "$scratch/truth" "two processes of one pid"
report --format json >"$scratch/report.json"
same "processes" "$(grep -c '"command":' "$scratch/report.json")" 2
same "processes with the second one's command" "$(grep -c -- '"command":.*--mangled' "$scratch/report.json")" 1
same "ns of the second one's rank" "$(rank_ns "$scratch/profile.db" 1)" "$(truth_sum valid_ns "$scratch/truth.1")"
same "records without a launch" "$(ledger "$scratch/profile.db" unmatched_record)" 0
report --strict >/dev/null
same "report --strict" $? 0
