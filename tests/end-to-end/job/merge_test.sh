#!/usr/bin/env bash
# flamegrid merge, on fake CUDA: profiles of hosts, of windows of one process and of other runs become one, exactly.
. "$(dirname "$0")/../support/harness.sh"
fake_windows=$BUILD/tests/fake_windows
list=$(devices 2)
export FAKE_CUDA_DEVICES=2
pid=
at_end() { [ -z "$pid" ] || kill -9 $pid 2>/dev/null; umount "$scratch/sealed" 2>/dev/null; chmod -f 700 "$scratch/sealed"; }

# record NAME NODE LAUNCHES
record() {
	"$flamegrid" run --quiet -o "$scratch/$1" --devices "$list" --node-name "$2" -- "$fake_launches" --launches "$3" --copies 10 \
		>"$scratch/$1.out" 2>&1 || not_ok "$1: $(cat "$scratch/$1.out")"
}
# sum PROFILE WEIGHT: of all GPU work.
sum() { "$flamegrid" report "$scratch/$1" --weight "$2" --unit ns 2>/dev/null | awk '{ n += $NF } END { printf "%.0f\n", n }'; }
folded() { "$flamegrid" report "$scratch/$1" --unit ns --by host,gpu,stream 2>/dev/null; }
json() { "$flamegrid" report "$scratch/$1" -f json 2>/dev/null; }
merge() { "$flamegrid" merge "$@" >"$scratch/merge.out" 2>&1; }

# Hosts: sums, and folded text that is that of the parts.
record one node1 300
record two node2 500
record three node2 200
check "three profiles become one" merge "$scratch/one" "$scratch/two" "$scratch/three/profile.db" -o "$scratch/all"
contains "the summary is of all" "$scratch/merge.out" "1,000 kernels"
contains "the merged profile is whole" "$scratch/merge.out" "nothing lost"
same "launches" "$(sum all count)" $(($(sum one count) + $(sum two count) + $(sum three count)))
same "nanoseconds" "$(sum all time)" $(($(sum one time) + $(sum two time) + $(sum three time)))
{ folded one; folded two; folded three; } | awk '{ w = $NF; sub(/ [0-9]+$/, ""); n[$0] += w } END { for (s in n) printf "%s %.0f\n", s, n[s] }' |
	LC_ALL=C sort >"$scratch/parts"
folded all | LC_ALL=C sort >"$scratch/all.folded"
check "folded text is the sum of the parts'" cmp -s "$scratch/parts" "$scratch/all.folded"
check "strict accepts it" "$flamegrid" report "$scratch/all" --strict -o /dev/null
for file in profile.db gpu.ns.folded flame.html; do check "$file is there" [ -s "$scratch/all/$file" ]; done

# A damaged profile costs its own work alone, and is named.
cp -r "$scratch/two" "$scratch/bad"
python3 - "$scratch/bad/profile.db" <<-'END'
	import sqlite3, sys
	database = sqlite3.connect(sys.argv[1])
	database.execute("UPDATE totals SET node = 999999")
	database.commit()
END
merge "$scratch/one" "$scratch/bad" "$scratch/three" -o "$scratch/most"
same "status of a merge with a damaged profile" $? 3
contains "it is named" "$scratch/merge.out" "INCOMPLETE: 1 part of the profile was damaged, and what it held is missing: bad/profile.db (all of it)"
same "nanoseconds of the sound ones" "$(sum most time)" $(($(sum one time) + $(sum three time)))
json most >"$scratch/most.json"
contains "JSON names it" "$scratch/most.json" "a part of this profile was damaged, and what it held is missing: bad/profile.db (all of it)"
merge "$scratch/bad" -o "$scratch/none"
same "status where nothing is sound" $? 1
contains "the damaged file is named" "$scratch/merge.out" "bad/profile.db: damaged"
merge "$scratch/most" "$scratch/two" -o "$scratch/mended"
same "nanoseconds once the sound copy came" "$(sum mended time)" "$(sum all time)"
contains "it is whole then" "$scratch/merge.out" "nothing lost"

