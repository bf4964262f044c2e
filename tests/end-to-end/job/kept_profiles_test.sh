#!/usr/bin/env bash
# No profile is ever written over, by runs in a row, at once, or that are killed; runs without a profile leave nothing; and what a killed run leaves is removed
# by the next. Single processes, and ranks of steps that a launcher names or does not.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime FAKE_CUDA_DEVICES=2
mkdir -m 700 "$XDG_RUNTIME_DIR"
unset SLURM_JOB_ID SLURM_STEP_ID SLURM_PROCID
list=$(devices 2)
cd "$scratch" || exit 1
work="$fake_launches --devices 2 --threads 2 --kernels 3"
run() { "$flamegrid" run --devices "$list" "$@"; }
# exact PROFILE TRUTH...: its time is the truth's.
exact() { same "$1: ns" "$(total_ns "$1")" "$(truth_sum valid_ns "${@:2}")"; }
files() { ls "$1" 2>/dev/null | paste -sd' '; }
whole="flame.html gpu.ns.folded profile.db"

# ---- in a row: the newest has the name
for i in 1 2 3; do
	FAKE_CUDA_TRUTH=truth.$i run -o prof -- $work --launches ${i}00 >out 2>err.$i
	same "run $i" $? 0
done
exact prof truth.3
exact prof.2 truth.1
exact prof.3 truth.2
for profile in prof prof.2 prof.3; do same "$profile: files" "$(files $profile)" "$whole"; done
same "nothing to say of the first" "$(grep -c 'earlier profile' err.1)" 0
contains "where the first went" err.2 "flamegrid: run: the earlier profile is now prof.2"
contains "where the second went" err.3 "flamegrid: run: the earlier profile is now prof.3"
run -q -o prof -- $work --launches 10 >out 2>err
same "--quiet" "$(cat err)" ""
exact prof.4 truth.3

# ---- runs that have nothing to keep
list_all() { ls -lR --time-style=full-iso "$@" | cksum; }
before=$(list_all prof*)
run -o prof -- true 2>err
same "no CUDA: status" $? 0
contains "no CUDA: said" err "no process started CUDA"
same "no CUDA: one line after that of the start" "$(grep -vc ": profiling into " err)" 1
run -o deep/new/prof -- true 2>err
same "no CUDA: no directory" "$(ls -d deep 2>/dev/null)" ""
for output in prof deep/new/prof; do
	run -o $output -- nosuchprogram 2>err
	same "no such program: status" $? 127
	same "no such program: one line" "$(cat err)" "flamegrid: run: nosuchprogram: No such file or directory"
done
same "no such program: no directory" "$(ls -d deep 2>/dev/null)" ""
same "the profiles are as they were" "$(list_all prof*)" "$before"
run -o prof --devices "$scratch/nowhere" -- true 2>err
same "no profiling: the profiles are as they were" "$(list_all prof*)" "$before"

# ---- the program's own files stay
mkdir mine
echo weights >mine/checkpoint
for i in 1 2; do FAKE_CUDA_TRUTH=truth.$i run -q -o mine -- $work --launches ${i}0 >out; done
same "the program's files stay" "$(files mine)" "checkpoint $whole"
same "in the number, there is the profile alone" "$(files mine.2)" "$whole"
exact mine truth.2
exact mine.2 truth.1

# ---- at once
mkfifo up go
exec 8<>up 9<>go
held() { printf '%s; echo >>up; read -r _ <go; exec %s' "$work --launches 50 >/dev/null" "$work --launches $1"; }
for i in 1 2; do
	FAKE_CUDA_TRUTH=truth.at-once.$i run -o at-once -- sh -c "FAKE_CUDA_TRUTH=truth.at-once.first.$i $work --launches 50; echo >>up; read -r _ <go; exec $work --launches ${i}00" >out 2>at-once.err.$i &
	pids[i]=$!
	read -r _ <&8
done
contains "the second says where it writes" at-once.err.2 "at-once is in use by another run: writing to at-once.2"
check "the mark is there" test -e at-once/profile.open
echo >&9; echo >&9
for i in 1 2; do wait ${pids[i]}; same "at once: status $i" $? 0; done
exact at-once truth.at-once.1 truth.at-once.first.1
exact at-once.2 truth.at-once.2 truth.at-once.first.2
for profile in at-once at-once.2; do same "$profile: files" "$(files $profile)" "$whole"; done

# ---- killed: what it has stays, what it left goes
"$flamegrid" run --devices "$list" -o killed -- sh -c "$work --launches 70; echo >>up; read -r _ <go" >out 2>err &
pid=$!
read -r _ <&8
command=$(pgrep -P $pid)
kill -KILL $pid
wait $pid 2>/dev/null
kill -KILL $command
timeout 60 tail --pid="$command" -f /dev/null
same "killed: it left its sockets" "$(ls "$XDG_RUNTIME_DIR" | wc -l)" 1
check "killed: and its mark" test -e killed/profile.open
FAKE_CUDA_TRUTH=truth.next run -o killed -- $work --launches 30 >out 2>err
same "the next: status" $? 0
same "the next has removed what was left" "$(ls "$XDG_RUNTIME_DIR")" ""
exact killed truth.next
contains "the killed run's profile is kept" err "the earlier profile is now killed.2"
check "it is there" test -s killed.2/profile.db

