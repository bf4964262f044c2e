#!/usr/bin/env bash
# Two profiles side by side: `diff` has each planted change to the nanosecond, `check` has the status that CI goes by, and neither
# believes a damaged, foreign or incomplete profile.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)

# record NAME KERNEL-NS OPTION...: a run of fake_launches with these durations.
record() {
	local name=$1 durations=$2
	shift 2
	FAKE_CUDA_KERNEL_NS=$durations "$flamegrid" run --devices "$list" -o "$scratch/$name" -- "$fake_launches" "$@" >"$scratch/$name.out" 2>&1
}
# row BY NAME EXPRESSION: of the row with this name in the difference of before and after.
row() {
	"$flamegrid" diff "$scratch/before" "$scratch/after" --by "$1" -f json |
		python3 -c 'import json, sys; d = json.load(sys.stdin); r = next(r for r in d["rows"] if r["name"] == sys.argv[1]); print(eval(sys.argv[2]))' "$2" "$3"
}

record before "k0=1000,k1=2000,k2=3000" --launches 300 --kernels 3
same "before: status" $? 0
record after "k0=1000,k1=2020,k2=3000" --launches 600 --kernels 3
record again "k0=1000,k1=2000,k2=3000" --launches 300 --kernels 3
record vanished "k0=1000,k1=2000" --launches 200 --kernels 2

# ---- diff ----
same "diff: the kernel: before, after, change, of one launch" \
	"$(row kernel k1 '[r["before"]["ns"], r["after"]["ns"], r["change_ns"], r["before"]["unit_ns"], r["after"]["unit_ns"]]')" \
	"[200000, 404000, 4000, 2000, 2020]"
same "diff: another one has no change" "$(row kernel k0 '[r["change_ns"], r["relative"], r["state"]]')" "[0, 0, 'both']"
same "diff: twice the launches" "$(row kernel k0 '[d["unit"], d["factor"]]')" "['launch', 2]"
same "diff: the function that launches it" "$(row frame launch_from_k1 '[r["before"]["ns"], r["after"]["ns"]]')" "[200000, 404000]"
same "diff: a class" "$(row class kernel '[r["before"]["ns"], r["after"]["ns"]]')" "[600000, 1204000]"
same "diff: the rows of kernels add up" "$(row kernel k0 '[sum(r[s]["ns"] for r in d["rows"]) == d["all"][s]["ns"] for s in ("before", "after")]')" "[True, True]"
printf '# ours\nmine ^k1$\nmemory_bound k2\n' >"$scratch/classes"
export FLAMEGRID_CLASSES=$scratch/classes
same "diff: a class of the user's" "$(row class mine '[r["before"]["ns"], r["after"]["ns"]]')" "[200000, 404000]"
same "diff: another one of theirs" "$(row class memory_bound '[r["before"]["ns"], r["after"]["ns"]]')" "[300000, 600000]"
same "diff: what their rules leave" "$(row class kernel '[r["before"]["ns"], r["after"]["ns"]]')" "[100000, 200000]"
"$flamegrid" report "$scratch/after" -f html -o "$scratch/classes.html"
same "a page has the classes of the user's rules, and no pattern" "$(page_data "$scratch/classes.html" | python3 -c '
import json, sys
text = sys.stdin.buffer.read().split(b"\0")[0]
page = json.loads(text)
print({page["strings"][i]: page["kernelClasses"][c] for i, c in page["kernelsOfClasses"]}, b"^k1" in text)')" \
	"{'[GPU0_Kernel]k0': 'kernel', '[GPU0_Kernel]k1': 'mine', '[GPU0_Kernel]k2': 'memory_bound'} False"
