#!/usr/bin/env bash
# Ranks of one step, each under its own `flamegrid run`: one agent a node, one aggregator, one profile; and whatever happens to
# any of them, the job's own result is what it would have been. The environment is that of a launcher; nodes are names.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
node_devices 2 0 1 2 3
declare -A rank_pid

# rank STEP RANK SIZE NODE OPTION... -- COMMAND...: in the background; rank_pid[RANK], out.RANK and err.RANK.
rank() {
	local step=$1 rank=$2 size=$3 node=$4
	shift 4
	env PMIX_NAMESPACE="$step" OMPI_COMM_WORLD_RANK="$rank" OMPI_COMM_WORLD_SIZE="$size" OMPI_COMM_WORLD_LOCAL_RANK=0 \
		FAKE_CUDA_HOST_SEED=$((node + 1)) FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH="$scratch/truth.$rank" \
		"$flamegrid" run --node-name "node$node" --devices "$scratch/devices.$node" -o "$scratch/$step" "$@" \
		>"$scratch/out.$rank" 2>"$scratch/err.$rank" &
	rank_pid[$rank]=$!
}
await() { # RANK STATUS
	wait "${rank_pid[$1]}"
	same "rank $1's status" $? "$2"
}
# The last one of a step on a node leaves nothing there, nor rank 0 of the job.
gone() {
	await_keepers
	same "$1: what is left on the nodes" "$(ls "$XDG_RUNTIME_DIR")" ""
	same "$1: what is left of the rendezvous" "$(rendezvous_of "$1")" ""
}
# Of the step in the profile of its name. Beside it, with the step in its name, as a number.
rendezvous_of() { ls "$scratch/$1".*.rendezvous 2>/dev/null; }
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"

# ---- eight ranks on four nodes
for r in 0 1 2 3 4 5 6 7; do
	rank whole $r 8 $((r / 2)) -- $work --launches $((1000 * (r + 1)))
done
for r in 0 1 2 3 4 5 6 7; do await $r 0; done
gone whole
same "agents that have come" "$(groups "$scratch/whole" host)" "node0 node1 node2 node3"
for r in 0 1 2 3 4 5 6 7; do
	rank_ns "$scratch/whole" $r >"$scratch/sum"
	same "rank $r: ns" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.$r")"
done
same "ns of all" "$(total_ns "$scratch/whole")" \
	"$(truth_sum valid_ns "$scratch"/truth.?)"
check "nothing lost" "$flamegrid" report "$scratch/whole" --strict -o /dev/null
went_well "rank 0 says how it went" "$scratch/err.0" "$scratch/whole"
same "the others say nothing" "$(cat "$scratch"/err.[1-7])" ""
check "reports are there" test -s "$scratch/whole/flame.html" -a -s "$scratch/whole/gpu.ns.folded"
same "who can read the profile's keys" "$(ls "$scratch/whole")" "$(printf 'flame.html\ngpu.ns.folded\nprofile.db')"

# ---- statuses, a rank without CUDA, one that is killed, one that is not found
rank odd 0 5 0 -- $work --launches 500
rank odd 1 5 0 -- sh -c 'exit 7'
rank odd 2 5 1 -- $work --launches 500
rank odd 3 5 1 -- sh -c 'kill -KILL $$'
rank odd 4 5 2 -- /nonexistent/program
await 0 0
await 1 7
await 2 0
await 3 137
await 4 127
gone odd
same "ns of the two that worked" "$(total_ns "$scratch/odd")" \
	"$(truth_sum valid_ns "$scratch/truth.0" "$scratch/truth.2")"

# pid_of STEP NODE NAME: of a keeper of ours.
pid_of() { pgrep -x -f ".*run --node-name node$2 .*$scratch/$1 .*" | while read -r pid; do [ "$(cat "/proc/$pid/comm")" = "flamegrid-$3" ] && echo "$pid"; done; }

# ---- a node without the aggregator's file system: it keeps a profile of its own, and says where
mkdir "$scratch/spool"
rank far 0 2 0 -- $work --launches 500
env FAKE_CUDA_TRUTH="$scratch/truth.1" PMIX_NAMESPACE=far OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_HOST_SEED=2 FAKE_CUDA_DEVICES=2 \
	"$flamegrid" run --node-name node1 --devices "$scratch/devices.1" --spool "$scratch/spool" -o "$scratch/elsewhere/far" -- \
	$work --launches 500 \
	>"$scratch/out.1" 2>"$scratch/err.1"