# ---- a step: rank WHO RANK OPTION... -- COMMAND...: WHO is a namespace, or - where the launcher tells none; in the background
declare -A rank_pid
rank() {
	local who=$1 rank=$2 name=PMIX_NAMESPACE=$1
	shift 2
	[ "$who" = - ] && name=NOTHING=1
	env "$name" OMPI_COMM_WORLD_RANK="$rank" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK="$rank" \
		"$flamegrid" run --node-name "node$rank" --devices "$list" "$@" >"out.$who.$rank" 2>"err.$who.$rank" &
	rank_pid[$who.$rank]=$!
}
step_held() { # WHO OUTPUT LAUNCHES: two ranks on two nodes, that wait in their middle
	local r

	for r in 0 1; do
		rank "$1" $r -o "$2" -- sh -c "FAKE_CUDA_TRUTH=truth.$1.$r $work --launches $3; echo >>up; read -r _ <go; FAKE_CUDA_TRUTH=truth.$1.$r.2 exec $work --launches $3"
	done
	read -r _ <&8; read -r _ <&8
}
ends() { # WHO STATUS
	local r

	for r in 0 1; do wait ${rank_pid[$1.$r]}; same "$1: rank $r's status" $? "$2"; done
	await_keepers # on a busy machine the reports come later
}

# Two with one name, at once, then one more.
step_held a ranks 100
step_held b ranks 200
contains "the second step says where it writes" err.b.0 "ranks is in use by another run: writing to ranks.2"
same "a rendezvous for each" "$(ls ranks.*.rendezvous | wc -l)" 2
"$flamegrid" control stop ranks.2 >out 2>err
same "control finds the job whose profile has another name: status" $? 0
until [ "$(grep -c '^yes ' out)" = 2 ]; do "$flamegrid" control stop ranks.2 >out 2>err; done # a node may come after its rank began
same "and its two nodes" "$(grep -c '^yes ' out)" 2
"$flamegrid" control auto ranks.2 >out 2>err
for i in 1 2 3 4; do echo >&9; done
ends a 0
ends b 0
exact ranks truth.a.*
exact ranks.2 truth.b.*
for profile in ranks ranks.2; do
	same "$profile: ranks" "$(groups $profile rank)" "rank0 rank1"
	check "$profile: nothing lost" "$flamegrid" report $profile --strict -o /dev/null
done
for who in a b; do same "step $who: nobody complains" "$(grep -v 'nothing lost\|profiling ranks\|in use\|captured\|profiling cost\|still being written' err.$who.* | cut -d: -f2-)" ""; done
same "what is left" "$(ls "$XDG_RUNTIME_DIR" ./*.rendezvous 2>/dev/null | grep -v :)" ""
rm -f truth.*
for r in 0 1; do FAKE_CUDA_TRUTH=truth.c.$r rank c $r -o ranks -- $work --launches 300; done
ends c 0
exact ranks truth.c.*
contains "the third step says where the first is" err.c.0 "the earlier profile is now ranks.3"

# One whose profile is deleted in its middle: no agent is waited for (a minute), and what was deleted is said once.
step_held deleted deleted 100
rm -rf deleted
echo >&9; echo >&9
ends deleted 0
contains "deleted: said" err.deleted.0 "the profile was deleted or moved while it was written"
same "deleted: nothing else is said of it" "$(grep -c 'No such file\|Stale' err.deleted.0)" 0

# One without CUDA.
before=$(list_all ranks*)
for r in 0 1; do rank none $r -o ranks -- true; done
ends none 0
contains "a step without CUDA" err.none.0 "NOTHING WAS RECORDED: no process started CUDA (cuInit)"
contains "and what becomes of the profile" err.none.0 "; there is no profile of this run, and ranks is as it was"
for r in 0 1; do rank none $r -o deep/ranks -- true; done
ends none 0
same "a step without CUDA leaves no directory" "$(ls -d deep 2>/dev/null)" ""
same "nor another profile" "$(list_all ranks*)" "$before"

# Killed, all of it: the next removes its files.
await_keepers
step_held dead ranks 100
keepers=$(own_keepers)
same "its keepers" "$(echo "$keepers" | wc -l)" 4
commands=$(pgrep -P "${rank_pid[dead.0]},${rank_pid[dead.1]}")
kill -KILL $keepers ${rank_pid[dead.0]} ${rank_pid[dead.1]} $commands # keepers first: they would see the others go
wait ${rank_pid[dead.0]} ${rank_pid[dead.1]} 2>/dev/null
for pid in $keepers $commands; do timeout 60 tail --pid="$pid" -f /dev/null; done
same "killed: its directories of sockets are left" "$(ls "$XDG_RUNTIME_DIR" | wc -l)" 2
same "killed: its rendezvous is left" "$(ls ./*.rendezvous | wc -l)" 1
rm -f truth.*
for r in 0 1; do FAKE_CUDA_TRUTH=truth.e.$r rank e $r -o other -- $work --launches 300; done
ends e 0
exact other truth.e.*
await_keepers
same "the next has removed them" "$(ls "$XDG_RUNTIME_DIR" ./*.rendezvous 2>/dev/null | grep -v :)" ""

# ---- steps that nobody names: one at a time has the place
rm -f truth.*
step_held - unnamed 100
rendezvous=$(cat unnamed.rendezvous)
env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 "$flamegrid" run --node-name node0 --devices "$list" -o unnamed -- sh -c 'exit 6' >out 2>err
same "a step without a name: the job's status" $? 6
contains "it says why it has no profile" err "unnamed.rendezvous is another running job's"
same "the other's is as it was" "$(cat unnamed.rendezvous)" "$rendezvous"
same "and it has left nothing" "$(ls -d unnamed.2 2>/dev/null)" ""
echo >&9; echo >&9
ends - 0
exact unnamed truth.-.*
same "the first has its profile, and no rendezvous" "$(ls -d unnamed*)" unnamed
