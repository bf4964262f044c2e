#!/usr/bin/env bash
# A finding of a whole run: a GPU that waits for a loader is told with the line where the loader waits.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
program=$(dirname "$0")/loader_launches.py

# found NAME EXPRESSION: of the findings f of the profile.
found() {
	"$flamegrid" report "$scratch/$1" --format json 2>/dev/null |
		python3 -c "import json, sys; f = json.load(sys.stdin)['findings']; print($2)"
}

FAKE_CUDA_DEVICES=1 "$flamegrid" run -o "$scratch/idle" --devices "$list" --cpu-hz 99 --off-cpu 1ms -- \
	python3 "$program" 40 20 >/dev/null 2>"$scratch/err"
same "status" $? 0
valid_report "$scratch/idle"
same "one finding" "$(found idle '[x["kind"] for x in f]')" "['idle_gpus']"
check "it names the loader" grep -q 'waits in its loader (loader_launches.py:<module>:[0-9]* > loader_launches.py:fetch_batch:' <(found idle 'f[0]["text"]')
same "it names the GPU" "$(found idle 'f[0]["gpu"], f[0]["threshold"]')" "0 0.2"
"$flamegrid" report "$scratch/idle" --format table >"$scratch/table" 2>/dev/null
contains "the table has it, too" "$scratch/table" "waits in its loader"
