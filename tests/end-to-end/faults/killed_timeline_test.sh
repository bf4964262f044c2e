#!/usr/bin/env bash
# The timeline of a killed run says that it is incomplete, as its report does: on standard error, in tables, in JSON, in both
# formats of traces, and in the page and the profile of a part.
. "$(dirname "$0")/../support/harness.sh"
readers=$(cd "$(dirname "$0")/../readers" && pwd)
killed=$scratch/killed
mkfifo "$scratch/progress" "$scratch/nothing"
FAKE_CUDA_DEVICES=1 "$flamegrid" run --timeline all -o "$killed" --devices "$(devices 1)" -- "$fake_launches" --devices 1 \
	--sync-every 10 --forever --progress "$scratch/progress" >/dev/null 2>"$scratch/run.err" &
run=$!
exec 3<"$scratch/progress"
read -r pid _ <&3
cat <&3 >/dev/null &
exec 3<&-
until "$flamegrid" timeline "$killed" --kernels >/dev/null 2>&1; do read -r -t 0.05 _ <>"$scratch/nothing"; done
kill -9 "$pid"
wait $run 2>/dev/null
same "run: status" $? 137
wait
"$flamegrid" report "$killed" 2>"$scratch/err" >/dev/null
sentence=$(grep -o 'INCOMPLETE: .* \[unclean_end\]: [^;]*' "$scratch/err" | head -n 1)
check "the report says it" [ -n "$sentence" ]

# says WHAT FILE: the sentence is there
says() { contains "$1" "$2" "$sentence"; }
"$flamegrid" timeline "$killed" -o "$scratch/t.perfetto" 2>"$scratch/err"
same "trace: status" $? 3
says "trace: told" "$scratch/err"
contains "trace: launches without GPU work are told" "$scratch/err" "of the run ha"
contains "trace: launches of this time without GPU work are told" "$scratch/err" "no GPU work here"
python3 - "$readers" "$scratch/t.perfetto" "$sentence" >"$scratch/out" 2>&1 <<'PYTHON' || not_ok "perfetto: $(tail -n 1 "$scratch/out")"
import sys
sys.path.insert(0, sys.argv[1])
import read_perfetto
slices, tracks = read_perfetto.read(sys.argv[2])
told, = [item for item in slices if item["name"].startswith(sys.argv[3])]
others = [item for item in slices if item is not told and item["stack"]]
assert told["start"] <= min(item["start"] for item in others) and told["end"] >= max(item["start"] for item in others)
print("/".join(read_perfetto.path_of(tracks, told["track"])))
PYTHON
same "trace: a slice over all of it says it" "$(cat "$scratch/out")" "profile/what is missing/the run"
"$flamegrid" timeline "$killed" -f chrome -o "$scratch/t.json" 2>"$scratch/err"
same "chrome: status" $? 3
check "chrome: a slice says it" python3 -c 'import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
told, = [event for event in events if event["ph"] == "B" and event["name"].startswith(sys.argv[2])]
assert "profile: what is missing" in [event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "process_name" and event["pid"] == told["pid"]]' \
	"$scratch/t.json" "$sentence"
"$flamegrid" timeline "$killed" --kernels >"$scratch/out" 2>"$scratch/err"
same "table: status" $? 3
says "table: told" "$scratch/out"
"$flamegrid" timeline "$killed" --kernels -f json >"$scratch/json" 2>"$scratch/err"
same "json: told" "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["lacks"].split("; ")[0])' "$scratch/json")" "$sentence"
"$flamegrid" timeline "$killed" -f html -o "$scratch/page.html" 2>"$scratch/err"
same "page: status" $? 3
page_data "$scratch/page.html" >"$scratch/page"
says "page: told" "$scratch/page"
"$flamegrid" timeline "$killed" -f profile -o "$scratch/part" 2>"$scratch/err"
same "part: status" $? 3
"$flamegrid" report "$scratch/part" >/dev/null 2>"$scratch/err"
says "part: told" "$scratch/err"

# ---- a run that ends by itself lacks nothing
FAKE_CUDA_DEVICES=1 "$flamegrid" run --timeline all -o "$scratch/whole" --devices "$(devices 1)" -- "$fake_launches" --devices 1 \
	--launches 100 >/dev/null 2>"$scratch/run.err"
"$flamegrid" timeline "$scratch/whole" --kernels -f json >"$scratch/json" 2>"$scratch/err"
same "whole: status" $? 0
same "whole: lacks nothing" "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["lacks"])' "$scratch/json")" ""
