#!/usr/bin/env bash
# Exact windows (run --sample-gpu): each sample that CUPTI gave is in the report under its launch's stack, and a stack with
# enough of them is not marked. Launches of one kernel by several functions have different samples here, by the depths of their grids.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
export FAKE_CUDA_DEVICES=1 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13

# profile NAME OPTIONS... -- ARGUMENTS...: of fake_launches.
profile() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	FAKE_CUDA_SAMPLES=$scratch/$name.samples "$flamegrid" run "${options[@]}" -o "$scratch/$name" --devices "$list" -- \
		"$fake_launches" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" --planes stalls -f json -o "$scratch/$name.json"
}
# ledger NAME REASON: the count in the store (ledger.h).
ledger() {
	python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select coalesce(sum(count), 0) from ledger where reason = ?", [int(sys.argv[2])]).fetchone()[0])' \
		"$scratch/$1/profile.db" "$2"
}
plane() {
	python3 -c 'import json, sys
print(next(plane[sys.argv[2]] for plane in json.load(open(sys.argv[1]))["planes"] if plane["plane"] == "stalls"))' "$scratch/$1.json" "$2"
}
given() { awk -F'\t' '{ sum += $5 } END { print sum + 0 }' "$scratch/$1.samples"; }
# The samples as CUPTI gave them: "FUNCTION OFFSET REASON COUNT". Function i launches grids i + 1 deep.
expected() {
	awk -F'\t' 'BEGIN { names[28] = "selected"; names[14] = "long_scoreboard"; names[2] = "barrier" }
		{ sums[sprintf("launch_from_k%d +0x%x %s", $6 - 1, $3, names[$4])] += $5 }
		END { for (key in sums) print key, sums[key] }' "$scratch/$1.samples" | LC_ALL=C sort
}
shown() {
	"$flamegrid" report "$scratch/$1" --planes stalls --weight count 2>/dev/null | grep -v '\[stall\]not sampled' |
		sed -E 's/.*(launch_from_k[0-9]+).*_Kernel\]k0;(\+0x[0-9a-f]+);\[stall\](.*) ([0-9]+)$/\1 \2 \3 \4/; s/long scoreboard/long_scoreboard/' |
		awk '{ n = $NF; sub(/ [0-9]+$/, ""); sums[$0] += n } END { for (key in sums) print key, sums[key] }' | LC_ALL=C sort
}

profile exact --sample-gpu 1000000/s -- --launches 400000 --kernels 3 --one-name --sync-every 100
expected exact >"$scratch/exact.expected"
shown exact >"$scratch/exact.shown"
same "exact: all three functions were sampled" "$(cut -d' ' -f1 "$scratch/exact.expected" | sort -u | wc -l)" 3
check "exact: each sample stands in its launch's stack, unmarked" diff "$scratch/exact.expected" "$scratch/exact.shown"
same "exact: samples in the ledger" "$(ledger exact 75)" "$(given exact)"
same "exact: samples shown" "$(plane exact count)" "$(given exact)"
same "exact: none without its launch" "$(ledger exact 78)" 0
same "exact: none of the other way" "$(ledger exact 70)" 0
check "exact: windows were counted" test "$(ledger exact 79)" -gt 0
same "exact: the plane has the kernels' time" "$("$flamegrid" report "$scratch/exact" --planes stalls --unit ns 2>/dev/null | sum_folded)" \
	"$("$flamegrid" report "$scratch/exact" --unit ns 2>/dev/null | grep -F '_Kernel]' | sum_folded)"
valid_report "$scratch/exact" --planes stalls

# Several threads. A launch that had just begun when another one opened the window may be sampled, and not be known.
profile threads --sample-gpu 1000000/s -- --launches 100000 --kernels 3 --one-name --threads 3 --streams 2 --sync-every 100
same "threads: samples in the ledger" "$(ledger threads 75)" "$(given threads)"
same "threads: samples shown" "$(plane threads count)" "$(given threads)"

# Other kernels' samples and lost ones, and a rate that one window satisfies for long.
FAKE_CUPTI_SAMPLES_OTHER=3 FAKE_CUPTI_SAMPLES_DROPPED=2 profile lossy --sample-gpu 1/s -- --launches 200000 --kernels 2 --one-name \
	--sync-every 100
same "lossy: samples = shown + other + lost" "$(ledger lossy 75)" $(($(given lossy) + $(ledger lossy 76) + $(ledger lossy 77)))
same "lossy: the rate allows one window" "$(ledger lossy 79)" 1
check "lossy: some are other kernels'" test "$(ledger lossy 76)" -gt 0

# Both ways in one profile.
profile always --record stalls -- --launches 50000 --kernels 3 --one-name --sync-every 100
"$flamegrid" merge "$scratch/exact" "$scratch/always" -o "$scratch/both" >/dev/null 2>"$scratch/merge.err"
same "both: merged" $? 0
"$flamegrid" report "$scratch/both" --planes stalls -f table -o "$scratch/both.table"
"$flamegrid" report "$scratch/both" --planes stalls -f json -o "$scratch/both.json"
contains "both: the table compares" "$scratch/both.table" "launches agree"
contains "both: in total" "$scratch/both.table" "all kernels"
valid_report "$scratch/both" --planes stalls
python3 - "$scratch/both.json" "$scratch/exact.samples" "$scratch/always.samples" >"$scratch/agreement" <<'PY'
import collections, json, sys
rows = json.load(open(sys.argv[1]))["sampling_agreement"]
ways = []
for path in sys.argv[2:]:
    sums = collections.Counter()
    for line in open(path):
        device, kernel, offset, reason, count, depth = line.split("\t")
        sums[offset, reason] += int(count)
    ways.append(sums)
