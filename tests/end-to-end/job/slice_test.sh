#!/usr/bin/env bash
# `timeline --format profile`: a time of a profile as one of its own. Adjacent parts have the whole's time and counts under each
# stack, to the nanosecond; a step has what it launched; a part says that it is one, and never replaces what it is read from.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
readers=$(realpath "$(dirname "$0")/../readers")
slice() { local to=$1; shift; "$flamegrid" timeline "$@" --format profile -o "$scratch/$to" >"$scratch/out" 2>"$scratch/err"; }
# sums WEIGHT PROFILE...: "stack sum" lines of all these profiles together.
sums() {
	local weight=$1 profile
	shift
	for profile in "$@"; do "$flamegrid" report "$profile" -f folded --weight "$weight" 2>/dev/null; done | awk '
		{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n }
		END { for (stack in sum) printf "%s %.0f\n", stack, sum[stack] }' | LC_ALL=C sort
}

FAKE_CUDA_DEVICES=2 RANK=3 "$flamegrid" run --timeline all -o "$scratch/p" --devices "$list" --node-name "host a" -- \
	"$fake_launches" --devices 2 --streams 2 --threads 2 --launches 20000 --kernels 3 --copies 50 >/dev/null 2>"$scratch/err"
same "run: status" $? 0
total_ms=$("$flamegrid" timeline "$scratch/p" -o "$scratch/t" 2>&1 | sed -n 's/.*has events of \([0-9.]*\) s.*/\1/p' | awk '{ print int($1 * 1000) }')
third=$((total_ms / 3 + 1))
check "the first third" slice first "$scratch/p" --to ${third}ms
check "the second" slice second "$scratch/p" --from ${third}ms --to $((2 * third))ms
check "the rest" slice rest "$scratch/p" --from $((2 * third))ms
for weight in time count bytes; do
	sums $weight "$scratch/p" >"$scratch/want"
	sums $weight "$scratch/first" "$scratch/second" "$scratch/rest" >"$scratch/have"
	same_lines "three parts are the whole: $weight" "$scratch/have" "$scratch/want"
done
for part in first second rest; do
	check "$part: has less than the whole" [ "$(total_ns "$scratch/$part")" -lt "$(total_ns "$scratch/p")" -a "$(total_ns "$scratch/$part")" -gt 0 ]
	same "$part: host" "$(groups "$scratch/$part" host)" "host a"
	same "$part: rank" "$(groups "$scratch/$part" rank)" "rank3"
	check "$part: sound" "$flamegrid" report "$scratch/$part" --strict -o /dev/null
done
"$flamegrid" report "$scratch/second" -o /dev/null 2>"$scratch/err"
contains "it says that it is a part" "$scratch/err" "a part of a profile, "
contains "it says where the losses stand" "$scratch/err" "what was lost is told by the whole"
# What it lacks, the whole may have: no other reason is true of a part.
lacks="a part of a profile has none: the whole has what was recorded"
for asked in "--planes stalls" "--planes energy" "--planes use" "--planes cpu" "--memory peak" --metrics; do
	"$flamegrid" report "$scratch/second" $asked -f csv >/dev/null 2>"$scratch/err"
	contains "$asked: it is a part" "$scratch/err" "report: ${asked% peak}: the profile has nothing of it: $lacks"
done
for asked in "--planes stalls" "--planes energy" "--planes use"; do
	"$flamegrid" report "$scratch/second" $asked -f table >"$scratch/out" 2>/dev/null
	contains "$asked: the table says so" "$scratch/out" "nothing of ${asked#* } is here: $lacks"
done
"$flamegrid" report "$scratch/second" --metrics >"$scratch/out" 2>/dev/null
contains "--metrics: the table says so" "$scratch/out" "no measurement is here: $lacks"
for asked in "--collectives -f csv" "--collectives -f json" "--rows collectives -f csv"; do
	"$flamegrid" report "$scratch/second" $asked >"$scratch/out" 2>"$scratch/err"
	contains "$asked: it is a part" "$scratch/err" "report: ${asked% -f *}: the profile has nothing of it: $lacks"
	"$flamegrid" report "$scratch/p" $asked >"$scratch/out" 2>"$scratch/err"
	contains "$asked of the whole: what records it" "$scratch/err" \
		"report: ${asked% -f *}: the profile has nothing of it; \`flamegrid run --collectives on\` records it"