# A damaged page costs what stands on it. Reports say so, too, and count the records that no total has.
cp -r "$scratch/two" "$scratch/torn"
read -r pages records < <(python3 - "$scratch/torn/profile.db" "$scratch/two/profile.db" <<-'END'
	import sqlite3, sys
	database = sqlite3.connect(sys.argv[2])
	(page,), = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'totals'")
	(size,), (pages,) = *database.execute("PRAGMA page_size"), *database.execute("PRAGMA page_count")
	(records,), = database.execute("SELECT sum(matched + unmatched) FROM processes")
	with open(sys.argv[1], "r+b") as file:
	    file.seek((page - 1) * size)
	    file.write(b"\xff" * size)
	print(pages, records)
END
)
merge "$scratch/one" "$scratch/torn" -o "$scratch/whole"
same "status of a merge with a damaged page" $? 3
contains "it is counted" "$scratch/merge.out" "what it held is missing: torn/profile.db (1 of $pages pages, $records records)"
same "nanoseconds of the other" "$(sum whole time)" "$(sum one time)"
"$flamegrid" report "$scratch/torn" --strict -o /dev/null 2>"$scratch/err"
same "status of a report of it" $? 3
contains "the report counts, too" "$scratch/err" "torn/profile.db (1 of $pages pages, $records records)"
merge "$scratch/whole" "$scratch/two" -o "$scratch/healed"
contains "with the sound copy it is whole" "$scratch/merge.out" "nothing lost"
same "nanoseconds then" "$(sum healed time)" $(($(sum one time) + $(sum two time)))

# A killed aggregator leaves a log. To read it where nobody can write, a copy is made.
mkdir "$scratch/sealed"
[ "$(id -u)" != 0 ] || mount -t tmpfs sealed "$scratch/sealed"
python3 - "$scratch/two" "$scratch/sealed" <<-'END'
	import shutil, sqlite3, sys
	database = sqlite3.connect(shutil.copy(sys.argv[1] + "/profile.db", sys.argv[2]))
	database.execute("PRAGMA journal_mode = WAL")
	database.execute("UPDATE meta SET value = 'from the log' WHERE key = 'title'")
	database.commit()
	for name in "/profile.db", "/profile.db-wal":
	    shutil.copy(sys.argv[2] + name, sys.argv[2] + name + ".killed")
	database.close()
	for name in "/profile.db", "/profile.db-wal":
	    shutil.move(sys.argv[2] + name + ".killed", sys.argv[2] + name)
END
if [ "$(id -u)" = 0 ]; then mount -o remount,ro "$scratch/sealed"; else chmod 500 "$scratch/sealed"; fi
same "nanoseconds of a killed aggregator's profile where nobody can write" "$(sum sealed time)" "$(sum two time)"
json sealed >"$scratch/sealed.json"
contains "what only the log has" "$scratch/sealed.json" '"from the log"'
check "it is merged" merge "$scratch/sealed" "$scratch/one" -o "$scratch/unsealed"
same "nanoseconds of both" "$(sum unsealed time)" $(($(sum one time) + $(sum two time)))

json unsealed >"$scratch/unsealed.json"
contains "a title of several" "$scratch/unsealed.json" ' and others"'

# Order, repetition and nesting make no difference.
merge "$scratch/three" "$scratch/one" -o "$scratch/some"
check "a merged profile is merged again, beside its own parts" merge "$scratch/two" "$scratch/some" "$scratch/one" -o "$scratch/again"
json all >"$scratch/all.json"
json again >"$scratch/again.json"
check "the same JSON" cmp -s "$scratch/all.json" "$scratch/again.json"
merge "$scratch/all" -o "$scratch/all2"
check "the same file, but for its pages" cmp -s <(json all2) "$scratch/all.json"

