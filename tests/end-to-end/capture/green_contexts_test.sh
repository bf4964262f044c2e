#!/usr/bin/env bash
# Parts of a GPU: green contexts with every CUPTI, in all reports, and beside capture windows.
. "$(dirname "$0")/../support/own_tmp.sh"
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
program=$BUILD/tests/green_parts
versions=$BUILD/lib/fake-cupti

# run NAME OPTION...: 100 launches of each kind, profiled.
run() {
	local name=$1
	shift
	"$flamegrid" run -q --devices "$list" "$@" -o "$scratch/$name" -- "$program" 100 >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
}
# parts PROFILE: "context stream function count" lines.
parts() {
	"$flamegrid" report "$scratch/$1" --by context,stream -w count 2>/dev/null |
		sed -E 's/^([^;]*);([^;]*);.*;(on_whole|in_first_part|in_second_part);.* ([0-9]+)$/\1; \2; \3 \4/' | LC_ALL=C sort
}

count=0
for folder in "$versions"/*; do
	version=${folder##*/}
	count=$((count + 1))
	export FLAMEGRID_CUPTI
	FLAMEGRID_CUPTI=$(ls "$folder"/libcupti.so.1?)
	run "$version"
	same "$version: the program's own word" "$(cat "$scratch/$version.out")" "on_whole 200 in_first_part 200 in_second_part 300 SMs 16 32"
	parts "$version" >"$scratch/parts"
	if [ "${version%%.*}" -lt 22 ]; then # before 12.4 CUPTI tells of no parts, but that they are other contexts
		printf 'context1; stream7; on_whole 200\ncontext2; stream15; in_first_part 200\ncontext3; stream17; in_second_part 300\n'
	else
		printf '%s; %s\n' context1 'stream7; on_whole 200' 'green context2 (16 SMs)' 'stream15 (priority -1); in_first_part 200' \
			'green context3 (32 SMs)' 'stream17; in_second_part 300'
	fi >"$scratch/expected"
	check "$version: launches by context and stream" diff "$scratch/expected" "$scratch/parts"
done
check "$count versions" [ $count -ge 11 ]
unset FLAMEGRID_CUPTI

# ---- all reports, of a store that was closed ----
run whole --record sync
"$flamegrid" report "$scratch/whole" --format table >"$scratch/table"
contains "table: a part and its stream" "$scratch/table" "green context 2 (16 SMs) stream 15 (priority -1)"
contains "table: a part's default stream" "$scratch/table" "green context 3 (32 SMs) stream 17 (default)"
contains "table: the whole" "$scratch/table" " context 1 stream 7 (default)"
valid_report "$scratch/whole"
same "json: parts" "$("$flamegrid" report "$scratch/whole" -f json | python3 -c '
import json, sys
print([(s["context"], s["stream"], s["stream_priority"], s["multiprocessors"], s["records"]) for s in json.load(sys.stdin)["streams"] if s.get("green")])')" \
	"[(2, 15, -1, 16, 200), (3, 17, 0, 32, 300)]"
"$flamegrid" report "$scratch/whole" -f html --by context -o "$scratch/page.html"
contains "html: split by context" <(page_data "$scratch/page.html") '"split":["context"]'
contains "html: the part's name" <(page_data "$scratch/page.html") '"green context2 (16 SMs)"'
same "waits are of the whole, as CUPTI has them" "$("$flamegrid" report "$scratch/whole" --planes sync --by context -w count | cut -d';' -f1 | sort -u)" context1
same "host threads are in no context" "$("$flamegrid" report "$scratch/whole" --by context --planes all -w count | cut -d';' -f1 | grep -c '^context0')" 0

# ---- windows: what waits for "the context" may have waited for a part of it, so CUPTI stays ----
"$flamegrid" run --devices "$list" --duty 20ms/60ms -o "$scratch/window" -- "$program" 20000 >"$scratch/window.out" 2>"$scratch/window.err"
same "window: status" $? 0
contains "window: CUPTI stays beside parts" "$scratch/window.err" "the process works on several GPUs, or in parts of one"
# Parts that were there before the window opened are told apart by their number alone: CUPTI tells of them when they are made.
mkfifo "$scratch/go"
export XDG_RUNTIME_DIR=$scratch TMPDIR=$scratch # where control looks for agents: this one alone is there
"$flamegrid" run -q --devices "$list" --capture-range control -o "$scratch/late" -- "$program" 100 "$scratch/go" \
	>"$scratch/late.out" 2>"$scratch/late.err" &
exec 4>"$scratch/go" # once the program has made its parts
"$flamegrid" control start -q
same "late: start" $? 0
exec 4>&-
wait $!
same "late: status" $? 0
"$flamegrid" report "$scratch/late" --by context -w count >"$scratch/late.folded" 2>/dev/null
same "late: launches by context" "$(sed -E 's/^(context[0-9]);.*;(on_whole|in_first_part|in_second_part);.* ([0-9]+)$/\1 \2 \3/' "$scratch/late.folded" |
	LC_ALL=C sort | paste -sd, -)" "context1 on_whole 200,context2 in_first_part 200,context3 in_second_part 300"
