#!/usr/bin/env bash
# A kernel of NCCL's is launched while another thread's launch, or range, is measured (run --metrics), and ends only when that
# thread has gone on, as if it waited for its peers (fake_peers.c). Neither waits for the other, whatever CUPTI does meanwhile:
# that measurement is given up or dropped, and a later one has its values.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/metrics_harness.sh"
limit_s=60 # of a program, which takes a second
export FAKE_CUPTI_METRICS_SYNCS=1

# meet NAME OPTION VALUES KERNEL ARGUMENTS...: OPTION is --kernels or --ranges, for KERNEL.
meet() {
	local name=$1 option=$2 values=$3 subject=$4
	shift 4
	profile "$name" --metrics dram__bytes_read.sum "$option" "^$subject\$" --launches 2 -- timeout $limit_s "$BUILD/tests/fake_peers" "$@"
	same "$name: all kernels are there" "kernels $("$flamegrid" report "$scratch/$name" -f folded --weight count | grep '\[GPU[0-9]*_Kernel\]' |
		sum_folded)" "$(cat "$scratch/$name.out")"
	same "$name: a later one is measured" "$(measured "$name" | cut -d' ' -f1-3)" "$subject 1 1"
	same "$name: values" "$(values "$name" $values)" ok
	same "$name: the ledger has the first one" "$(ledger "$name" | awk '{ print $1 - $2, $3, ($2 + $4 > 0) }')" "1 0 1"
}

for case in begin open close; do
	for known in "" known; do
		meet "launch-$case$known" --kernels "" c1 launch $case $known
		meet "range-$case$known" --ranges range=c1 range range $case $known
	done
done

# A driver that cannot tell when a context's work has ended, so that CUPTI waits for all of it.
export FAKE_CUDA_NO_CONTEXT_EVENTS=1
for case in begin open close; do
	meet "old-launch-$case" --kernels "" c1 launch $case
	meet "old-range-$case" --ranges range=c1 range range $case
done