same "the rank that finds no aggregator" $? 0
contains "says so" "$scratch/err.1" "no aggregator of the job has been seen, as if rank 0 had not started: the profile of node node1 is in $scratch/spool/"
await 0 0
until [ -z "$(pid_of elsewhere/far 1 node)" ]; do nap; done # its rank does not wait for it any longer
check "its profile and the job's are merged" "$flamegrid" merge "$scratch/far" "$scratch"/spool/* -o "$scratch/near"
same "near: ns" "$(total_ns "$scratch/near")" "$(truth_sum valid_ns "$scratch"/truth.[01])"
rm -rf "$scratch/spool"
gone far

# A job that waits in its middle, so that something can be done to its keepers there.
hold() { printf '%s; echo >>%s; read -r _ <%s; exec %s' "$work --launches 500 >/dev/null" "$scratch/up" "$scratch/go" "$work --launches 700"; }
begin_held() { # STEP: two ranks, on two nodes
	mkfifo "$scratch/up" "$scratch/go"
	exec 8<>"$scratch/up" 9<>"$scratch/go"
	rank "$1" 0 2 0 -- sh -c "$(hold)"
	rank "$1" 1 2 1 -- sh -c "$(hold)"
	read -r _ <&8
	read -r _ <&8
}
end_held() {
	echo >&9
	echo >&9
	await 0 0
	await 1 0
	exec 8<&- 9<&-
	rm -f "$scratch/up" "$scratch/go"
}

# ---- the aggregator is killed in the middle: the job's result is its own, and what was stored is there
begin_held headless
keeper=$(pid_of headless 0 job)
check "its keeper, and who would start it again" kill -KILL "$(pid_of headless 0 keep)" "$keeper"
end_held
contains "rank 0 says so" "$scratch/err.0" "the aggregator was ended by somebody"
FAKE_CUDA_HOST_SEED=1 FAKE_CUDA_DEVICES=2 $work --launches 700 | grep -v '^ready' >"$scratch/out.plain"
for r in 0 1; do
	grep -v '^ready' "$scratch/out.$r" >"$scratch/out"
	same_lines "what rank $r says on its output" "$scratch/out" "$scratch/out.plain"
done

# ---- the agent of a node is killed in the middle
begin_held beheaded
until "$flamegrid" report "$scratch/beheaded" --by host 2>/dev/null | grep -q '^node1;'; do nap; done # its agent has been there
keeper=$(pid_of beheaded 1 node)
check "the agent of node1" kill -KILL "$keeper"
end_held
contains "its rank says so" "$scratch/err.1" "the agent of this node was ended by somebody: the last of what this rank"
contains "so does rank 0" "$scratch/err.0" "did not say goodbye"
await_keepers
check "the profile is there" test -s "$scratch/beheaded/flame.html"
check "with the other node" grep -q . <("$flamegrid" report "$scratch/beheaded" --by host 2>/dev/null | grep '^node0;')

# ---- all keepers are stopped, and nobody lets them go on: the ranks do, so that none holds the launcher up
begin_held stopped
until "$flamegrid" report "$scratch/stopped" --by host 2>/dev/null | grep -q '^node1;'; do nap; done
keepers=$(for who in "0 job" "0 keep" "0 node" "1 node"; do pid_of stopped $who; done)
same "keepers" "$(wc -w <<<"$keepers")" 4
check "they are stopped" kill -STOP $keepers
end_held
for pid in $keepers; do until ! kill -0 "$pid" 2>/dev/null; do nap; done; done
ok "they have ended"
check "the profile is there" test -s "$scratch/stopped/profile.db"
gone stopped

# ---- a stranger who knows where the aggregator is, and its public key
begin_held strange
rendezvous=$(rendezvous_of strange)
same "who can read the rendezvous" "$(stat -c %a "$rendezvous")" 600
same "and its copy in the profile" "$(stat -c %a "$scratch/strange/profile.open")" 600
"$flamegrid" keygen "$scratch/own-keys" >/dev/null
(umask 077; grep -h -e '^server-public' "$rendezvous" >"$scratch/mixed.keys"; grep '^client' "$scratch/own-keys/agent.keys" >>"$scratch/mixed.keys")
mkfifo "$scratch/stranger"
"$BUILD/bin/flamegrid-agent" --keys "$scratch/mixed.keys" --connect "$(awk '$1 == "endpoint" { print $2; exit }' "$rendezvous")" \
	--socket "$scratch/stranger.socket" 2> >(tee -p "$scratch/stranger" >/dev/null) &
stranger=$!
check "the stranger is told" grep -m1 -q 'the keys do not fit' "$scratch/stranger"
kill -KILL $stranger
wait $stranger 2>/dev/null
end_held
contains "rank 0 says so" "$scratch/err.0" "connections without this job's keys were turned away"
same "hosts" "$(groups "$scratch/strange" host)" "node0 node1"

# ---- another job's rendezvous in the place of ours stays
begin_held replaced
rendezvous=$(rendezvous_of replaced)
sed 's/^step .*/step other/; s/^server-public .*/server-public rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL\/@{H8]yf7/' "$rendezvous" >"$scratch/other"
chmod 600 "$scratch/other"
mv "$scratch/other" "$rendezvous"
end_held
contains "it is there" "$rendezvous" "step other"

