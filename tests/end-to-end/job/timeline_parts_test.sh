#!/usr/bin/env bash
# `timeline --step` and `--around-worst`: the program's steps and ranges are there with their launches, the slowest step or the
# largest gap is found, and what cannot be shown is said.
. "$(dirname "$0")/../support/harness.sh"
readers=$(cd "$(dirname "$0")/../readers" && pwd)
list=$(devices 1)
program=$BUILD/tests/api_program
export FAKE_CUDA_DEVICES=1
# run NAME PROGRAM-ARGUMENTS OPTION...
run() {
	local name=$1 arguments=$2
	shift 2
	"$flamegrid" run --timeline all "$@" -o "$scratch/$name" --devices "$list" -- "$program" $arguments >/dev/null 2>"$scratch/$name.err"
	same "$name: status" $? 0
}
# show NAME STATUS OPTION...: writes t.perfetto, and what was said into err; reads the file if there is one.
show() {
	local name=$1 status=$2
	shift 2
	rm -f "$scratch/t.perfetto"
	"$flamegrid" timeline "$scratch/$name" "$@" -o "$scratch/t.perfetto" 2>"$scratch/err"
	same "$name $*: status" $? "$status"
	: >"$scratch/out"
	[ ! -e "$scratch/t.perfetto" ] || python3 "$readers/read_ranges.py" "$scratch/t.perfetto" $nvtx >"$scratch/out" 2>&1 || not_ok "$(tail -n 1 "$scratch/out")"
}
line() { awk -v key="$1" '$1 == key { $1 = ""; print substr($0, 2) }' "$scratch/out"; }

# ---- steps, without --nvtx: step 1 began before CUDA was there
nvtx=
run training "training 23"
contains "marks are no launches" "$scratch/training.err" "24 kernels, "
contains "and nothing is lost" "$scratch/training.err" "100.00 % matched; nothing lost"
show training 0
same "all steps" "$(line steps)" "$(seq -s ' ' 2 23)"
slowest=$(line slowest)
times=" $(line times) "
read -r from to < <(line inside)
# whole_steps NAME: the steps that are shown last as long as in the whole.
whole_steps() {
	local step
	for step in $(line times); do
		check "$1: step $step is whole" [ "${times/ $step /}" != "$times" ]
	done
}
show training 0 --step 5
same "step 5: its work, and no other" "$(line work)" in_step_5
same "step 5: its launch" "$(line checked)" 1
same "step 5: the one step" "$(line steps)" 5
whole_steps "step 5"
contains "step 5: said" "$scratch/err" "step 5 of 1 process: "
show training 0 --around-worst
same "the slowest step: its work" "$(line work)" "in_step_$slowest"
whole_steps "the slowest step"
contains "the slowest step: why" "$scratch/err" "step $slowest of process "
contains "the slowest step: of how many" "$scratch/err" "is the slowest of 22: "
same "the slowest step: the first one was not kept" "$(grep -c "the first step of each process does not count" "$scratch/err")" 0
show training 0 --from "${from}ns" --to "${to}ns"
same "a part of a step: that step" "$(line steps)" "$slowest"
whole_steps "a part of a step"
for step in 1 99; do
	show training 4 --step $step
	contains "step $step: which there are" "$scratch/err" "step $step is not there: steps 2 to 23 have both"
done
cp -r "$scratch/training" "$scratch/damaged"
printf 'no block at all' >>"$(ls "$scratch"/damaged/profile.db.timeline/* | head -n 1)"
show damaged 3 --step 99
contains "a step that damage may hide: said" "$scratch/err" "step 99 is not there"
contains "a step that damage may hide: the damage" "$scratch/err" "1 damaged part of the timeline's files was left out"
show training 2 --step 0
show training 2 --step 3 --from 1s
show training 2 --step 3 --around-worst
contains "one choice" "$scratch/err" "only one is possible"
show training 4 --step 3 --ranks 4
contains "no such rank" "$scratch/err" "none of these ranks is in the profile, of whose processes no rank is known"