# Windows of one process: the parts of one process add up, and its own counters do not.
"$flamegrid" run --dormant -- "$fake_windows" --until "$scratch/over" >"$scratch/process.out" 2>&1 &
pid=$!
until grep -q libflamegrid_inject "/proc/$pid/maps" 2>/dev/null; do kill -0 $pid || break; done
for window in 1 2 3; do
	"$flamegrid" attach --pid $pid --devices "$list" --api all --duration 200ms -o "$scratch/window$window" >"$scratch/window.out" 2>&1 ||
		not_ok "window $window: $(cat "$scratch/window.out")"
	check "window $window has kernels" [ "$(sum window$window count)" -gt 0 ]
done
touch "$scratch/over"
wait $pid
pid=
check "windows of a process become one profile" merge "$scratch"/window[123] -o "$scratch/windows"
same "kernels of all windows" "$(sum windows count)" $(($(sum window1 count) + $(sum window2 count) + $(sum window3 count)))
calls() { json "$1" | python3 -c 'import json, sys; print(sum(call["count"] for call in json.load(sys.stdin)["api_calls"]))'; }
same "calls, which the process counts for its whole life" "$(calls windows)" "$(calls window3)"

# Jobs: each has its frame.
for job in 17 18; do SLURM_JOB_ID=$job record "job$job" node1 100; done
merge "$scratch/job17" "$scratch/job18" -o "$scratch/jobs"
"$flamegrid" diff "$scratch/jobs" --rank 0 >/dev/null 2>"$scratch/err"
same "their ranks are not compared: status" $? 1
contains "their ranks are not compared" "$scratch/err" \
	"/jobs has ranks of several jobs: compare those of one job, in its profile"
same "jobs stay apart" "$("$flamegrid" report "$scratch/jobs" --by job 2>/dev/null | cut -d';' -f1 | sort -u | tr '\n' ' ')" "job 17 job 18 "

for step in 0 1; do SLURM_JOB_ID=19 SLURM_STEP_ID=$step record "step$step" node1 100; done
merge "$scratch/step0" "$scratch/step1" -o "$scratch/steps"
same "steps of a job stay apart" "$("$flamegrid" report "$scratch/steps" --by job 2>/dev/null | cut -d';' -f1 | sort -u | tr '\n' ' ')" "job 19.0 job 19.1 "

# Refusals: the words, the status, and nothing is left.
refused() {
	local what=$1 status=$2 words=$3
	shift 3
	"$flamegrid" merge "$@" >"$scratch/refused" 2>&1
	same "$what: status" $? "$status"
	contains "$what" "$scratch/refused" "$words"
}
refused "no profile given" 2 "no profile given" -o "$scratch/none"
refused "no output" 2 "--output is missing" "$scratch/one"
refused "its own output" 2 "is a profile to be merged, and the output" "$scratch/one" "$scratch/two" -o "$scratch/one"
ln -s "$scratch/one/profile.db" "$scratch/link.db"
refused "its own output by a link" 2 "is a profile to be merged, and the output" \
	"$scratch/link.db" "$scratch/two" -o "$scratch/one"
cp "$scratch/two/profile.db" "$scratch/one/profile.db.part-0"
refused "a part of its own output" 2 "is a profile to be merged, and the output" \
	"$scratch/one/profile.db.part-0" "$scratch/two" -o "$scratch/one"
rm "$scratch/one/profile.db.part-0"
refused "no such profile" 1 "$scratch/missing" "$scratch/one" "$scratch/missing" -o "$scratch/none"
head -c 3000 "$scratch/one/profile.db" >"$scratch/short.db"
refused "a damaged profile" 1 "$scratch/short.db" "$scratch/one" "$scratch/short.db" -o "$scratch/none"
check "a failed merge leaves no directory" [ ! -e "$scratch/none" ]
check "an earlier profile is kept" merge "$scratch/one" -o "$scratch/some"
check "under the next number" [ -s "$scratch/some.2/profile.db" ]