# ---- somebody else has the rendezvous: the job runs, each node says so, and keeps its profile
for step in taken stale; do
	eval "$step=$(python3 -c 'import functools, sys
print("%s/%s.%016x.rendezvous" % (sys.argv[1], sys.argv[2], functools.reduce(
	lambda hash, byte: (hash ^ byte) * 0x100000001b3 & 2**64 - 1, sys.argv[2].encode() + b"\xff", 0xcbf29ce484222325)))' "$scratch" $step)"
done
mkdir "$taken"
for r in 0 1; do rank taken $r 2 $r --aggregate node --spool "$scratch" -- "$fake_launches" --launches 200; done
for r in 0 1; do
	await $r 0
	contains "rank $r says where its node's profile is" "$scratch/err.$r" "it stays there in $scratch/flamegrid-node-"
done
contains "rank 0 says by whom it is taken" "$scratch/err.0" "is taken by a directory of user $(id -u)"
check "they merge" "$flamegrid" merge "$scratch"/flamegrid-node-* -o "$scratch/kept"
same "hosts" "$(groups "$scratch/kept" host)" "node0 node1"

# ---- the file of an earlier attempt, whose port is another program's by now: the node waits for the newer file
mkfifo "$scratch/port" "$scratch/asked"
python3 -c 'import socket
squatter = socket.create_server(("127.0.0.1", 0))
print(squatter.getsockname()[1], file=open("'"$scratch/port"'", "w"), flush=True)
held = [squatter.accept()]
open("'"$scratch/asked"'", "w").close()
while True: held.append(squatter.accept())' &
squatter=$!
(umask 077; { echo "step stale"; echo "endpoint tcp://127.0.0.1:$(cat "$scratch/port")"; cat "$scratch/mixed.keys"; } >"$stale")
mkfifo "$scratch/release"
exec 5<>"$scratch/release"
waiting="\"$fake_launches\" --launches 200; read -r _ <\"$scratch/release\""
rank stale 1 2 1 -- sh -c "$waiting"
cat "$scratch/asked"
rank stale 0 2 0 -- sh -c "$waiting"
until [ "$(groups "$scratch/stale" host 2>/dev/null)" = "node0 node1" ]; do nap; done
printf '\n\n' >&5
await 1 0
await 0 0
exec 5<&-
kill $squatter
wait $squatter 2>/dev/null
same "hosts" "$(groups "$scratch/stale" host)" "node0 node1"

# ---- a node that does not join, where the launcher tells how many there are
env SLURM_JOB_ID=12 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2 SLURMD_NODENAME=node0 FAKE_CUDA_DEVICES=2 \
	"$flamegrid" run --devices "$scratch/devices.0" -o "$scratch/half" -- $work --launches 100 >"$scratch/out.0" 2>"$scratch/err.0"
same "rank 0's status without the other node" $? 0
contains "it says what is missing" "$scratch/err.0" "1 of 2 nodes did not join"

# ---- each rank its own
for r in 0 1; do rank 'own-%r' $r 2 0 -- $work --launches 100; done
await 0 0
await 1 0
await_keepers
for r in 0 1; do
	same "the profile of rank $r" "$("$flamegrid" report "$scratch/own-$r" --by rank 2>/dev/null | cut -d';' -f1 | sort -u)" "rank$r"
done
