#!/usr/bin/env bash
# Agents that come and go while a job runs whose launch stacks the kernel walks: killed and started again, asked to end and started again, and one
# that leaves stacks to the guest. In between the guest walks itself; no GPU time is missing, and what is without a stack is counted.
# shellcheck source=tests/end-to-end/support/harness.sh
. "$(dirname "$0")/../support/harness.sh"
own_build
list=$(devices 1)
# shellcheck source=tests/end-to-end/support/daemon_harness.sh
. "$(dirname "$0")/../support/daemon_harness.sh"

start_aggregator
start_agent --symbol-cache off --stack-source uprobe
mkfifo "$scratch/progress"
FAKE_CUDA_LAUNCH_NS=50000 FAKE_CUDA_TRUTH=$scratch/truth "$flamegrid" run --agent "$scratch/agent" -- "$fake_launches" --threads 2 \
	--launches 200000 --kernels 3 --sync-every 1000 --progress "$scratch/progress" >"$scratch/out" 2>"$scratch/err" &
job=$!
agents=1 next=10000
while read -r _pid launched <&3; do
	[ "$launched" -lt $next ] && continue
	case $agents in
	1) kill -TERM "$agent"; wait "$agent"; start_agent --symbol-cache off ;;
	2) kill -TERM "$agent"; wait "$agent"; start_agent --symbol-cache off --stack-source uprobe ;;
	3) kill -9 "$agent"; wait "$agent" 2>/dev/null; start_agent --symbol-cache off --stack-source uprobe ;;
	*) next=1000000000; continue ;;
	esac
	agents=$((agents + 1)) next=$((launched + 100000))
done 3<"$scratch/progress"
end_all $job
same "agents that came" $agents 4
compare_with_truth "$scratch/profile.db" "$scratch/truth" "after $agents agents"
"$flamegrid" report "$scratch/profile.db" --format folded --weight count >"$scratch/folded" 2>/dev/null
lost=$(ledger "$scratch/profile.db" probe_lost)
echo "$lost of 400000 stacks were lost"
marked=$(awk '/\[frames missing\];cuLaunchKernel;/ { sum += $NF } END { printf "%.0f\n", sum }' "$scratch/folded")
# One that is asked to end leaves the launches that are just being made, one a thread; one that is killed takes with it what it has counted since
# its last account.
check "launches with a mark, $marked, are those that were lost, $lost" [ $((marked - lost)) -ge 0 -a $((marked - lost)) -le 1000 ]
same "launches with their function above them, or a mark" "$(awk '
	/;launch_from_k[0-9]+;cudaLaunchKernel;/ || /\[frames missing\];cuLaunchKernel;/ { sum += $NF }
	END { printf "%.0f\n", sum }' "$scratch/folded")" 400000
# A report shows one frame for the start of a thread; the store keeps the C library's two. Only the guest's walk sees the outermost.
outside=$(sql "$scratch" "WITH RECURSIVE outside(parent, count) AS (
		SELECT nodes.parent, 0 FROM nodes JOIN frames ON frames.id = nodes.frame JOIN strings ON strings.id = frames.name
		WHERE strings.data = CAST('run_thread' AS BLOB)
		UNION ALL SELECT nodes.parent, count + 1 FROM outside JOIN nodes ON nodes.id = outside.parent)
	SELECT DISTINCT count FROM outside WHERE parent = 0 ORDER BY count")
same "frames outside of run_thread: the kernel's, the guest's" "$(echo $outside)" "1 2"
