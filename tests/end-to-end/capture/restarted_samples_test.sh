#!/usr/bin/env bash
# Samples of running kernels while the agent is killed and started again: the next agent finds the code that the first one
# was told, so that samples have their lines.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
. "$(dirname "$0")/../support/daemon_harness.sh"

start_aggregator
start_agent --symbol-cache off
mkfifo "$scratch/progress"
export FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13 FAKE_CUDA_CUBIN=$(dirname "$0")/kernel_samples.cubin
FAKE_CUDA_DEVICES=1 FAKE_CUDA_LAUNCH_NS=50000 "$flamegrid" run --record stalls --agent "$scratch/agent" -- \
	"$fake_launches" --devices 1 --launches 100000 --kernels 2 --sync-every 100 --progress "$scratch/progress" \
	>"$scratch/out" 2>"$scratch/err" &
job=$!
has_samples() { [ "$(sqlite3_sum "$scratch/profile.db")" -gt "$1" ]; }
sqlite3_sum() {
	python3 -c 'import sqlite3, sys
try: print(sqlite3.connect(sys.argv[1]).execute("select sum(count) from ledger where reason = 70").fetchone()[0] or 0)
except sqlite3.Error: print(0)' "$1"
}
before=
while read -r _pid launched <&3; do
	# Once samples are stored, their code was read, and the lane has it no more.
	if [ -z "$before" ] && has_samples 0; then
		before=$(sqlite3_sum "$scratch/profile.db")
		kill -9 $agent
		wait $agent 2>/dev/null
		start_agent --symbol-cache off
	fi
done 3<"$scratch/progress"
end_all $job
check "the agent was killed after the first samples" test -n "$before"
check "more came after it" has_samples "$before"
"$flamegrid" report "$scratch/profile.db" --planes stalls --weight count >"$scratch/shown" 2>"$scratch/report.err"
contains "samples have lines" "$scratch/shown" "kernel_samples.cu:"
same "samples without lines" "$(grep -c '+0x' "$scratch/shown")" 0
