#!/usr/bin/env bash
# `flamegrid demo` on a machine without a GPU says so and profiles simulated ones.
. "$(dirname "$0")/../support/harness.sh"
unset LD_LIBRARY_PATH
cd "$scratch" || exit 1
FLAMEGRID_CUPTI=/nonexistent "$flamegrid" demo >out 2>err
same "status" $? 0
same "nothing on standard error" "$(cat err)" ""
contains "says that the GPUs are simulated" out "The GPUs of this demo are SIMULATED."
contains "names the page" out "flamegrid-demo/flame.html"
"$flamegrid" report flamegrid-demo --format json >json
# Each of two GPUs takes 700 steps of 51 operations.
same "records" "$(python3 -c 'import json; print(sum(entry["records"] for entry in json.load(open("json"))["devices"]))')" 71400
"$flamegrid" demo -o "other/my place's" --timeline all >out 2>err
same "another directory: status" $? 0
check "another directory: has the page" [ -s "other/my place's/flame.html" ]
contains "another directory: the hint is words of a shell" out "(flamegrid report 'other/my place'\\''s' --open)"
"$flamegrid" timeline "other/my place's" -o timed.perfetto 2>err
same "a timeline: status" $? 0
contains "a timeline: has all events" err "timeline: 71400 launches and 71400 pieces of GPU work"
"$flamegrid" timeline "other/my place's" --steps -f csv 2>err >steps.csv
same "its steps: the last one of 700, and the number of the others" "$(tail -n +2 steps.csv | cut -d, -f5 | sort -n | tail -n 1) $(tail -n +2 steps.csv | wc -l)" "700 700"
for step in 400 401; do
	"$flamegrid" timeline "other/my place's" --step "$step" --format profile -o "step$step" 2>err
	same "step $step: status" $? 0
done
"$flamegrid" diff step400 step401 >out 2>err
contains "two steps can be compared" out "after   step401"
"$flamegrid" timeline "other/my place's" --around-worst -o worst.perfetto 2>err
contains "the worst: a step" err " is the slowest of 699: "
"$flamegrid" demo --timeline soon >out 2>err
same "no time: status" $? 2
contains "no time: says so" err "--timeline"
"$flamegrid" demo --output -dd >out 2>err
same "a directory that looks like an option: status" "$? $(cat err)" "0 "
contains "a directory that looks like an option: has a table" out "16,800"
: >file
"$flamegrid" demo -o file/below >out 2>err
same "no directory: status" $? 1
contains "no directory: says so" err "file/below"
"$flamegrid" demo operand >out 2>err
same "an operand: status" $? 2
