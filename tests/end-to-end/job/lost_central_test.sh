#!/usr/bin/env bash
# All events of a step go to one aggregator, whose node is cut off, or dies: another node goes on with its store, and
# nothing of the nodes that live is lost. Nodes are network namespaces with one file system. Needs root.
. "$(dirname "$0")/../support/harness.sh"
tag=fc subnet=10.213.83 hosts="zero one two"
. "$(dirname "$0")/../support/hosts.sh"
node_devices 2 0 1 2
declare -A rank_pid
names=(zero one two)
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"
mkfifo "$scratch/up" "$scratch/go"
exec 8<>"$scratch/up" 9<>"$scratch/go"

# rank STEP RANK: in the background, with two processes one after the other; the second one is $then.
then="$work --launches 700"
rank() {
	local step=$1 r=$2
	local before="FAKE_CUDA_TRUTH=$scratch/truth.$2.begin $work --launches 500 >/dev/null"

	mkdir -p -m 700 "$scratch/runtime.$r"
	XDG_RUNTIME_DIR=$scratch/runtime.$r PMIX_NAMESPACE="$step" OMPI_COMM_WORLD_RANK="$r" OMPI_COMM_WORLD_SIZE=3 \
		OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_HOST_SEED=$((r + 1)) FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH="$scratch/truth.$r" \
		ip netns exec "$tag-${names[$r]}" "$flamegrid" run --aggregate central --node-name "${names[$r]}" \
		--devices "$scratch/devices.$r" -o "$scratch/$step" -- sh -c \
		"$before; echo >>$scratch/up; read -r _ <$scratch/go; exec $then" \
		>"$scratch/out.$r" 2>"$scratch/err.$r" &
	rank_pid[$r]=$!
	daemons="$daemons $!"
}
begin() { # STEP: until all that has been launched so far is stored
	local r

	rm -f "$scratch"/truth.*
	ip link set "${tag}v1" up
	for r in 0 1 2; do rank "$1" $r; done
	for r in 0 1 2; do read -r _ <&8; done
	until [ "$(total_ns "$scratch/$1" 2>"$scratch/err")" = "$(truth_sum valid_ns "$scratch"/truth.[012].begin)" ]; do nap; done
}
end() { # STEP RANK...: these end
	local step=$1 r

	shift
	for r in "$@"; do echo >&9; done
	for r in "$@"; do
		wait "${rank_pid[$r]}"
		same "$step: rank $r's status" $? 0
	done
}
# port STEP: where its aggregator listens.
port() { sed -n 's/.*tcp:.*:\([0-9]*\)$/\1/p' "$scratch/$1".*.rendezvous | head -n 1; }
# await_other STEP NAME ADDRESS: until this node's agent has a connection to another one's aggregator.
await_other() {
	until [ -n "$(ip netns exec "$tag-$2" ss -Htn state established "dport = :$(port "$1") and not dst $subnet.$3")" ]; do nap; done
}
# await_successor STEP PORT: until the agents of all nodes have a connection to an aggregator that listens on another port.
await_successor() {
	local now name

	until now=$(port "$1") && [ -n "$now" ] && [ "$now" != "$2" ]; do nap; done
	for name in "${names[@]}"; do
		until [ -n "$(ip netns exec "$tag-$name" ss -Htn state established "dport = :$now")" ]; do nap; done
	done
}
# dies NAME: a shell that is killed while it waits could still take what is meant for another one, so all must be gone.
dies() {
	check "and dies" kill -KILL $(ip netns pids "$tag-$1" | sort -rn)
	wait "${rank_pid[0]}" 2>/dev/null
	until [ -z "$(ip netns pids "$tag-$1")" ]; do nap; done
}
# kill_aggregator: with what would start it again, on whichever node it is.
kill_aggregator() {
	local name host

	for name in keep job; do
		for host in "${names[@]}"; do
			ip netns pids "$tag-$host" | xargs -I{} sh -c "grep -qx flamegrid-$name /proc/{}/comm 2>/dev/null && kill -KILL {}"
		done
	done
}
# Until the profile is whole: where agents are missed, ranks do not wait for that.
await_reports() { until [ "$(files_of "$scratch/$1" "$scratch"/err.*)" = "flame.html gpu.ns.folded profile.db" ]; do nap; done; }
say() { cat "$scratch"/err.[012]; }

