#!/usr/bin/env bash
# Dropped records, records without times, launches that fail, kernels that never end, late delivery: what is folded and
# what the ledger says add up to what ran.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)

# faulty NAME VARIABLE=VALUE...
faulty() {
	local name=$1
	shift
	env FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH="$scratch/$name.truth" "$@" "$flamegrid" run -o "$scratch/$name" \
		--devices "$list" -- "$fake_launches" --devices 2 --streams 4 --threads 2 --launches 20000 --kernels 4 \
		--copies 200 >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: exit status" $? 0
	compare_with_truth "$scratch/$name" "$scratch/$name.truth" "$name"
	for pair in cupti_dropped:dropped_count invalid_time:zeroed_count still_running:running_count; do
		same "$name: ledger of ${pair%%:*}" "$(ledger "$scratch/$name" "${pair%%:*}")" \
			"$(truth_sum "${pair##*:}" "$scratch/$name.truth")"
	done
	same "$name: folded and ledger add up to what ran" \
		"$(($(awk '{ s += $NF } END { printf "%.0f\n", s }' "$scratch/have.count") + $(ledger "$scratch/$name" cupti_dropped) +
			$(ledger "$scratch/$name" invalid_time) + $(ledger "$scratch/$name" still_running)))" \
		"$(truth_sum ran_count "$scratch/$name.truth")"
	same "$name: failed launches" "$(ledger "$scratch/$name" launch_failed)" \
		"$(awk -F'\t' '$1 == "#launch" { print $3 } ' "$scratch/$name.truth")"
}

strict_status() { "$flamegrid" report "$scratch/$1" --strict >/dev/null 2>&1; echo $?; }

faulty dropped FAKE_CUPTI_DROP=97
same "dropped: report --strict" "$(strict_status dropped)" 3
faulty zeroed FAKE_CUPTI_ZERO_TIME=61
same "zeroed: report --strict" "$(strict_status zeroed)" 3
faulty failing FAKE_CUDA_FAIL_LAUNCH=53
same "failing: report --strict" "$(strict_status failing)" 0
faulty running FAKE_CUDA_RUN_ON=40
faulty late FAKE_CUPTI_LATE=1 FAKE_CUPTI_SHUFFLE=3
same "late: report --strict" "$(strict_status late)" 0
faulty everything FAKE_CUPTI_DROP=101 FAKE_CUPTI_ZERO_TIME=89 FAKE_CUDA_FAIL_LAUNCH=71 FAKE_CUPTI_SHUFFLE=5
