#!/usr/bin/env bash
# `timeline --steps`: the parts of each step are the fake CUDA's truth, to the nanosecond, and sum to the step; the waits of NCCL
# are those of the report; what cannot be shown is said.
. "$(dirname "$0")/../support/harness.sh"
readers=$(cd "$(dirname "$0")/../readers" && pwd)
steps() { "$flamegrid" timeline --steps "$@" >"$scratch/steps" 2>"$scratch/err"; }
word() { awk -v key="$1" '$1 == key { $1 = ""; print substr($0, 2) }' "$scratch/out"; }
# column NAME CONDITION: the sum of a column of the rows with that condition, in awk's words; at[NAME] is a column's number.
column() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } '"$2"' { sum += $at[name] } END { printf "%.0f\n", sum }' "$scratch/steps"; }

# ---- one rank
FAKE_CUDA_RECORDS=$scratch/records RANK=3 FAKE_CUDA_DEVICES=1 "$flamegrid" run --timeline all -o "$scratch/p" --devices "$(devices 1)" \
	--node-name "host a" -- "$BUILD/tests/step_program" 300 200 >/dev/null 2>"$scratch/err"
same "run: status" $? 0
check "csv" steps "$scratch/p" -f csv
"$flamegrid" timeline "$scratch/p" -o "$scratch/t.perfetto" 2>/dev/null
python3 "$readers/read_steps.py" "$scratch/t.perfetto" "$scratch/records" "$scratch/steps" >"$scratch/out" 2>&1 || not_ok "$(tail -n 1 "$scratch/out")"
same "each part of each step is the truth's" "$(word steps)" "$(seq -s ' ' 1 300)"
same "the slow step, and what it did" "$(word slowest)" "200 idle idle_host_ns"
same "the trace tells why the GPU was idle for the longest" "$(word longest)" "idle: host did not launch"
check "the gap takes as long as the host saved" [ "$(column longest_gap_ns '$at["step"] == 200')" -ge 99000000 ]
cp "$scratch/steps" "$scratch/all"
check "table" steps "$scratch/p"
same "table: a row for each rank" "$(awk '$1 == 3 && $2 ~ /^[0-9]+$/ { print $2 }' "$scratch/steps")" 299
contains "table: the first step is left out" "$scratch/steps" "the first step of each process is left out"
contains "table: why step 200 was slow" "$scratch/steps" " more idle time while the host did not launch, between two launches in save_state()"
same "table: it is the slowest" "$(grep -o '^step [0-9]* took' "$scratch/steps" | head -n 1)" "step 200 took"
check "table: a trend, or none" grep -q "^the steps " "$scratch/steps"
check "json" steps "$scratch/p" -f json
check "JSON as its schema says" env PATH="/usr/bin:$PATH" python3 "$(dirname "$0")/../support/valid_report.py" \
	"$(dirname "$0")/../../../docs/report.schema.json" "$scratch/steps"
contains "json: why step 200 was slow" "$scratch/steps" '"part":"idle_host","part_more_ns":'
contains "json: where" "$scratch/steps" '"launched_before":"save_state","launched_after":"save_state"'
check "json: an outlier has its step's time" python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
times = {step["step"]: (step["begin_ns"], step["step_ns"]) for step in report["steps"]}
assert report["outliers"] and all((found["begin_ns"], found["step_ns"]) == times[found["step"]] for found in report["outliers"])' "$scratch/steps"
check "json: parts sum to steps" python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
parts = [name for name in report["steps"][0] if name.endswith("_ns") and name not in ("begin_ns", "step_ns", "launched_earlier_ns", "longest_gap_ns")]
rank, = report["step_ranks"]
assert len(parts) == 10 and sum(rank[name] for name in parts) == rank["sum_ns"]
assert [rank[name] for name in parts] == [sum(step[name] for step in report["steps"][1:]) for name in parts]' "$scratch/steps"
check "into a file" steps "$scratch/p" -f csv -o "$scratch/file.csv"
check "into a file: the same" cmp "$scratch/all" "$scratch/file.csv"
begin=$(awk -F, 'NR == 102 { print $7 }' "$scratch/file.csv")
check "from some time on" steps "$scratch/p" -f csv --from "${begin}ns"
same "from some time on: the rest" "$(wc -l <"$scratch/steps") $(sed -n 2p "$scratch/steps" | cut -d, -f5)" "201 101"
same "from some time on: the same rows" "$(tail -n 200 "$scratch/all" | cksum)" "$(tail -n 200 "$scratch/steps" | cksum)"

# ---- a helper launches for all: its callers differ, so they are named
RANK=3 FAKE_CUDA_DEVICES=1 "$flamegrid" run --timeline all -o "$scratch/helper" --devices "$(devices 1)" -- \
	"$BUILD/tests/step_program" 60 40 alone >/dev/null 2>"$scratch/err"
check "a helper launches" steps "$scratch/helper"
contains "a helper launches: its callers are named" "$scratch/steps" "ms more idle time while the host did not launch, between launches in backward() and log_metrics()"