# ---- ranges
nvtx=--nvtx
run ranges ranges --nvtx
show ranges 0
same "ranges: those of each launch, but the one before the first mark" "$(line checked)" 9
same "ranges: names" "$(line names)" "before_CUDA forward inner step_1 step_2 step_3"
contains "ranges: said" "$scratch/err" "8 ranges and steps"
run nested "training 9" --nvtx
show nested 0 --step 5
same "a step with --nvtx: its launch in its range" "$(line checked) $(line names)" "1 step_5"
show nested 0
same "all steps with --nvtx" "$(line steps)" "$(seq -s ' ' 2 9)"
run threads "threads 4" --nvtx
show threads 0
check "threads: each launch in its range, but for those before CUDA was there" [ "$(line checked)" -ge $((4 * 199)) ]
same "threads: names" "$(line names)" "thread_0 thread_1 thread_2 thread_3"

# ---- no steps
nvtx=
run windows "windows 9" --record sync
show windows 0
# The host waits in it, which is no GPU work.
same "waits and GPU work are counted apart" \
	"$(sed -n 's/.* and \([0-9]*\) pieces of GPU work of 1 process, \([0-9]*\) waits, .*/\1 \2/p' "$scratch/err")" "27 19"
"$flamegrid" timeline "$scratch/windows" --format profile -o "$scratch/waits" >/dev/null 2>"$scratch/err"
contains "a part's GPU work is that of its report" "$scratch/err" "timeline: 27 pieces of GPU work in "
contains "a part has the waits as well" "$scratch/err" "host waits: 19 in "
gap=$(line gap)
show windows 4 --step 1
contains "no step: said" "$scratch/err" "no step was kept: programs mark steps by flamegrid_step()"
show windows 0 --around-worst
contains "no step: the largest gap" "$scratch/err" "no step is marked, so this is the largest gap of a GPU: $gap ms"
contains "no step: its GPU" "$scratch/err" "went on with GPU"
contains "no step: the longest wait" "$scratch/err" "the longest wait of a host takes "
same "no step: the gap is shown" "$(line gap)" "$gap"

# ---- between capture windows nothing is known, and no gap there is the largest
run pauses "windows 9" --capture-range profiler
show pauses 0
said=$(sed -n 's/.*timeline: 8 times between capture windows, \([0-9.]*\) s, of which only GPU work is known that was launched before;.*/\1/p' "$scratch/err")
python3 - "$readers" "$scratch/t.perfetto" >"$scratch/out" 2>&1 <<'PYTHON' || not_ok "pauses: $(tail -n 1 "$scratch/out")"
import sys
sys.path.insert(0, sys.argv[1])
from read_perfetto import path_of, read
slices, tracks = read(sys.argv[2])
for item in slices:
    item["lane"] = path_of(tracks, item["track"])[-1]
pauses = [item for item in slices if item["lane"] == "idle" and item["name"] == "not captured"]
others = [item for item in slices if item["lane"].startswith(("stream", "thread", "idle")) and item["name"] != "not captured"]
for pause in pauses:
    assert not [item for item in others if item["start"] < pause["end"] and item["end"] > pause["start"]], "something was captured in a pause"
    assert [item for item in others if item["lane"].startswith("stream") and item["end"] <= pause["start"]], "a pause before all work"