exact, always = ways
agree = sum(min(exact[k] / sum(exact.values()), always[k] / sum(always.values())) for k in exact)
total = rows[0]
print(total["kernel"], rows[1]["kernel"], len(rows), total["exact_samples"] == sum(exact.values()),
      total["samples"] == sum(always.values()), abs(total["lines_agree"] - agree) < 1e-5, total["exact_launched"] == total["exact_samples"])
print(total["launches_agree"] > 0.8, total["launches_agree"] <= 1)
PY
same "both: figures" "$(sed -n 1p "$scratch/agreement")" "None k0 2 True True True True"
same "both: launches agree, as the work is the same" "$(sed -n 2p "$scratch/agreement")" "True True"

# CSV says of each stack whether its samples are shared out.
shared() { "$flamegrid" report "$scratch/$1" --planes stalls -f csv | python3 -c 'import csv, sys
print({row["shared"] for row in csv.DictReader(sys.stdin) if row["name"] != "not sampled"})'; }
same "exact: none is shared out in CSV" "$(shared exact)" "{'0'}"
same "always: all are shared out in CSV" "$(shared always)" "{'1'}"

# A reason is one row of a difference, whether or not its samples are shared out over launches.
"$flamegrid" diff "$scratch/always" "$scratch/exact" --planes stalls --by kernel -f json -o "$scratch/diff.json" 2>/dev/null
same "diff: rows" "$(python3 -c 'import json, sys
rows = {row["name"]: row["state"] for row in json.load(open(sys.argv[1]))["rows"]}
print({state for name, state in rows.items() if name.endswith("[stall]selected")} == {"both"} and "both", any("\u2248" in name for name in rows))' "$scratch/diff.json")" "both False"

# The sum of a table or JSON never adds two planes. A page has a choice of them, and folded text has no sum.
for format in table json folded html; do
	"$flamegrid" diff "$scratch/always" "$scratch/exact" --planes stalls,gpu -f $format -o "$scratch/diff.out" 2>"$scratch/err"
	same "diff of two planes, $format: status" $? "$(case $format in table | json) echo 2 ;; *) echo 0 ;; esac)"
	case $format in table | json) contains "diff of two planes, $format: message" "$scratch/err" "a table would add them up" ;; esac
done

# What CUPTI refuses costs the samples alone.
FAKE_CUPTI_SAMPLES_START_FAIL=7 profile unstarted --sample-gpu 100/s -- --launches 200000 --kernels 1
contains "unstarted: the reason" "$scratch/unstarted.err" "kernels of CUDA device 0 are not sampled (CUPTI's error 7)"
same "unstarted: all else is there" "$("$flamegrid" report "$scratch/unstarted" --weight count 2>/dev/null | sum_folded)" 200000
FAKE_CUPTI_SAMPLES_REFUSED=35 profile refused --sample-gpu 100/s -- --launches 20000 --kernels 1
contains "refused: the reason" "$scratch/refused.err" "it needs CAP_SYS_ADMIN"
for value in 0 x 100/m 1000001/s; do
	"$flamegrid" run --sample-gpu "$value" -- true 2>"$scratch/err"
	same "--sample-gpu $value: status" $? 125
	contains "--sample-gpu $value: message" "$scratch/err" "--sample-gpu $value: not a number of samples from 1/s to 1000000/s"
done

# The page has the totals.
"$flamegrid" report "$scratch/both" --planes stalls -f html -o "$scratch/both.html" 2>/dev/null
page_data "$scratch/both.html" >"$scratch/both.page"
contains "both: the page compares" "$scratch/both.page" '"agreement":['

# Within a capture window, which is shorter than the run.
profile duty --sample-gpu 1000000/s --duty 1s/1100ms -- --launches 400000 --kernels 3 --one-name --sync-every 100
same "duty: samples in the ledger" "$(ledger duty 75)" "$(given duty)"
check "duty: windows were counted" test "$(ledger duty 79)" -gt 0
check "duty: samples have their launches" test "$(ledger duty 75)" -gt "$(ledger duty 78)"

# A process that ends in a window, by itself or not, ends as ever.
for how in return _exit abort; do
	FAKE_CUDA_SAMPLES=$scratch/$how.samples "$flamegrid" run --sample-gpu 1000000/s -o "$scratch/$how" --devices "$list" -- \
		"$fake_launches" --launches 60000 --threads 3 --kernels 2 --exit $how >/dev/null 2>"$scratch/$how.err"
	same "$how: status" $? "$([ $how = abort ] && echo 134 || echo 0)"
	same "$how: no call of CUPTI's beside a launch" "$(grep -c 'beside a launch' "$scratch/$how.err")" 0
done
