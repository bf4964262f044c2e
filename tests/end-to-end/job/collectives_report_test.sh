#!/usr/bin/env bash
# Calls of NCCL in processes without a guest: a run of two processes of two ranks each, and what reports say of it beside the truth. Needs root.
. "$(dirname "$0")/../support/harness.sh"
own_build
victim=$BUILD/tests/collective_victim
export FAKE_NCCL_TRUTH=$scratch/truth.%p
id=$(od -An -tx1 -N16 /dev/urandom | tr -d ' \n')

"$flamegrid" run --host-calls on -o "$scratch/run" -- sh -c '"$0" '"$id"' 0 "$1" & "$0" '"$id"' 1 "$1"; wait' "$victim" "$scratch/go" \
	>"$scratch/run.out" 2>"$scratch/run.err" &
job=$!
# Processes that are gone before the agent has read their first calls have no names: they stay until both have.
until [ "$("$flamegrid" report "$scratch/run" --format csv --rows collectives 2>/dev/null | awk -F, '/play_rank/ { print $2 }' | sort -u | wc -l)" = 2 ]; do
	kill -0 $job || break
done
touch "$scratch/go"
wait $job
same "run: status" $? 0
"$flamegrid" report "$scratch/run" --strict --format csv --rows collectives >"$scratch/rows.csv"
same "report: nothing lost (--strict)" $? 0

# What both have: process, thread, communicator, ranks (of those of a unique id), sequences, function, type, count, bytes, peer, group, result.
awk -F'\t' -v OFS=, '
	$1 == "call" { print $2, $3, $4, $7, $8, $9, $10, $11, $12, $13, $14, $15 }
	$1 == "group" { print $2, $3, "", 0, 0, "group", "", "", 0, "", $4, $5 }' "$scratch"/truth.* | LC_ALL=C sort >"$scratch/truth.rows"
rows() {
	awk -F, -v OFS=, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{
			group = $at["function"] == "group"
			print $at["pid"], $at["thread"], $at["communicator"], $at["sequence"], $at["function_sequence"], $at["function"],
				$at["type"], group ? "" : $at["count"], $at["bytes"], $at["peer"], $at["group"], $at["result"]
		}' "$1" | LC_ALL=C sort
}
rows "$scratch/rows.csv" >"$scratch/report.rows"
check "each call and group of the truth, once: $(wc -l <"$scratch/truth.rows")" cmp "$scratch/truth.rows" "$scratch/report.rows"
same "calls of all four ranks" "$(wc -l <"$scratch/truth.rows")" 83
same "ranks of the unique id's communicator" \
	"$(awk -F, '$8 != "" && $7 == 4 { print $8 }' "$scratch/rows.csv" | LC_ALL=C sort -u | tr '\n' ' ')" "0 1 2 3 "
same "times: within the job's" "$(awk -F, 'NR > 1 && ($23 == 0 || $22 == 0)' "$scratch/rows.csv" | wc -l)" 0
contains "stacks" "$scratch/rows.csv" 'play_rank;victim_all_functions"'

"$flamegrid" report "$scratch/run" --format table --collectives --top 100 >"$scratch/table"
world=$(awk -F'\t' '$1 == "communicator" { print $3; exit }' "$scratch"/truth.*)
same "table: ranks and sequences of the world's all_reduces" \
	"$(grep -E "all_reduce +$world" "$scratch/table" | grep -oE '4 of 4|1\.\.14' | tr '\n' ' ')" "4 of 4 1..14 "
"$flamegrid" report "$scratch/run" --format json --collectives >"$scratch/json"
same "json: two ranks in a process are named by keys" "$(python3 -c 'import json, sys
print(all(c["name"] == c["communicator"] for c in json.load(open(sys.argv[1]))["collectives"]))' "$scratch/json")" True
valid_report "$scratch/run" --collectives
"$flamegrid" report "$scratch/run" --format folded --collectives >/dev/null 2>"$scratch/wrong.err"
same "--collectives of folded stacks: status" $? 2
contains "--collectives of folded stacks: said" "$scratch/wrong.err" "--collectives cannot be written as folded (--format table, json, csv)"
