#!/usr/bin/env bash
# What runs on the GPUs of a job: on a terminal while eight ranks run, of which one becomes late, and as tables and JSON.
. "$(dirname "$0")/../support/harness.sh"
here=$(realpath "$(dirname "$0")")
ranks=$BUILD/tests/fake_ranks
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
export TERM=xterm LC_ALL=C.UTF-8
unset NO_COLOR COLUMNS LINES
list=$(devices 8)
cd "$scratch" || exit 1

# on_terminal COLUMNS LINES COMMAND...: steps on standard input; the screen's end is in said.
on_terminal() { "$here/../support/terminal.py" "$@" >said 2>&1 || cat said; }
row() { grep -n -m1 -E "$1" "$2" | cut -d: -f1; } # row PATTERN SCREEN: the number of its line

"$flamegrid" run --devices "$list" -o job -- "$ranks" --ranks 8 --steps 100000000 --gpu 20000-20400 --late-gpu 5:30000 \
	--late-while late --until until >job.out 2>job.err &
run=$!
until [ -s job/profile.db ] && "$flamegrid" report job --ranks -o /dev/null 2>/dev/null; do nap; done

# ---- keys ----
on_terminal 100 30 "$flamegrid" top --interval 500ms <<END
await rank 7
await ^running: 8 ranks, 8 GPUs; rates of [0-9.]+ s, up to [0-9.]+ s old  job
await ncclDev
await ^  \+ rank 0 .* [▁-█]+ +[0-9.]+%
await ^  \+ rank 7 .* [▁-█]+ +[0-9.]+%
screen first
keys G\r
await - rank 7
keys j\rj\r
await - stream
await        +fake_compute .* [0-9.]+%
screen opened
keys s
await BUSY
keys r
await BUSY\^
keys rS/rank 5\r
await NAME
screen found
keys t
await ; totals, up to
keys t?
await up, down, page up
keys x
await ; rates of
resize 60 12
await ^    NAME +busy +comp +nccl +wait +copy +idle$
screen narrow
resize 15 4
await too small
resize 100 30
await rank 7
do : >late
await ^! \+ rank 5
await ^late since .*rank 5 on
screen late
keys q
END
same "q leaves the terminal as it was" "$(tr '\n' ' ' <said)" "status 0 restored colours "
check "the first screen: heading, all ranks, two kernels, eight ranks" \
	[ "$(row 'NAME +busy time +busy +comp +nccl +wait' first) $(row '^  - all ranks' first) $(row '^      fake_compute' first) $(row '^  \+ rank 0' first) $(row '^  \+ rank 7' first)" = "2 3 4 6 13" ]
check "an opened stream has its kernels below it" [ "$(row '^ +fake_compute' <(sed -n "$(row 'stream' opened),\$p" opened))" -gt 1 ]
check "a narrow terminal is not exceeded" [ "$(wc -L <narrow)" -le 60 ]
check "a late rank is marked, and no other" [ "$(grep -c '^!' late)" = 1 ]

# ---- the ways to leave, and other terminals ----
for way in 'signal TERM' 'signal INT' 'keys \x03' 'signal HUP'; do
	on_terminal 80 24 "$flamegrid" top job <<<"await rank 7
$way"
	same "$way leaves the terminal as it was" "$(head -n 2 said | tr '\n' ' ')" "status 0 restored "
done
export NO_COLOR=1
on_terminal 80 24 "$flamegrid" top job <<<$'await rank 7\nkeys q'
same "NO_COLOR: no colours" "$(tr '\n' ' ' <said)" "status 0 restored no colours "
unset NO_COLOR
LC_ALL=C on_terminal 80 24 env LC_ALL=C "$flamegrid" top --interval 300ms job <<<$'await rank 7 .* [0-9]+ +[0-9.]+%\nscreen ascii\nkeys q'
check "a terminal of ASCII gets ASCII" [ "$(LC_ALL=C grep -c '[^ -~]' ascii)" = 0 ]
for type in dumb flamegrid-none; do
	on_terminal 80 24 env TERM=$type "$flamegrid" top job </dev/null
	check "TERM=$type is refused" grep -qE 'status [12]' said
	same "TERM=$type: the terminal is as it was" "$(grep -c ^restored said)" 1
done
"$flamegrid" top job >out 2>err </dev/null
same "no terminal: status" $? 2
contains "no terminal: what prints a table" err "flamegrid top --once"
mkdir lacking && : >lacking/libncursesw.so.6
on_terminal 120 24 env LD_LIBRARY_PATH="$scratch/lacking:$LD_LIBRARY_PATH" "$flamegrid" top job <<<$'await libncursesw is missing\nscreen missing'
same "without ncurses: status" "$(head -n 1 said)" "status 1"
contains "without ncurses: what prints a table" missing "flamegrid top --once"
LD_LIBRARY_PATH=$scratch/lacking:$LD_LIBRARY_PATH "$flamegrid" top --once job >out 2>err
same "without ncurses a table is printed" "$? $(grep -c '+ rank [0-7]' out)" "0 8"

on_terminal 100 400 "$flamegrid" report job <<<'await the job still runs: flamegrid top job'
same "a report of a running job names it" "$(head -n 1 said)" "status 0"

# ---- one table of a running job ----
contains "a table of a running job has rates" out "rates of "
"$flamegrid" top --once --json --interval 1s job >running.json
same "JSON of a running job: status" $? 0
check "it is as its schema says" env PATH="/usr/bin:$PATH" python3 "$here/../support/valid_report.py" "$here/../../../docs/report.schema.json" running.json
same "it has figures of the newest time" "$(python3 -c 'import json, sys
top = json.load(open("running.json"))
print(top["running"], sum(rank["newest"]["busy_ns"] > 0 for rank in top["ranks"]), sum(rank["late"] is not None for rank in top["ranks"]))')" "True 8 8"

