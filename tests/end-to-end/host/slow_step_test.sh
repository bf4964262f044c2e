#!/usr/bin/env bash
# `timeline --steps` names the function in which the host was during a slow step, by samples that the profile keeps one by one.
# Needs root.
. "$(dirname "$0")/../support/harness.sh"
own_build
FAKE_CUDA_DEVICES=1 RANK=0 "$flamegrid" run --timeline all --raw-samples on --cpu-hz 499 --off-cpu 1ms -o "$scratch/p" \
	--devices "$(devices 1)" -- "$BUILD/tests/step_program" 200 100 >/dev/null 2>"$scratch/err"
same "run: status" $? 0
"$flamegrid" timeline --steps "$scratch/p" >"$scratch/steps" 2>"$scratch/err"
same "steps: status" $? 0
check "step 100 was slow in save_state()" grep -q \
	'^step 100 took .*: rank 0 had .* more idle time while the host did not launch, in save_state() ([0-9.]* ms by samples)$' "$scratch/steps"
"$flamegrid" timeline --steps -f json "$scratch/p" >"$scratch/json" 2>"$scratch/err"
same "json: status" $? 0
check "its samples are half of the gap or more, and no more than the step" python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
found, = [outlier for outlier in report["outliers"] if outlier["step"] == 100]
step, = [step for step in report["steps"] if step["step"] == 100]
assert found["within"] == "save_state", found
assert step["longest_gap_ns"] // 2 <= found["within_ns"] <= 2 * step["step_ns"], (found, step)' "$scratch/json"
check "no function of the kernel is named" sh -c '! grep -q "_\[k\]" "$1"' - "$scratch/steps"

# ---- a trace says what the host did while its GPU was idle, and where
"$flamegrid" timeline "$scratch/p" -o "$scratch/t.perfetto" 2>"$scratch/err"
same "trace: status" $? 0
same "trace: the longest idle time" "$(cd "$(dirname "$0")/../readers" && python3 -c 'import sys
from read_perfetto import path_of, read
slices, tracks = read(sys.argv[1])
longest = max((item for item in slices if path_of(tracks, item["track"])[-1] == "idle"), key=lambda item: item["end"] - item["start"])
print(longest["name"], [frame for frame in longest["stack"] or () if frame.startswith("save_state")])' "$scratch/t.perfetto" 2>&1)" \
	"idle: host works ['save_state']"