FLAMEGRID_CLASSES=
"$flamegrid" diff "$scratch/before" "$scratch/after" --by line >"$scratch/lines"
same "diff by line: status" $? 0
"$flamegrid" diff "$scratch/before" "$scratch/after" -f folded -u ns >"$scratch/folded"
same "diff: folded, with times before made as long" "$(sed -n 's/.*;\[GPU_Kernel\]k1 //p' "$scratch/folded")" "400000 404000"
"$flamegrid" diff "$scratch/before" "$scratch/after" -f html -o "$scratch/diff.html"
same "diff: a page: status" $? 0
check "diff: a page" [ -s "$scratch/diff.html" ]
"$flamegrid" diff "$scratch/before" "$scratch/vanished" --by kernel >"$scratch/table"
same "diff: the kernel that has gone" "$(sed -n '/^Vanished:/,$p' "$scratch/table" | tail -n 1 | awk '{ print $3 }')" k2
"$flamegrid" diff "$scratch/before" "$scratch/before" --by kernel -f json >"$scratch/self.json"
same "diff: with itself nothing changes" "$(python3 -c 'import json, sys; print({r["change_ns"] for r in json.load(open(sys.argv[1]))["rows"]})' "$scratch/self.json")" "{0}"

same "diff: nothing by frame: the headline" "$("$flamegrid" diff "$scratch/before" "$scratch/again" | tail -n 1 | sed 's/: [0-9]* rows//')" "no difference by frame"
cp -r "$scratch/before" "$scratch/renamed"
python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as store:
    store.executemany("UPDATE strings SET data = ? WHERE data = ?", [(b"other" + k, k) for k in (b"k0", b"k1", b"k2")])' "$scratch/renamed/profile.db"
same "diff: frames that launch other kernels: the headline" "$("$flamegrid" diff "$scratch/before" "$scratch/renamed" | tail -n 1 | sed 's/: [0-9]* rows//')" \
	"no difference by frame, but 6 rows differ by kernel (--by kernel)"

# valid WHAT FILE: as the schema says.
valid() {
	local here
	here=$(dirname "$0")
	check "JSON as its schema says: $1" env PATH="/usr/bin:$PATH" python3 "$here/../support/valid_report.py" "$here/../../../docs/report.schema.json" "$2"
}
valid diff "$scratch/self.json"

# refused WHAT STATUS WORDS COMMAND...
refused() {
	local what=$1 status=$2 words=$3
	shift 3
	"$flamegrid" "$@" >"$scratch/refused" 2>&1
	same "$what: status" $? "$status"
	contains "$what: said" "$scratch/refused" "$words"
}
refused "diff: three profiles" 2 "only two profiles" diff "$scratch/before" "$scratch/after" "$scratch/again"
refused "diff: rank of two profiles" 2 "--rank compares ranks of one profile" diff --rank 0 "$scratch/before" "$scratch/after"
refused "diff: rows of a page" 2 "--by is for --format table or json" diff --by line -f html "$scratch/before" "$scratch/after"
refused "diff: planes that were not recorded" 1 "before/profile.db: --planes stalls: the profile has nothing of it; \`flamegrid run --record stalls\` records it" \
	diff "$scratch/before" "$scratch/after" --planes stalls,sync -f folded
contains "diff: the other plane" "$scratch/refused" "--planes sync: the profile has nothing of it; "
refused "diff: no such plane" 2 "--planes stall: must be all, or of gpu" diff "$scratch/before" "$scratch/after" --planes stall
same "diff: no plane is offered that it refuses" "$(grep -c energy "$scratch/refused")" 0
refused "diff: into the first profile" 1 "the profile itself" diff "$scratch/before" "$scratch/after" -o "$scratch/before/profile.db"
refused "check: into the baseline" 2 "the profile itself" check --baseline "$scratch/before" "$scratch/again" -o "$scratch/before/profile.db"
refused "check: no baseline" 2 "--baseline is missing" check "$scratch/after"
refused "check: no percentage" 2 "must be a percentage" check --baseline "$scratch/before" --max-regress much "$scratch/after"

