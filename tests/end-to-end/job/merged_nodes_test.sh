#!/usr/bin/env bash
# Stores of nodes, merged, give the profile that one aggregator of all nodes has made of the same events, to the nanosecond.
. "$(dirname "$0")/../support/harness.sh"
support=$(dirname "$0")/../../support
. "$support/merged_nodes.sh"
export FAKE_CUDA_DEVICES=2
list=$(devices 2)
at_end() { kill -9 $(jobs -p) 2>/dev/null; }

check "aggregators, and agents of two nodes" merged_begin "$scratch/both" 2 --devices "$list"
pids=()
for r in 0 1 2 3; do
	OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=$((r % 2)) FAKE_CUDA_TRUTH=$scratch/truth.$r \
		"$flamegrid" run --agent "$scratch/both/agent.$((r / 2))" -- \
		"$fake_launches" --devices 2 --streams 2 --threads 2 --launches 5000 --kernels 3 >"$scratch/out.$r" 2>&1 &
	pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid"; same "status" $? 0; done
check "all end, and are merged" merged_end
for way in central merged; do
	same "$way: ns" "$(total_ns "$scratch/both/$way")" "$(truth_sum valid_ns "$scratch"/truth.?)"
	same "$way: nodes" "$(groups "$scratch/both/$way" host)" "made-up0 made-up1"
	same "$way: ranks" "$(groups "$scratch/both/$way" rank)" "rank0 rank1 rank2 rank3"
	check "$way: nothing lost" "$flamegrid" report "$scratch/both/$way" --strict -o /dev/null
	merged_lines $way >"$scratch/lines.$way"
done
check "there are stacks" [ "$(wc -l <"$scratch/lines.central")" -gt 50 ]
same "lines that differ" "$(diff "$scratch/lines.central" "$scratch/lines.merged" | grep -c '^[<>]')" 0