# ---- its end, on the screen ----
on_terminal 100 30 "$flamegrid" top --interval 300ms job <<END
await rank 7
do : >until
await ^ended: 8 ranks, 8 GPUs
screen ended
keys q
END
same "the screen stays when the job ends" "$(head -n 2 said | tr '\n' ' ')" "status 0 restored "
wait $run
same "the job's status" $? 0

# ---- a finished profile: exactly the report's sums ----
"$flamegrid" top --once --json job >top.json 2>err
same "JSON of a finished profile: status" $? 0
check "it is as its schema says, too" env PATH="/usr/bin:$PATH" python3 "$here/../support/valid_report.py" "$here/../../../docs/report.schema.json" top.json
"$flamegrid" report job --ranks -f json >ranks.json 2>/dev/null
"$flamegrid" report job -f json --demangle simple >report.json 2>/dev/null
cat >compare.py <<'END'
import collections, json
top, ranks, report = (json.load(open(name + '.json')) for name in ('top', 'ranks', 'report'))
PAIRS = [('window_ns', 'window_ns'), ('busy_ns', 'busy_ns'), ('compute_ns', 'compute_ns'), ('nccl_ns', 'nccl_ns'),
         ('nccl_waits_ns', 'nccl_waits_ns'), ('memcpy_ns', 'memcpy_ns'), ('memset_ns', 'memset_ns'), ('graph_ns', 'graph_ns')]
wanted = {(row['rank'], row['gpu']): [row[name] for name, _ in PAIRS] + [row['records']] for row in ranks['ranks']}
found = {(rank['rank'], gpu['gpu']): [gpu['totals'][name] for _, name in PAIRS] + [gpu['totals']['records']]
         for rank in top['ranks'] for gpu in rank['gpus']}
print('ranks', len(found), found == wanted)
streams = {(row['gpu'], row['pid'], row['context'], row['stream']): row['busy_ns'] for row in report['streams']}
print('streams', {(gpu['gpu'], stream['pid'], stream['context'], stream['stream']): stream['totals']['busy_ns']
                  for rank in top['ranks'] for gpu in rank['gpus'] for stream in gpu['streams']} == streams)
wanted = collections.Counter()
for leaf in report['leaves']:
    if leaf['kind'] in ('kernel', 'memcpy', 'memset', 'graph'):
        name = leaf['frames'][-1].split(']', 1)[1]
        wanted[leaf['rank'], leaf['gpu'], leaf['kind'], name] += leaf['ns']
        wanted[None, None, leaf['kind'], name] += leaf['ns']
found = collections.Counter()
for rank in top['ranks']:
    for gpu in rank['gpus']:
        for stream in gpu['streams']:
            for kernel in stream['kernels']:
                found[rank['rank'], gpu['gpu'], kernel['kind'], kernel['name']] += kernel['ns']
for kernel in top['kernels']:
    found[None, None, kernel['kind'], kernel['name']] += kernel['ns']
print('kernels', len(found), found == wanted, top['kernels_left_out'])
if found != wanted:
    print(sorted(found.items(), key=str)[:3], sorted(wanted.items(), key=str)[:3])
END
same "ranks and GPUs are those of the report, to the nanosecond" "$(python3 compare.py | sed -n 1p)" "ranks 8 True"
same "and so are streams" "$(python3 compare.py | sed -n 2p)" "streams True"
same "and kernels" "$(python3 compare.py | sed -n 3p)" "kernels 18 True 0"
"$flamegrid" top --once job >out 2>err
contains "a table of a finished job has totals" out "ended: 8 ranks, 8 GPUs; totals  job"
on_terminal 100 30 "$flamegrid" top job <<<$'await ^ended: 8 ranks\nkeys q'
same "a finished profile on the screen" "$(head -n 2 said | tr '\n' ' ')" "status 0 restored "

# ---- another profile in its place ----
on_terminal 100 30 "$flamegrid" top --interval 300ms job <<END
await ^ended: 8 ranks
do mv job old; LC_ALL=C "$flamegrid" run --quiet --devices "$list" -o job -- "$ranks" --ranks 2 --steps 3 >/dev/null 2>&1
await ^ended: 2 ranks, 2 GPUs
keys q
END
same "a new profile replaces the last one" "$(head -n 2 said | tr '\n' ' ')" "status 0 restored "

# ---- profiles that were merged ----
"$flamegrid" merge old job -o both 2>err
same "a merge: status" $? 0
for profile in old job both; do "$flamegrid" top --once --json $profile >$profile.json 2>/dev/null; done
same "a merged profile has the sums of both" "$(python3 -c 'import json
old, new, both = (json.load(open(name + ".json"))["totals"] for name in ("old", "job", "both"))
print(all(both[name] == old[name] + new[name] for name in both if name != "window_ns"), both["records"] > old["records"])')" "True True"

# ---- what is wrong ----
for wrong in --json '--once --interval 1ms' '--once one two'; do
	"$flamegrid" top $wrong >out 2>err
	same "$wrong is refused" $? 2
done
"$flamegrid" top --once nothing >out 2>err
same "no such profile: status" $? 1
contains "no such profile: which" err "nothing: No such file or directory"
mkdir empty && : >empty/profile.db
"$flamegrid" top --once empty >out 2>err
same "an empty profile: status" $? 1
contains "an empty profile: what it is" err "empty"
head -c 4096 /dev/urandom >empty/profile.db
"$flamegrid" top --once empty >out 2>err
same "no profile: status" $? 1
mkdir nowhere && cd nowhere || exit 1
"$flamegrid" top --once >out 2>err
same "no profile here: status" $? 2
contains "no profile here: what makes one" err "no profile given, and none is here"
