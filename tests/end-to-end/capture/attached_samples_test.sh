#!/usr/bin/env bash
# Samples of running kernels after an attach: CUPTI does not tell again of code that was loaded before, so that they have
# offsets. The report says of how many this is true; all numbers stay exact.
. "$(dirname "$0")/../support/harness.sh"
fake_windows=$BUILD/tests/fake_windows
list=$(devices 1)
export FAKE_CUDA_DEVICES=1 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13
export FAKE_CUDA_CUBIN=$(dirname "$0")/kernel_samples.cubin FAKE_CUDA_SAMPLES=$scratch/samples
mkfifo "$scratch/nothing"
pid=
at_end() { kill -9 $pid 2>/dev/null; touch "$scratch/over"; rm -rf "/tmp/flamegrid-attach-$pid".*; }

"$flamegrid" run --dormant -- "$fake_windows" --until "$scratch/over" >"$scratch/out" 2>"$scratch/err" &
pid=$!
until grep -q libflamegrid_inject "/proc/$pid/maps" 2>/dev/null; do
	kill -0 $pid || exit 1
	read -r -t 0.05 _ <>"$scratch/nothing"
done
"$flamegrid" attach --pid "$pid" --record stalls --duration 3s --devices "$list" -o "$scratch/profile" >"$scratch/attach.out" 2>"$scratch/attach.err"
same "the status of attach" $? 0
touch "$scratch/over"
wait $pid
given=$(awk '{ sum += $5 } END { print sum + 0 }' "$scratch/samples")
check "kernels were sampled" test "$given" -gt 0
"$flamegrid" report "$scratch/profile" -f json -o "$scratch/profile.json"
without=$(python3 -c 'import json, sys
print(sum(row["count"] for row in json.load(open(sys.argv[1]))["ledger"] if row["reason"] == "kernel_sample_no_code"))' "$scratch/profile.json")
"$flamegrid" report "$scratch/profile" --planes stalls --weight count --demangle none >"$scratch/shown" 2>"$scratch/report.err"
offsets=$(awk '/;\+0x/ { sum += $NF } END { print sum + 0 }' "$scratch/shown")
check "samples without lines" test "$offsets" -gt 0
same "the ledger counts them" "$without" "$offsets"
contains "the report says so" "$scratch/report.err" "samples of kernels without code"
