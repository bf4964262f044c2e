#!/usr/bin/env bash
# Calls of NCCL as NCCL tells the guest, which is its profiler plugin: jobs of several ranks on fake NCCL, and what reports say beside the truth.
. "$(dirname "$0")/../support/harness.sh"
unset NCCL_PROFILER_PLUGIN FLAMEGRID_COLLECTIVES FAKE_NCCL_TRUTH
ranks=$BUILD/tests/fake_ranks
list=$(devices 4)
. "$(dirname "$0")/../support/daemon_harness.sh"

strict=--strict

# rows PROFILE: every call, without its times, and without stream, launch and stack.
rows() {
	"$flamegrid" report "$1" $strict --format csv --rows collectives >"$scratch/rows.csv" || not_ok "report $strict of $1"
	awk -F, -v OFS=, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{
			print $at["pid"], $at["thread"], $at["communicator"], $at["communicator_rank"], $at["ranks"], $at["sequence"],
				$at["function_sequence"], $at["function"], $at["type"], $at["count"], $at["bytes"], $at["peer"]
		}' "$scratch/rows.csv" | LC_ALL=C sort
}
truth() {
	awk -F'\t' -v OFS=, '$1 == "task" { print $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 }' "$scratch"/tasks.* | LC_ALL=C sort
}
# compare NAME PROFILE
compare() {
	rows "$2" >"$scratch/report.rows"
	truth >"$scratch/truth.rows"
	check "$1: each call of the truth, once: $(wc -l <"$scratch/truth.rows")" cmp "$scratch/truth.rows" "$scratch/report.rows"
}
run_job() {
	local name=$1
	shift
	rm -f "$scratch"/tasks.*
	FAKE_NCCL_TASKS=$scratch/tasks.%p "$flamegrid" run -q --devices "$list" -o "$scratch/$name" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
}

for nr in 2 4; do
	run_job "of$nr" -- "$ranks" --ranks $nr --steps 30 --mix --late-host 1:500
	same "$nr ranks: status" $? 0
	compare "$nr ranks" "$scratch/of$nr"
	# Of a communicator of all ranks, a number is the same call on each: as function, count and bytes; sends and receives differ in their peers.
	same "$nr ranks: numbers that are not the same call on all ranks" \
		"$(awk -F, -v nr=$nr '
			$5 == nr && $6 > 0 { call = $8 " " $10 " " $11; key = $3 " " $6; if (!(key in first)) first[key] = call; if (first[key] != call) differ++; seen[key]++ }
			END { for (key in seen) if (seen[key] != nr) differ++; print differ + 0 }' "$scratch/report.rows")" 0
	same "$nr ranks: calls that count, without a launch" \
		"$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } /^#/ { next } $at["sequence"] > 0 && $at["correlation_id"] == 0' "$scratch/rows.csv" | wc -l)" 0
	# A plan is a launch: as many of both.
	same "$nr ranks: launches that carry calls, and plans" \
		"$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } /^#/ { next } $at["sequence"] > 0 { print $at["pid"], $at["correlation_id"] }' "$scratch/rows.csv" | sort -u | wc -l)" \
		"$(awk -F'\t' '$1 == "task" && $15 == 0 { print $2, $14 }' "$scratch"/tasks.* | sort -u | wc -l)"
	contains "$nr ranks: stacks" "$scratch/rows.csv" "rank_step;rank_reduce;pncclAllReduce"
	contains "$nr ranks: told by the profiler interface" "$scratch/rows.csv" ",profiler,"
done
"$flamegrid" report "$scratch/of4" --format table --collectives >"$scratch/table"
contains "table: all ranks" "$scratch/table" "4 of 4"
same "produced, nothing lost" "$("$flamegrid" report "$scratch/of4" --format json | python3 -c '
import json, sys
ledger = json.dumps(json.load(sys.stdin))
print("collective_lost" in ledger)')" False

for version in v1 v2 v3 v4 v7; do
	FAKE_NCCL_PROFILER=$version run_job "$version" -- "$ranks" --ranks 2 --steps 10 --mix
	same "$version: status" $? 0
	rows "$scratch/$version" | cut -d, -f1-4,6-12 >"$scratch/report.rows" # how many ranks, older ones do not tell
	truth | cut -d, -f1-4,6-12 >"$scratch/truth.rows"
	check "$version: each call" cmp "$scratch/truth.rows" "$scratch/report.rows"
done

run_job off --collectives off -- sh -c 'echo "${NCCL_PROFILER_PLUGIN-none}"; "$@"' sh "$ranks" --ranks 2 --steps 5
same "--collectives off: status" $? 0
same "--collectives off: calls" "$(rows "$scratch/off" | wc -l)" 0
same "--collectives off: the job's environment" "$(head -n 1 "$scratch/off.out")" none
FLAMEGRID_COLLECTIVES=off run_job off2 --collectives on -- "$ranks" --ranks 2 --steps 5
compare "an option wins over the environment" "$scratch/off2"
run_job wrong --collectives perhaps -- true
same "--collectives perhaps: status" $? 125
contains "--collectives perhaps: said" "$scratch/wrong.err" "--collectives perhaps: must be on or off"

NCCL_PROFILER_PLUGIN=/elsewhere.so run_job other -- sh -c 'echo "$NCCL_PROFILER_PLUGIN"; "$@"' sh "$ranks" --ranks 2 --steps 5
same "another plugin: status" $? 0
same "another plugin is left alone" "$(head -n 1 "$scratch/other.out")" /elsewhere.so
same "another plugin: said in one line" "$(grep -c 'NCCL_PROFILER_PLUGIN is already set to /elsewhere.so and is left alone' "$scratch/other.err")" 1
same "another plugin: calls" "$(rows "$scratch/other" | wc -l)" 0

# Ranks that are killed: what they told is there.
run_job killed -- sh -c '"$0" --ranks 2 --steps 50 --wait "$1/file" & until [ "$(cat "$1"/tasks.* 2>/dev/null | grep -c ^task)" = 100 ]; do :; done
	for pid in $(sed -n "s/^task.\([0-9]*\).*/\1/p" "$1"/tasks.* | sort -u); do kill -9 "$pid"; done; wait' "$ranks" "$scratch"
strict='' # what is killed ends uncleanly
rows "$scratch/killed" >"$scratch/report.rows"
strict=--strict
same "killed ranks: calls" "$(wc -l <"$scratch/report.rows")" 100

# An agent that is killed in the middle of a job, and another in its place: numbers go on, nothing comes twice.
start_aggregator
start_agent --symbol-cache off
rm -f "$scratch"/tasks.*
FAKE_NCCL_TASKS=$scratch/tasks.%p "$flamegrid" run --agent "$scratch/agent" -- "$ranks" --ranks 2 --steps 3000 --late-host 0:1000 \
	>"$scratch/restart.out" 2>"$scratch/restart.err" &
job=$!
until [ "$(cat "$scratch"/tasks.* 2>/dev/null | grep -c ^task)" -gt 1000 ]; do kill -0 $job || break; done
kill -9 $agent
wait $agent 2>/dev/null
start_agent --symbol-cache off
end_all $job
compare "after another agent" "$scratch/profile.db"