# ---- the first node comes back: its aggregator has stopped, and its agent goes on with the other one
begin cut
check "the first node is cut off" ip link set "${tag}v1" down
until grep -q "this node starts another" "$scratch"/err.[12]; do nap; done
ok "another node starts one"
until grep -q "has taken this aggregator for lost" "$scratch/err.0"; do nap; done
ok "the first aggregator stops"
check "the first node is back" ip link set "${tag}v1" up
await_other cut zero 1
end cut 0 1 2
await_reports cut
same "one node alone has started one" "$(say | grep -c "this node starts another")" 1
check "nothing is lost" "$flamegrid" report "$scratch/cut" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/cut")" "$(truth_sum valid_ns "$scratch"/truth.[012] "$scratch"/truth.[012].begin)"
same "no rank misses anything" "$(say | grep -c "may be missing")" 0
same "what is left" "$(ls "$scratch" | grep '^cut\.')" ""

# ---- another node is cut off, and takes over a store that the others write: those take it back
begin far
check "the last node is cut off" ip link set "${tag}v3" down
until grep -q "this node starts another" "$scratch/err.2"; do nap; done
until grep -q "this node starts another" "$scratch"/err.[01]; do nap; done
ok "it starts one, and one of the others does after it"
until grep -q "has taken this aggregator for lost" "$scratch/err.2"; do nap; done
check "the last node is back" ip link set "${tag}v3" up
await_other far two 3
end far 0 1 2
await_reports far
check "nothing is lost" "$flamegrid" report "$scratch/far" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/far")" "$(truth_sum valid_ns "$scratch"/truth.[012] "$scratch"/truth.[012].begin)"
same "what is left" "$(ls "$scratch" | grep '^far\.')" ""

# ---- it dies, its agent first, which so says no goodbye: all of the others is there, and what came of it before
begin dead
check "the first node is cut off" ip link set "${tag}v1" down
dies zero
until grep -q "this node starts another" "$scratch"/err.[12]; do nap; done
end dead 1 2
await_reports dead
for r in 1 2; do
	rank_ns "$scratch/dead" $r >"$scratch/sum"
	same "rank $r: ns" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.$r" "$scratch/truth.$r.begin")"
done
rank_ns "$scratch/dead" 0 >"$scratch/sum"
same "rank 0: ns of its first process" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.0.begin")"
"$flamegrid" report "$scratch/dead" --strict -o /dev/null 2>"$scratch/err"
same "the profile is not whole" $? 3
contains "and names the node" "$scratch/err" "zero (rank 0)"

# ---- it dies as the others end: their agents wait alone until one of them goes on
begin late
check "the first node is cut off" ip link set "${tag}v1" down
dies zero
end late 1 2
same "both ranks end before an aggregator has confirmed what they recorded" "$(grep -l "the aggregator has not confirmed it" "$scratch"/err.[12] | wc -l)" 2
await_reports late
for r in 1 2; do
	rank_ns "$scratch/late" $r >"$scratch/sum"
	same "rank $r: ns" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.$r" "$scratch/truth.$r.begin")"
done

# ---- the aggregator is killed with all that would start it again, and its node lives
begin killed
lost=$(port killed)
kill_aggregator
await_successor killed "$lost"
same "one node has started one" "$(say | grep -c "this node starts another")" 1
end killed 0 1 2
await_reports killed
contains "rank 0 says so" "$scratch/err.0" "the aggregator was ended by somebody: another node goes on"
check "nothing is lost" "$flamegrid" report "$scratch/killed" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/killed")" "$(truth_sum valid_ns "$scratch"/truth.[012] "$scratch"/truth.[012].begin)"
same "what is left" "$(ls "$scratch" | grep '^killed\.')" ""