# ---- check ----
# status WANTED WHAT OPTION...: of a check.
status() {
	local wanted=$1 what=$2
	shift 2
	"$flamegrid" check "$@" >"$scratch/check" 2>&1
	same "check: $what: status" $? "$wanted" || cat "$scratch/check"
}
status 0 "a profile with itself" --baseline "$scratch/before" "$scratch/before"
status 0 "an equal run" --baseline "$scratch/before" "$scratch/again"
status 1 "a planted percent" --baseline "$scratch/before" "$scratch/after"
contains "check: which kernel" "$scratch/check" "k1"
contains "check: the verdict" "$scratch/check" "regressed: 1 of 4 rows"
contains "check: the function of a program without lines" "$scratch/check" "k1: 100 % of the growth is launched by "
status 0 "a limit above it" --baseline "$scratch/before" --max-regress 2% "$scratch/after"
status 0 "kernels of a greater share" --baseline "$scratch/before" --min-share 40 "$scratch/after"
status 1 "several baselines" --baseline "$scratch/before" --baseline "$scratch/again" --baseline "$scratch/before" "$scratch/after"
contains "check: a copy is no further run" "$scratch/check" "before to the nanosecond: both count as one run"
status 0 "a faster one" --baseline "$scratch/after" "$scratch/before"
contains "check: a faster one is told" "$scratch/check" "faster: 1 of 4 rows"
"$flamegrid" check --baseline "$scratch/before" "$scratch/after" -f json -o "$scratch/check.json"
valid check "$scratch/check.json"
same "check: JSON" "$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(d["verdict"], [(r["name"], r["duration_change"], r["count_change"]) for r in d["rows"] if r["verdict"] == "regressed"])' "$scratch/check.json")" \
	"regressed [('k1', 0.01, 0)]"
"$flamegrid" check --baseline "$scratch/before" "$scratch/after" -f junit -o "$scratch/check.xml"
same "check: JUnit" "$(python3 -c 'import sys, xml.etree.ElementTree as tree; print([c.get("name") for c in tree.parse(sys.argv[1]).iter("testcase") if c.find("failure") is not None])' "$scratch/check.xml")" "['k1']"
"$flamegrid" check --baseline "$scratch/before" "$scratch/after" -f markdown >"$scratch/check.md"
contains "check: Markdown" "$scratch/check.md" '| regressed | `k1` | +1.00 % |'

# Launches that vary, in a run that is too short for windows: one baseline does not tell how much runs differ.
for run in 1 2; do record "vary$run" "k0=1000-1100,k1=2000-2200,k2=3000-3300" --launches $((run * 3000)) --kernels 3; done
status 3 "varying launches, one baseline" --baseline "$scratch/vary1" "$scratch/vary2"
contains "check: what to do" "$scratch/check" "give three or more baselines"
status 0 "varying launches, two copies of one baseline, with itself" --baseline "$scratch/vary1" --baseline "$scratch/vary1" "$scratch/vary1"

# ---- what is not to be believed ----
record lossy "k0=1000,k1=2000,k2=3000" --launches 300 --kernels 3 --exit kill9-self
status 3 "a profile without its end" --baseline "$scratch/before" "$scratch/lossy"
contains "check: what is missing" "$scratch/check" "is not complete"
status 3 "such a baseline" --baseline "$scratch/lossy" "$scratch/before"
head -c 20000 "$scratch/after/profile.db" >"$scratch/short.db"
python3 -c 'import random, sys; random.seed(1); sys.stdout.buffer.write(random.randbytes(50000))' >"$scratch/noise.db"
cp "$scratch/after/profile.db" "$scratch/newer.db"
python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript("PRAGMA user_version = 99")' "$scratch/newer.db"
: >"$scratch/empty.db"
for bad in short noise newer empty missing; do
	for verb in "diff $scratch/before $scratch/$bad.db" "diff $scratch/$bad.db $scratch/before"; do refused "$verb" 1 "/$bad.db" $verb; done
	for verb in "check --baseline $scratch/before $scratch/$bad.db" "check --baseline $scratch/$bad.db $scratch/before"; do refused "$verb" 2 "/$bad.db" $verb; done
done
