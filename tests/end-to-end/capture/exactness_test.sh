#!/usr/bin/env bash
# 4 devices, 8 streams, 4 host threads, 200,000 launches and more, records out of order: every nanosecond under the
# function that launched it.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 4)

FAKE_CUDA_DEVICES=4 FAKE_CUPTI_SHUFFLE=7 FAKE_CUDA_TRUTH=$scratch/truth "$flamegrid" run -o "$scratch/profile" \
	--devices "$list" -- "$fake_launches" --devices 4 --streams 8 --threads 4 --launches 60000 --kernels 6 \
	--copies 500 >"$scratch/out" 2>"$scratch/err"
same "exit status" $? 0
check "at least 200,000 launches" [ "$(truth_sum ran_count "$scratch/truth")" -ge 200000 ]
compare_with_truth "$scratch/profile" "$scratch/truth" "shuffled"
contains "every record has its launch" "$scratch/err" "100.00 % matched"
contains "nothing is lost" "$scratch/err" "nothing lost"

"$flamegrid" report "$scratch/profile" --format folded --weight count >"$scratch/stacks"
same "kernels outside the function that launches them" \
	"$(grep '_Kernel\]' "$scratch/stacks" | sed 's/ [0-9]*$//' |
		awk -F';' '{ name = $NF; sub(/.*\]/, "", name); if ($0 !~ ("launch_from_" name "[;]")) bad++ } END { printf "%.0f\n", bad }')" 0
same "lines under [unknown stack]" "$(grep -c 'unknown stack' "$scratch/stacks")" 0
same "GPUs" "$(grep -o '\[GPU[0-9]*_Kernel\]' "$scratch/stacks" | sort -u | tr '\n' ' ')" \
	"[GPU0_Kernel] [GPU1_Kernel] [GPU2_Kernel] [GPU3_Kernel] "
"$flamegrid" report "$scratch/profile" --format folded --strict >/dev/null
same "report --strict" $? 0