# ---- the same more often than there are nodes: each may start one again
begin often
for round in 1 2 3 4; do
	lost=$(port often)
	kill_aggregator
	await_successor often "$lost"
done
ok "each aggregator that was killed has a successor"
end often 0 1 2
await_reports often
check "nothing is lost" "$flamegrid" report "$scratch/often" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/often")" "$(truth_sum valid_ns "$scratch"/truth.[012] "$scratch"/truth.[012].begin)"
same "what is left" "$(ls "$scratch" | grep '^often\.')" ""

# ---- the same as all ranks end: their nodes ask for a successor, and go on alone meanwhile
begin ended
kill_aggregator
end ended 0 1 2
await_reports ended
check "nothing is lost" "$flamegrid" report "$scratch/ended" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/ended")" "$(truth_sum valid_ns "$scratch"/truth.[012] "$scratch"/truth.[012].begin)"
same "what is left" "$(ls "$scratch" | grep '^ended\.')" ""

# ---- a node is cut off as all ranks end: it goes on with the store alone, for which the aggregator waits
begin alone
check "the last node is cut off" ip link set "${tag}v3" down
end alone 0 1 2
await_reports alone
check "it comes back later" ip link set "${tag}v3" up
check "nothing is lost" "$flamegrid" report "$scratch/alone" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/alone")" "$(truth_sum valid_ns "$scratch"/truth.[012] "$scratch"/truth.[012].begin)"
same "what is left" "$(ls "$scratch" | grep '^alone\.')" ""

# taken PORT: another program on the first node that takes this port as soon as it is free, and takes connections
taken() {
	ip netns exec "$tag-zero" python3 -c '
import socket, sys
print("tries", flush=True)
while True:
    taker = socket.socket()
    taker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taker.bind(("0.0.0.0", int(sys.argv[1])))
    except OSError:
        continue
    taker.listen(64)
    break
print("taken", flush=True)
kept = []
while True:
    kept.append(taker.accept())' "$1" >"$scratch/taken" 2>&1 &
	daemons="$daemons $!"
	taker=$!
	until grep -q tries "$scratch/taken"; do nap; done
}

# ---- its port is another program's by then: that hides nothing
begin port
lost=$(port port)
taken "$lost"
kill_aggregator
until grep -q taken "$scratch/taken"; do nap; done
await_successor port "$lost"
kill "$taker"
end port 0 1 2
await_reports port
check "nothing is lost" "$flamegrid" report "$scratch/port" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/port")" "$(truth_sum valid_ns "$scratch"/truth.[012] "$scratch"/truth.[012].begin)"

# ---- what would start it again lives, and cannot have the port: it takes another one
begin moved
lost=$(port moved)
taken "$lost"
aggregator=$(ip netns pids "$tag-zero" | xargs -I{} sh -c "grep -qx flamegrid-job /proc/{}/comm && echo {}")
# It is stopped until the port is taken: on a busy machine it would be first.
starter=$(awk '/^PPid:/ { print $2 }' "/proc/$aggregator/status")
kill -STOP "$starter"
kill -KILL "$aggregator"
until grep -q taken "$scratch/taken"; do nap; done
kill -CONT "$starter"
await_successor moved "$lost"
kill "$taker"
contains "it says so" "$scratch/err.0" "is another program's by now: it takes another one"
same "no other node has started one" "$(say | grep -c "this node starts another")" 0
end moved 0 1 2
await_reports moved
check "nothing is lost" "$flamegrid" report "$scratch/moved" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/moved")" "$(truth_sum valid_ns "$scratch"/truth.[012] "$scratch"/truth.[012].begin)"
same "what is left" "$(ls "$scratch" | grep '^moved\.')" ""

# ---- it is killed as ranks end that have no more to tell than their goodbyes
then=true
begin goodbye
kill_aggregator
end goodbye 0 1 2
await_reports goodbye
check "nothing is lost" "$flamegrid" report "$scratch/goodbye" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/goodbye")" "$(truth_sum valid_ns "$scratch"/truth.[012].begin)"
same "what is left" "$(ls "$scratch" | grep '^goodbye\.')" ""
