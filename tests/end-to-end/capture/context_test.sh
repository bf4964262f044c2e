#!/usr/bin/env bash
# Kernels of a model that AOTInductor compiled under the model's lines, which its code tells.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
program=$(dirname "$0")/context_launches.py
export FAKE_CUDA_DEVICES=1 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13
rounds=20
# run NAME OPTION...: leaves NAME, a profile, and NAME.folded, of counts.
run() {
	local name=$1
	shift
	"$flamegrid" run "$@" -o "$scratch/$name" --devices "$list" -- \
		python3 "$program" "$BUILD/lib/fake-torch/libfake_model.so" $rounds 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" --weight count >"$scratch/$name.folded"
	same "$name: all launches" "$(sum_folded "$scratch/$name.folded")" $((rounds * 3))
}
# count FILE EXPRESSION: the sum of the lines that match.
count() { grep -E -- "$2" "$scratch/$1" | sum_folded; }

run full
same "a product has its line" \
	"$(count full.folded ';context_launches.py:main:[0-9]+;.*;cuLaunchKernel;block.py:feed:19;\[GPU0_Kernel\]product ')" $rounds
same "a fused kernel names both lines" \
	"$(count full.folded ';cuLaunchKernel;block.py:attend:18, model.py:forward:31;\[GPU0_Kernel\]fused ')" $rounds
same "work of no model has none" "$(count full.folded ';cuLaunchKernel;\[GPU0_Kernel\]other ')" $rounds
"$flamegrid" report "$scratch/full" --weight count --lines off >"$scratch/full.off"
same "without numbers" "$(count full.off ';block.py:attend, model.py:forward;\[GPU0_Kernel\]fused ')" $rounds
"$flamegrid" report "$scratch/full" --weight count --frames user >"$scratch/full.user"
same "lines are the user's" "$(count full.user ';block.py:feed:19;\[GPU0_Kernel\]product ')" $rounds

run native --stacks native
same "native: lines, too" "$(count native.folded ';block.py:feed:19;\[GPU0_Kernel\]product ')" $rounds
# Without native frames nothing says that the model's code is there.
for stacks in python none; do
	run $stacks --stacks $stacks
	same "$stacks: no lines" "$(count $stacks.folded 'block.py')" 0
done
