#!/usr/bin/env bash
# flamegrid metrics: chips, metrics and passes, by the host part of CUPTI alone.
. "$(dirname "$0")/../support/harness.sh"
export FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13

same "chips" "$("$flamegrid" metrics)" GH100
"$flamegrid" metrics --chip GH100 >"$scratch/list"
contains "the sets come first" <(head -2 "$scratch/list") "roofline"
contains "the endings are named" "$scratch/list" "Names below take an ending, such as .sum, .avg,"
contains "a metric has its description" "$scratch/list" "a number that follows from the names of metric and kernel"
same "one pass" "$("$flamegrid" metrics --chip GH100 sol,roofline)" "19 metrics, 1 pass"
same "three passes" "$("$flamegrid" metrics --chip GH100 dram__bytes.sum,sm__throughput.avg)" "2 metrics, 3 passes"
"$flamegrid" metrics --chip GH100 dram__bytes.sum,no__such.sum >"$scratch/out" 2>"$scratch/err"
same "unknown: status" $? 1
same "unknown: the others" "$(cat "$scratch/out")" "1 metric, 1 pass"
contains "unknown: which one" "$scratch/err" "GH100 has no metric no__such.sum"
"$flamegrid" metrics --chip XX1 sol 2>"$scratch/err"
same "no chip: status" $? 1
contains "no chip" "$scratch/err" "there is no chip XX1; there are "
"$flamegrid" metrics sol 2>"$scratch/err"
same "no chip given: status" $? 2
"$flamegrid" metrics --chip GH100 'a b' 2>"$scratch/err"
same "no list: status" $? 2
FLAMEGRID_CUPTI=$scratch/none "$flamegrid" metrics 2>"$scratch/err"
same "no CUPTI: status" $? 1
contains "no CUPTI: where it looked" "$scratch/err" "no libcupti of CUDA 12.6 or later was found"

# The vendor's own, where it is installed.
for library in /usr/local/cuda/lib/libcupti.so.13 /usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13; do
	[ -e "$library" ] || continue
	for chip in GA100 GH100; do
		for set in sol roofline; do
			contains "$chip: $set takes one pass" <(FLAMEGRID_CUPTI=$library "$flamegrid" metrics --chip $chip $set) ", 1 pass"
		done
	done
	break
done