done
"$flamegrid" report "$scratch/second" --collectives >"$scratch/out" 2>&1
same "--collectives: the table says so once" "$(grep -c "$lacks" "$scratch/out")" 1
"$flamegrid" watch "$scratch/second" 2>"$scratch/err"
same "watch: status" $? 0
contains "watch: it is a part" "$scratch/err" "watch: $scratch/second: the job has ended; of late ranks $lacks"
same "watch: nothing else is said" "$(wc -l <"$scratch/err")" 1
same "it has no timeline" "$(ls "$scratch/second" | grep -c timeline)" 0
same "nothing else stays" "$(ls "$scratch/second" | grep -c '\.new$')" 0

# A part's GPUs were watched for all of its time, also before their first work and after their last.
window_ns() { "$flamegrid" report "$1" -f json 2>/dev/null | python3 -c '
import json, sys
print(*sorted({row["busy_ns"] + row["idle_ns"] for row in json.load(sys.stdin)["devices"]}))'; }
for window in $(window_ns "$scratch/second"); do # work that began within it may end behind it
	check "the window of a part's GPUs has all of its time" [ "$window" -ge "${third}000000" ]
done
check "both GPUs have a window" [ -n "$(window_ns "$scratch/second")" ]

# The page of a time is that of the profile, and nothing else stays.
mkdir "$scratch/tmp"
TMPDIR=$scratch/tmp "$flamegrid" timeline "$scratch/p" --from ${third}ms --to $((2 * third))ms --format html -o "$scratch/page.html" 2>"$scratch/err"
same "a page: status" $? 0
"$flamegrid" report "$scratch/second" -f html >"$scratch/want" 2>/dev/null
check "a page: that of the part, and a time axis" python3 - "$readers" "$scratch/page.html" "$scratch/want" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
from read_strips import read_axis, unpack
(page, columns), (want, want_columns) = map(unpack, sys.argv[2:])
read_axis(page, columns)  # nothing else stands behind
axis = page.pop("timeline")
assert page == want and columns.startswith(want_columns) and axis["isPart"] and axis["boxes"] == 0, "another page"
PYTHON
same "a page: nothing else stays" "$(ls "$scratch/tmp")" ""
"$flamegrid" timeline "$scratch/p" --from 900000s --format html >"$scratch/page.html" 2>"$scratch/err"
same "a page of no work: status" $? 0
contains "a page of no work" "$scratch/err" "the page of 0 pieces of GPU work"
check "a page of no work: it is one" grep -q "</html>" "$scratch/page.html"

# The page of a short time has each piece of work: those of the trace, under the stacks of the part.
# The first millisecond with work is taken.
for ((from = third; from < total_ms; from++)); do
	range=(--from ${from}ms --to $((from + 1))ms)
	slice short "$scratch/p" "${range[@]}" && break
done
check "a short part" [ -e "$scratch/short/profile.db" ]
"$flamegrid" timeline "$scratch/p" "${range[@]}" --format html -o "$scratch/short.html" 2>"$scratch/err"
"$flamegrid" timeline "$scratch/p" "${range[@]}" --format chrome -o "$scratch/short.json" 2>"$scratch/err"
for weight in time count; do "$flamegrid" report "$scratch/short" -f folded --weight $weight >"$scratch/short.$weight" 2>/dev/null; done
check "its page's pieces are exact" python3 "$readers/read_boxes.py" "$scratch/short.html" "$scratch/short.json" "$scratch/short.time" "$scratch/short.count" \
	"$scratch/p/flame.html"

# The whole time is the whole profile, but for what has no time.
check "all of it" slice all "$scratch/p"
for weight in time count; do
	sums $weight "$scratch/p" >"$scratch/want"
	sums $weight "$scratch/all" >"$scratch/have"
	same_lines "all of it: $weight" "$scratch/have" "$scratch/want"
done
busy() { "$flamegrid" report "$1" -f json 2>/dev/null | grep -o '"busy_ns": *[0-9]*' | LC_ALL=C sort; }
busy "$scratch/p" >"$scratch/want"
busy "$scratch/all" >"$scratch/have"
same_lines "all of it: busy time of devices, streams and processes" "$scratch/have" "$scratch/want"

# ---- steps: what they launched, wherever it ran
FAKE_CUDA_DEVICES=1 "$flamegrid" run --timeline all -o "$scratch/steps" --devices "$(devices 1)" -- "$BUILD/tests/api_program" training 23 \
	>/dev/null 2>"$scratch/err"
"$flamegrid" report "$scratch/steps" -f json >"$scratch/json" 2>/dev/null
same "the page's time axis has ticks of the steps whose begin was kept" \
	"$(python3 "$(dirname "$0")/../readers/read_strips.py" "$scratch/steps/flame.html" "$scratch/json" 2>&1 | tr '\n' ' ')" "1 22 exact "
check "step 5" slice step5 "$scratch/steps" --step 5
same "step 5: its kernel, and no other" "$("$flamegrid" report "$scratch/step5" -f folded --weight count 2>/dev/null | sed 's/.*]//')" "in_step_5 1"
check "step 6" slice step6 "$scratch/steps" --step 6
"$flamegrid" diff "$scratch/step5" "$scratch/step6" >"$scratch/out" 2>"$scratch/err"
contains "two steps can be compared" "$scratch/out" "after   $scratch/step6"

# One rank after the other, so the time from the first begin to the last end is far longer than either step.
FAKE_CUDA_DEVICES=2 "$flamegrid" run --timeline all -o "$scratch/ranks" --devices "$list" -- bash -c \
	'for r in 0 1; do RANK=$r CUDA_VISIBLE_DEVICES=$r "$1" training 8 || exit; done' _ "$BUILD/tests/api_program" >/dev/null 2>"$scratch/err"
check "step 5 of two ranks" slice ranks5 "$scratch/ranks" --step 5
"$flamegrid" report "$scratch/ranks5" -f json 2>/dev/null >"$scratch/json"
same "step 5 of two ranks: each GPU was watched for its own rank's step, no longer" \
	"$(python3 -c 'import json, sys; print(*(d["busy_ns"] + d["idle_ns"] + d["uncaptured_ns"] for d in json.load(sys.stdin)["devices"]))' <"$scratch/json")" \
	"$("$flamegrid" timeline "$scratch/ranks" --steps -f csv 2>/dev/null | awk -F, '$5 == 5 { ns[$1] = $8 } END { print ns[0], ns[1] }')"
contains "step 5 of two ranks: the part says so" <("$flamegrid" report "$scratch/ranks5" -f table 2>&1) "of each process its own step"

# ---- errors
slice none "$scratch/p" --from 1h
same "no such time: status" $? 4
contains "no such time: said" "$scratch/err" "--from is behind the end: the timeline lasts "
same "no such time: nothing is left" "$(ls -d "$scratch"/none* 2>/dev/null)" ""
before=$(total_ns "$scratch/p")
slice p "$scratch/p" --to 1ms
same "onto itself: status" $? 1
contains "onto itself: said" "$scratch/err" "the profile itself"
same "onto itself: it is as it was" "$(total_ns "$scratch/p")" "$before"
slice again "$scratch/second" --to 1ms
same "a part of a part: status" $? 1
contains "a part of a part: said" "$scratch/err" "second/profile.db is a part of a profile, "
contains "a part of a part: what to do" "$scratch/err" "it has no timeline; ask the whole"
"$flamegrid" timeline "$scratch/second" -o "$scratch/again" >"$scratch/out" 2>"$scratch/err"
same "a trace of a part: status" $? 1
contains "a trace of a part: said" "$scratch/err" "ask the whole"
check "a trace of a part: it does not miss what it never had" bash -c '! grep -q INCOMPLETE "$1"' _ "$scratch/err"
"$flamegrid" timeline "$scratch/p" --format profile >"$scratch/out" 2>"$scratch/err"
same "no output: status" $? 2
contains "no output: said" "$scratch/err" "--output is missing"
"$flamegrid" timeline "$scratch/p" --steps --format profile -o "$scratch/x" >"$scratch/out" 2>"$scratch/err"
same "steps are no profile: status" $? 2
slice first "$scratch/p" --from ${third}ms --to $((2 * third))ms
same "an earlier profile is moved, not lost" "$(total_ns "$scratch/first") $(total_ns "$scratch/first.2")" \
	"$(total_ns "$scratch/second") $((before - $(total_ns "$scratch/second") - $(total_ns "$scratch/rest")))"

# ---- a part is its owner's, and no profile to add up or to export
mkdir -m 755 "$scratch/open"
check "into another's directory" slice open "$scratch/p" --to ${third}ms
same "its files are the owner's" "$(stat -c %a "$scratch"/open/*.db "$scratch"/open/*.html | sort -u)" 600
"$flamegrid" merge "$scratch/first" "$scratch/p" -o "$scratch/merged" >"$scratch/out" 2>"$scratch/err"
same "parts do not merge: status" $? 1
contains "parts do not merge: said" "$scratch/err" "a part of a profile by time, which does not merge"
(umask 077 && echo "clickhouse http://127.0.0.1:1" >"$scratch/fleet")
"$flamegrid" export "$scratch/first" --to "$scratch/fleet" >"$scratch/out" 2>"$scratch/err"
same "parts are not exported: status" $? 1
contains "parts are not exported: said" "$scratch/err" "its work would count twice"

# ---- work that runs long after its launch has its stack
FAKE_CUDA_KERNEL_NS=k0=6000000000 FAKE_CUDA_DEVICES=1 "$flamegrid" run --timeline all -o "$scratch/long" --devices "$(devices 1)" -- \
	"$fake_launches" --launches 5 --kernels 1 >/dev/null 2>"$scratch/err"
check "the last of long kernels" slice late "$scratch/long" --from 23s
same "it has its launch" "$("$flamegrid" report "$scratch/late" -f json 2>/dev/null | grep -o '"unmatched":[0-9]*' | sort -u)" \
	"$("$flamegrid" report "$scratch/long" -f json 2>/dev/null | grep -o '"unmatched":[0-9]*' | sort -u)"
sums count "$scratch/late" | sed 's/ [0-9]*$//' >"$scratch/have"
sums count "$scratch/long" | sed 's/ [0-9]*$//' >"$scratch/want"
same_lines "long kernels: the same stack" "$scratch/have" "$scratch/want"

# ---- a process without a timeline is missed
"$flamegrid" run -o "$scratch/plain" --devices "$list" -- "$fake_launches" --launches 50 --kernels 1 >/dev/null 2>"$scratch/err"
"$flamegrid" merge "$scratch/plain" "$scratch/p" -o "$scratch/both" >/dev/null 2>"$scratch/err"
slice lacking "$scratch/both"
same "a process without a timeline: status" $? 3
contains "a process without a timeline: said" "$scratch/err" "1 process has no timeline"
"$flamegrid" report "$scratch/lacking" -o /dev/null 2>"$scratch/err"
contains "a process without a timeline: the report" "$scratch/err" "1 process has no timeline"
for output in "-f html" "-f chrome" --kernels; do
	"$flamegrid" timeline "$scratch/both" $output -o "$scratch/other" 2>"$scratch/err"
	same "a process without a timeline: $output: status" $? 3
	contains "a process without a timeline: $output: said" "$scratch/err" "1 process has no timeline"
done

# ---- damage is told by the part, too
log=$(ls "$scratch"/p/profile.db.timeline/* | head -n 1)
printf 'no block at all' >>"$log"
slice damaged "$scratch/p"
same "damaged: status" $? 3
"$flamegrid" report "$scratch/damaged" --strict -o /dev/null 2>"$scratch/err"
same "damaged: a strict report's status" $? 3
contains "damaged: said" "$scratch/err" "INCOMPLETE: events of this time are missing"