# ---- several ranks: their sums are those of the report
LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$LD_LIBRARY_PATH FAKE_CUDA_DEVICES=4 "$flamegrid" run --timeline all -o "$scratch/ranks" \
	--devices "$(devices 4)" -- "$BUILD/tests/fake_ranks" --ranks 4 --steps 30 --mark --late-gpu 2:400 >/dev/null 2>"$scratch/err"
same "ranks: run" $? 0
check "ranks" steps "$scratch/ranks" -f csv
"$flamegrid" report "$scratch/ranks" --ranks -f csv >"$scratch/report" 2>/dev/null
for rank in 0 1 2 3; do
	for part in nccl_waits nccl_moves compute; do
		same "rank $rank: $part" "$(column ${part}_ns "\$at[\"rank\"] == $rank")" \
			"$(awk -F, -v rank=$rank -v name=${part}_ns 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["rank"] == rank { print $at[name] }' "$scratch/report")"
	done
done
same "ranks: all of NCCL is split" "$(column nccl_ns 1)" 0
check "ranks: rank 1 waits" [ "$(column nccl_waits_ns '$at["rank"] == 1')" -gt 5000000 ]
# kernels OPTION...: the number of kernels that each rank has in the profile of a step
kernels() {
	"$flamegrid" timeline "$scratch/ranks" "$@" -f profile -o "$scratch/part" >/dev/null 2>"$scratch/err" &&
		"$flamegrid" report "$scratch/part" -f folded --by rank --weight count 2>/dev/null |
		awk '/_Kernel]/ { split($0, at, ";"); n[at[1]] += $NF } END { for (rank in n) print rank, n[rank] }' | sort | tr '\n' ' '
	rm -r "$scratch/part"
}
same "ranks: the profile of a step has what each rank launched in its own" "$(kernels --step 15)" "rank0 2 rank1 2 rank2 2 rank3 2 "
same "ranks: so has the slowest" "$(kernels --around-worst)" "rank0 2 rank1 2 rank2 2 rank3 2 "
check "two ranks" steps "$scratch/ranks" --ranks 1,3
contains "two ranks: few steps" "$scratch/steps" "fewer than 64 steps: too few to tell whether they get slower"
same "two ranks: rows" "$(awk '$1 ~ /^[0-9]+$/ && $2 == 29 { print $1 }' "$scratch/steps" | tr '\n' ' ')" "1 3 "

# ---- ranges as steps
FAKE_CUDA_DEVICES=1 "$flamegrid" run --nvtx --timeline all -o "$scratch/ranges" --devices "$(devices 1)" -- \
	"$BUILD/tests/api_program" threads 4 >/dev/null 2>"$scratch/err"
same "ranges: run" $? 0
check "ranges" steps "$scratch/ranges" --step-range "thread 2" -f csv
"$flamegrid" timeline "$scratch/ranges" -o "$scratch/t.perfetto" 2>/dev/null
same "ranges: those of the timeline, with its times" "$(column step_ns 1) $(($(wc -l <"$scratch/steps") - 1))" \
	"$(cd "$readers" && python3 -c 'import sys
from read_perfetto import read
spans = [item["end"] - item["start"] for item in read(sys.argv[1])[0] if item["name"] == "thread 2"]
print(sum(spans), len(spans))' "$scratch/t.perfetto")"
check "ranges: a step for each" [ "$(wc -l <"$scratch/steps")" -ge 200 ]
steps "$scratch/ranges" --step-range thread
same "no such range: status" $? 4
contains "no such range" "$scratch/err" 'no range "thread" was kept: flamegrid run --nvtx --timeline all keeps ranges'
"$flamegrid" timeline "$scratch/ranges" --step-range "thread 2" -o "$scratch/t" 2>"$scratch/err"
same "a range without --steps: status" $? 2

# ---- what does not go well
steps "$scratch/ranks" --ranks 9
same "no such rank: status" $? 4
contains "no such rank" "$scratch/err" "none of these ranks is in the profile, which has ranks 0-3"
steps "$scratch/p" --from 1h
same "no step in this time: status" $? 4
contains "no step in this time" "$scratch/err" "--from is behind the end: the timeline lasts "
for wrong in "--step 3" "--around-worst" "-f xml"; do
	steps "$scratch/p" $wrong
	same "$wrong: status" $? 2
done
"$flamegrid" timeline "$scratch/p" -f csv -o "$scratch/t" 2>"$scratch/err"
same "a format without --steps: status" $? 2
steps "$scratch/p" -o "$scratch/p/profile.db"
same "the profile itself: status" $? 1
"$flamegrid" timeline --steps "$scratch/p" >/dev/full 2>"$scratch/err"
same "no room: status" $? 1
contains "no room" "$scratch/err" "standard output: No space left on device"
file=$scratch/p/profile.db.timeline/00000001.events
printf 'damage' | dd of="$file" bs=1 seek=$(($(wc -c <"$file") - 40)) conv=notrunc 2>/dev/null
steps "$scratch/p" -f csv
check "damaged: counted" grep -q "damaged parts\{0,1\} of the timeline's files w" "$scratch/err"
rm -r "$scratch/p/profile.db.timeline"
steps "$scratch/p"
same "none was kept: status" $? 1
contains "none was kept" "$scratch/err" "run --timeline all keeps one"
