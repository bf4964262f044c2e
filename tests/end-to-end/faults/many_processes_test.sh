#!/usr/bin/env bash
# Processes that start together, by the hundred, with an agent that is away when they do: each is recorded whole, although
# none has its answer in time.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
. "$(dirname "$0")/../support/daemon_harness.sh"
processes=${PROCESSES:-300}
launches=100

start_aggregator
start_agent --symbol-cache off
kill -STOP $agent

jobs=()
for ((i = 0; i < processes; i++)); do
	FAKE_CUDA_DEVICES=2 FAKE_CUDA_REALTIME=0 FAKE_CUDA_LAUNCH_NS=0 FAKE_CUDA_TRUTH=$scratch/truth.$i \
		FLAMEGRID_SOCKET=$scratch/agent CUDA_INJECTION64_PATH=$BUILD/lib/libflamegrid_inject.so \
		"$fake_launches" --launches $launches >/dev/null 2>>"$scratch/err" &
	jobs+=($!)
done
failed_jobs=0
for job in "${jobs[@]}"; do wait "$job" || failed_jobs=$((failed_jobs + 1)); done
same "jobs that failed" $failed_jobs 0
same "what they said" "$(wc -c <"$scratch/err")" 0
kill -CONT $agent

# And as many again with the agent at work.
jobs=()
for ((i = processes; i < 2 * processes; i++)); do
	FAKE_CUDA_DEVICES=2 FAKE_CUDA_REALTIME=0 FAKE_CUDA_LAUNCH_NS=0 FAKE_CUDA_TRUTH=$scratch/truth.$i \
		FLAMEGRID_SOCKET=$scratch/agent CUDA_INJECTION64_PATH=$BUILD/lib/libflamegrid_inject.so \
		"$fake_launches" --launches $launches >/dev/null 2>>"$scratch/err" &
	jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job" || failed_jobs=$((failed_jobs + 1)); done
same "jobs that failed" $failed_jobs 0
true &
end_all $!

cat "$scratch"/truth.* >"$scratch/truth"
compare_with_truth "$scratch/profile.db" "$scratch/truth" "$((2 * processes)) processes"
"$flamegrid" report "$scratch/profile.db" --format json 2>/dev/null >"$scratch/report.json"
same "processes" "$(grep -c '"command":' "$scratch/report.json")" $((2 * processes))
"$flamegrid" report "$scratch/profile.db" --strict >/dev/null 2>"$scratch/strict"
same "report --strict" $? 0