print(len(pauses), "%.3f" % (sum(pause["end"] - pause["start"] for pause in pauses) / 1e9))
PYTHON
same "pauses: a slice for each, nothing is known of them, and they are as long as is said" "$(cat "$scratch/out")" "8 $said"
"$flamegrid" report "$scratch/pauses" -f json >"$scratch/json" 2>/dev/null
share=$(python3 "$readers/read_strips.py" "$scratch/pauses/flame.html" "$scratch/json" pauses 2>&1 | sed -n 's/^not captured //p')
check "pauses: the page's time axis has them: $share %" [ "${share:-0}" -gt 0 ]
"$flamegrid" timeline --kernels "$scratch/pauses" >"$scratch/kernels" 2>"$scratch/err"
contains "pauses: said of sums, too" "$scratch/err" " 8 times between capture windows, $said s, of which "
ends=$("$flamegrid" timeline "$scratch/pauses" -f chrome 2>/dev/null | python3 -c '
import json, sys
events = [event for event in json.load(sys.stdin)["traceEvents"] if event["ph"] in "BEi"]
first = min(event["ts"] for event in events)
starts = [event["ts"] for event in events if event["ph"] == "B" and event["name"] == "not captured"]
print(int((starts[3] + starts[4]) / 2 - first))')
"$flamegrid" timeline --kernels "$scratch/pauses" --to "${ends}us" >"$scratch/kernels" 2>"$scratch/err"
contains "pauses: those of a part alone" "$scratch/err" " 4 times between capture windows, "
# A page that lies within a pause has an axis, and all of it is not captured.
read -r from to < <("$flamegrid" timeline "$scratch/pauses" -f chrome 2>/dev/null | python3 -c '
import json, sys
events = sorted((event for event in json.load(sys.stdin)["traceEvents"] if event["ph"] in "BEi"), key=lambda event: event["ts"])
begin = next(event for event in events if event["ph"] == "B" and event["name"] == "not captured")
end = next(event for event in events if event["ph"] == "E" and event["ts"] > begin["ts"] and (event["pid"], event["tid"]) == (begin["pid"], begin["tid"]))
first, length = events[0]["ts"], end["ts"] - begin["ts"]
print(int((begin["ts"] - first + length / 4) * 1000), int((begin["ts"] - first + length * 3 / 4) * 1000))')
"$flamegrid" timeline "$scratch/pauses" -f html --from "${from}ns" --to "${to}ns" -o "$scratch/pause.html" >/dev/null 2>"$scratch/err"
same "pauses: the page of one: status" $? 0
python3 - "$readers" "$scratch/pause.html" >"$scratch/out" 2>&1 <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
from read_strips import PARTS, read_axis, unpack
profile, columns = unpack(sys.argv[2])
timeline, levels = profile["timeline"], read_axis(*unpack(sys.argv[2]))[0]
bins = timeline["bins"]
print(len(timeline["strips"]), [part for part in range(PARTS) if any(levels[part * bins:(part + 1) * bins])], set(levels[(PARTS - 1) * bins:PARTS * bins]))
PYTHON
same "pauses: the page of one has a strip, of which nothing is known" "$(cat "$scratch/out")" "1 [6] {100}"
"$flamegrid" timeline "$scratch/pauses" --format profile -o "$scratch/part" >/dev/null 2>"$scratch/err"
contains "pauses: a part says how long the times between windows were" "$scratch/err" "; times between capture windows are "
"$flamegrid" timeline "$scratch/pauses" -f chrome >"$scratch/trace.json" 2>/dev/null
cat >"$scratch/uncaptured.py" <<'PYTHON'
import csv, json, sys
from decimal import Decimal
report, top, trace = json.load(open(sys.argv[1])), json.load(open(sys.argv[3])), json.load(open(sys.argv[4]), parse_float=Decimal)
events = sorted((event for event in trace["traceEvents"] if event["ph"] in "BE"), key=lambda event: event["ts"])
want = begin = 0
for event in events:
    if event["ph"] == "B" and event["name"] == "not captured":
        begin, lane = event["ts"], (event["pid"], event["tid"])
    elif event["ph"] == "E" and begin and (event["pid"], event["tid"]) == lane:
        want, begin = want + int((event["ts"] - begin) * 1000), 0
[device] = report["devices"]
assert device["uncaptured_ns"] == want > 0, (device["uncaptured_ns"], want)
assert device["busy_ns"] + device["idle_ns"] + want == device["last_ns"] - device["first_ns"], device
[rank] = csv.DictReader(open(sys.argv[2]))
assert int(rank["window_ns"]) == device["busy_ns"] + device["idle_ns"], rank
[gpu] = [gpu for rank in top["ranks"] for gpu in rank["gpus"]]
assert gpu["totals"]["window_ns"] == device["busy_ns"] + device["idle_ns"], gpu
assert gpu["uncaptured_ns"] == want, gpu
[idle] = [finding["ns"] for finding in report["findings"] if finding["kind"] == "idle_gpus"]
assert idle == device["idle_ns"], idle
print("exact")
PYTHON
"$flamegrid" merge -o "$scratch/pauses-merged" "$scratch/pauses" >/dev/null 2>&1
# The whole profile has sums alone, and a part has events: both say the same, and so does a merged profile.
for which in pauses part pauses-merged; do
	"$flamegrid" report "$scratch/$which" -f json >"$scratch/json" 2>/dev/null
	"$flamegrid" report "$scratch/$which" -f csv --rows ranks >"$scratch/ranks.csv" 2>/dev/null
	"$flamegrid" top --once --json "$scratch/$which" >"$scratch/top.json" 2>/dev/null
	python3 "$scratch/uncaptured.py" "$scratch/json" "$scratch/ranks.csv" "$scratch/top.json" "$scratch/trace.json" >"$scratch/out" 2>&1
	same "pauses: what was not captured is no idle time: $which" "$(tail -n 1 "$scratch/out")" exact
	"$flamegrid" report "$scratch/$which" -f table >"$scratch/out" 2>/dev/null
	contains "pauses: the table tells it: $which" "$scratch/out" " more not captured"
	"$flamegrid" top --once "$scratch/$which" >"$scratch/out" 2>/dev/null
	contains "pauses: top tells it: $which" "$scratch/out" " not captured "
done
show pauses 4 --around-worst
contains "pauses: the largest gap is none of them" "$scratch/err" "nor has a GPU a gap"

# ---- windows of one step: each has the step's end
run every "training 23" --every-steps 5 --step-range step
show every 0 --around-worst
contains "windows of one step: the worst" "$scratch/err" "is the slowest of 4: "
show every 0 --step 15
same "windows of one step: a step's work" "$(line work)" in_step_15
same "windows of one step: no other step" "$(line steps)" 15
same "windows of one step: all of them" "$("$flamegrid" timeline "$scratch/every" --steps -f csv 2>/dev/null | cut -d, -f5 | xargs)" "step 5 10 15 20"
# Others cut it, and this is said, not that none is marked.
run cut "cut 5" --capture-range profiler
show cut 4 --around-worst
contains "windows within steps: the worst" "$scratch/err" "no step has both its begin and its end in the timeline: capture windows cut the steps; "
show cut 4 --step 3
contains "windows within steps: a step" "$scratch/err" "run --every-steps N --step-range step captures whole ones of flamegrid_step()"
"$flamegrid" timeline "$scratch/cut" --steps 2>"$scratch/err"
same "windows within steps: all steps" $? 4
contains "windows within steps: why there is none" "$scratch/err" "in this time: capture windows cut the steps; run --every-steps N"

# ---- collectives
rm -rf "$scratch/t.perfetto"
LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$LD_LIBRARY_PATH FAKE_CUDA_DEVICES=4 "$flamegrid" run --timeline all -o "$scratch/ranks" \
	--devices "$(devices 4)" -- "$BUILD/tests/fake_ranks" --ranks 4 --steps 30 >/dev/null 2>"$scratch/ranks.err"
same "ranks: status" $? 0
"$flamegrid" report "$scratch/ranks" --format csv --rows collectives >"$scratch/calls.csv" 2>"$scratch/err"
"$flamegrid" timeline "$scratch/ranks" -o "$scratch/t.perfetto" 2>"$scratch/err"
same "ranks: timeline" $? 0
python3 "$readers/read_calls.py" "$scratch/t.perfetto" "$scratch/calls.csv" >"$scratch/out" 2>&1 || not_ok "$(tail -n 1 "$scratch/out")"
same "each call, a flow for each collective, and each kernel in one" "$(cat "$scratch/out")" "calls 120 joined 30 kernels 120"
contains "ranks: said" "$scratch/err" "120 calls of NCCL"
"$flamegrid" report "$scratch/ranks" -f json >"$scratch/json" 2>/dev/null
same "ranks: the page's time axis tells moves and waits of NCCL apart" \
	"$(python3 "$readers/read_strips.py" "$scratch/ranks/flame.html" "$scratch/json" nccl 2>&1 | tail -n 1)" "moves True not split False waits True"

# ---- kernels over time: counts and sums are those of the report
"$flamegrid" timeline --kernels "$scratch/ranks" -f csv -o "$scratch/kernels" 2>"$scratch/err"
same "kernels: status" $? 0
python3 -c 'import csv, json, sys
for row in json.load(open(sys.argv[1]))["durations"]:
    print(row["kind"], row["name"], row["count"], row["ns"])' "$scratch/json" | LC_ALL=C sort >"$scratch/want"
python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    assert int(row["first_half_count"]) + int(row["second_half_count"]) == int(row["count"])
    assert int(row["first_half_ns"]) + int(row["second_half_ns"]) == int(row["ns"]) <= int(row["count"]) * (int(row["last_ns"]) - int(row["first_ns"]))
    print(row["kind"], row["name"], row["count"], row["ns"])' "$scratch/kernels" | LC_ALL=C sort >"$scratch/have"
same_lines "kernels: counts and sums" "$scratch/have" "$scratch/want"
"$flamegrid" report -f csv "$scratch/ranks" >"$scratch/report" 2>"$scratch/err"
"$flamegrid" timeline --kernels --by-stack "$scratch/ranks" -f csv -o "$scratch/kernels" 2>"$scratch/err"
same "kernels by stack: status" $? 0
for file in report kernels; do
	python3 -c 'import csv, re, sys
sums = {}
for row in csv.DictReader(open(sys.argv[1])):
    if row.get("plane", "gpu") == "gpu":
        # What a kernel of NCCL waited for is no part of its stack.
        key = row["kind"], row["name"], re.sub(r";\[(moves data|waits for .*)\]$", "", row["stack"])
        have = sums.setdefault(key, [0, 0])
        have[0] += int(row["count"])
        have[1] += int(row["ns"])
for key in sums:
    print(*key, *sums[key])' "$scratch/$file" | LC_ALL=C sort >"$scratch/$file.sums"
done
same_lines "kernels by stack: counts and sums" "$scratch/kernels.sums" "$scratch/report.sums"
"$flamegrid" timeline --kernels --by-stack "$scratch/ranks" -f json >"$scratch/kernels" 2>"$scratch/err"
check "kernels by stack: JSON as its schema says" env PATH="/usr/bin:$PATH" python3 "$(dirname "$0")/../support/valid_report.py" \
	"$(dirname "$0")/../../../docs/report.schema.json" "$scratch/kernels"
"$flamegrid" timeline --kernels --by-stack "$scratch/ranks" >"$scratch/kernels" 2>"$scratch/err"
contains "kernels by stack: the table names lines" "$scratch/kernels" "launched in"
# The same kernel twice at two places of one function, and others in ranges: no two rows read the same.
"$flamegrid" timeline --kernels --by-stack "$scratch/ranges" >"$scratch/kernels" 2>"$scratch/err"
contains "kernels by stack: the table names the range" "$scratch/kernels" "kernel in_step_forward   [NVTX]forward > main > launch"
same "kernels by stack: the table has no two equal rows" "$(sed -n 's/.*  \(kernel \)/\1/p' "$scratch/kernels" | sort | uniq -d)" ""
same "kernels by stack: both launches are one row" "$(awk '/ in_nothing / { print $1 }' "$scratch/kernels")" 2
"$flamegrid" timeline --kernels --by-stack "$scratch/ranges" -f csv >"$scratch/kernels" 2>"$scratch/err"
same "kernels by stack: no two equal rows" "$(cut -d , -f 1,2,19- "$scratch/kernels" | sort | uniq -d)" ""
same "kernels by stack: all rows" "$(wc -l <"$scratch/kernels")" 10
"$flamegrid" timeline --by-stack "$scratch/ranks" -o "$scratch/none" 2>"$scratch/err"
same "by stack, not kernels: status" $? 2
"$flamegrid" timeline --sums --from 1s "$scratch/ranks" >"$scratch/sums" 2>"$scratch/err"
same "sums of a range: status" $? 2
contains "sums of a range: why" "$scratch/err" "--sums is of the whole profile"
for to in "--to 0" "--from 2s --to 1s"; do
	"$flamegrid" timeline "$scratch/ranges" $to -o "$scratch/x" >"$scratch/out" 2>"$scratch/err"
	same "$to: status" $? 2
	contains "$to: said" "$scratch/err" "--to is not after --from"
done
"$flamegrid" timeline --sums "$scratch/ranks" >"$scratch/sums" 2>"$scratch/err"
same "sums of few events: status" $? 0
contains "sums of few events: none are needed" "$scratch/sums" "so few that they are read as quickly"
same "sums of few events: no file" "$(ls "$scratch/ranks" | grep -c cells)" 0
"$flamegrid" timeline --kernels "$scratch/ranks" -f json >"$scratch/kernels" 2>"$scratch/err"
check "kernels: JSON as its schema says" env PATH="/usr/bin:$PATH" python3 "$(dirname "$0")/../support/valid_report.py" \
	"$(dirname "$0")/../../../docs/report.schema.json" "$scratch/kernels"
"$flamegrid" timeline --kernels "$scratch/ranks" >"$scratch/kernels" 2>"$scratch/err"
contains "kernels: the table says whether some drift" "$scratch/kernels" "get slower or faster beyond chance"
"$flamegrid" timeline --kernels "$scratch/ranks" --from 9h >"$scratch/kernels" 2>"$scratch/err"
same "kernels: no such time: status" $? 4
contains "kernels: no such time" "$scratch/err" "--from is behind the end: the timeline lasts "
"$flamegrid" timeline --steps "$scratch/ranks" --ranks 7 >"$scratch/kernels" 2>"$scratch/err"
same "steps: no such rank: status" $? 4
contains "steps: no such rank" "$scratch/err" "none of these ranks is in the profile, which has ranks 0-3"
for wrong in "--steps" "--step 3" "-f chrome" "--step-range forward"; do
	"$flamegrid" timeline --kernels "$scratch/ranks" $wrong >/dev/null 2>"$scratch/err"
	same "kernels $wrong: status" $? 2
done

# ---- hosts that run ahead wait now and then: many of their steps are slow
LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$LD_LIBRARY_PATH FAKE_CUDA_DEVICES=2 "$flamegrid" run --timeline all -o "$scratch/ahead" \
	--devices "$(devices 2)" -- "$BUILD/tests/fake_ranks" --ranks 2 --steps 2000 --ahead --mark >/dev/null 2>"$scratch/ahead.err"
same "ahead: status" $? 0
"$flamegrid" timeline --steps "$scratch/ahead" >"$scratch/steps" 2>"$scratch/err"
outliers=$("$flamegrid" timeline --steps -f json "$scratch/ahead" 2>"$scratch/err" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["outliers"]))')
same "ahead: whether slow steps are common" "$(grep -c ' other steps were slow, too, so slow steps are no exception here: ' "$scratch/steps")" \
	"$((outliers > 199))"

# ---- merged: all of both, once, also where a profile comes twice
"$flamegrid" merge -o "$scratch/merged" "$scratch/ranges" "$scratch/training" "$scratch/ranges" 2>"$scratch/err"
same "merge: status" $? 0
nvtx=
for name in ranges training; do
	show $name 0
	line work | tr ' ' '\n' >>"$scratch/work"
done
show merged 0
same "merged: all work of both" "$(line work | tr ' ' '\n' | sort | tr '\n' ' ')" "$(sort "$scratch/work" | tr '\n' ' ')"
show merged 0 --step 5
same "merged: step 5" "$(line work)" in_step_5
"$flamegrid" merge -o "$scratch/again" "$scratch/merged" 2>"$scratch/err"
"$flamegrid" timeline "$scratch/again" --ranks 0 -o "$scratch/t" 2>"$scratch/err"
contains "merged twice: no rank is known" "$scratch/err" "of whose processes no rank is known"
show again 0 --step 23
same "merged twice: step 23" "$(line work)" in_step_23
rm "$scratch"/again/profile.db
cp "$scratch/merged/profile.db" "$scratch/again/"
show again 4
contains "the timeline of another merge is not believed" "$scratch/err" "1 file beside the timeline's is of another profile"

# ---- what lies in the folder beside the timeline's files
folder=$scratch/training/profile.db.timeline
ln -s 00000001.events "$folder/00000002.events"
mkdir "$folder/00000003.events"
echo note >"$folder/note"
cp "$scratch/windows/profile.db.timeline/00000001.events" "$folder/00000004.events"
cp "$folder/00000001.events" "$folder/00000005.events"
show training 0
same "others: all steps, and nothing else" "$(line steps) $(line work | wc -w)" "$(seq -s ' ' 2 23) 24"
contains "others: said" "$scratch/err" "3 files beside the timeline's are of another profile, or no regular files"
contains "a copy: said" "$scratch/err" "1 file of the timeline has another number inside than in the name, as copies have: left out, for instance 00000005.events"
truncate -s 1T "$folder/00000001.events"
show training 3
same "a hole: all steps, and nothing else" "$(line steps) $(line work | wc -w)" "$(seq -s ' ' 2 23) 24"
contains "a hole: said" "$scratch/err" "1 damaged part of the timeline's files was left out, for instance of 00000001.events"
rm -r "$folder/00000001.events"
show training 4
contains "others alone" "$scratch/err" "no event of these ranks"
