#!/usr/bin/env bash
# The node with the aggregator of a step is cut off: another node starts one, and the profile of the job is whole.
# Nodes are network namespaces with one file system. Needs root.
. "$(dirname "$0")/../support/harness.sh"
tag=fl subnet=10.213.79 hosts="zero one two"
. "$(dirname "$0")/../support/hosts.sh"
mkdir -m 700 "$scratch/spool"
node_devices 2 0 1 2
declare -A rank_pid
names=(zero one two)
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"
mkfifo "$scratch/up" "$scratch/go"
exec 8<>"$scratch/up" 9<>"$scratch/go"

# rank STEP RANK: in the background, with two processes one after the other.
rank() {
	local step=$1 r=$2
	local before="FAKE_CUDA_TRUTH=$scratch/truth.$2.begin $work --launches 500 >/dev/null"

	mkdir -p -m 700 "$scratch/runtime.$r"
	XDG_RUNTIME_DIR=$scratch/runtime.$r PMIX_NAMESPACE="$step" OMPI_COMM_WORLD_RANK="$r" OMPI_COMM_WORLD_SIZE=3 \
		OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_HOST_SEED=$((r + 1)) FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH="$scratch/truth.$r" \
		ip netns exec "$tag-${names[$r]}" "$flamegrid" run --aggregate node --node-name "${names[$r]}" \
		--devices "$scratch/devices.$r" --spool "$scratch/spool" -o "$scratch/$step" -- sh -c \
		"$before; echo >>$scratch/up; read -r _ <$scratch/go; exec $work --launches 700" \
		>"$scratch/out.$r" 2>"$scratch/err.$r" &
	rank_pid[$r]=$!
	daemons="$daemons $!"
}
begin() { # STEP
	local r

	for r in 0 1 2; do rank "$1" $r; done
	for r in 0 1 2; do read -r _ <&8; done
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
hosts_seen() { "$flamegrid" report "$scratch/$1" --by host 2>/dev/null | sed 's/;.*//' | sort -u | paste -sd' '; }
say() { cat "$scratch"/err.[012]; }

# ---- it comes back, stops, and its node goes on with the other aggregator
begin cut
until [ "$(hosts_seen cut)" = "one two zero" ]; do nap; done
check "the first node is cut off" ip link set "${tag}v1" down
until grep -q "this node starts another" "$scratch"/err.[12]; do nap; done
ok "another node starts one"
check "the first node is back" ip link set "${tag}v1" up
until grep -q "has taken this aggregator for lost" "$scratch/err.0"; do nap; done
ok "the first aggregator stops"
# Its node has come to the other one, whose file of nodes has the node's name.
until grep -qa zero "$scratch"/cut/profile.db.part-*.nodes; do nap; done
end cut 0 1 2
same "one node alone has started one" "$(say | grep -c "this node starts another")" 1
check "nothing is lost" "$flamegrid" report "$scratch/cut" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/cut")" "$(truth_sum valid_ns "$scratch"/truth.[012] "$scratch"/truth.[012].begin)"
same "files" "$(files_of "$scratch/cut" "$scratch"/err.*)" "flame.html gpu.ns.folded profile.db"
same "no rank misses anything" "$(say | grep -c "may be missing")" 0
same "what is left" "$(ls "$scratch/spool"; ls "$scratch" | grep '^cut\.')" ""

# ---- another node is cut off, and takes the aggregator for lost: those that it cannot reach take over from it
begin far
until [ "$(hosts_seen far)" = "one two zero" ]; do nap; done
check "the last node is cut off" ip link set "${tag}v3" down
until grep -q "this node starts another" "$scratch/err.2"; do nap; done
until grep -q "this node starts another" "$scratch"/err.[01]; do nap; done
ok "it starts one, and one of the others does after it"
check "the last node is back" ip link set "${tag}v3" up
until grep -q "has taken this aggregator for lost" "$scratch/err.2"; do nap; done
end far 0 1 2
check "nothing is lost" "$flamegrid" report "$scratch/far" --strict -o /dev/null
same "ns" "$(total_ns "$scratch/far")" "$(truth_sum valid_ns "$scratch"/truth.[012] "$scratch"/truth.[012].begin)"
same "what is left" "$(ls "$scratch/spool"; ls "$scratch" | grep '^far\.')" ""

# ---- it dies while it is cut off: all of the others is there, and what came of it before
begin dead
until [ "$(hosts_seen dead)" = "one two zero" ]; do nap; done
check "the first node is cut off" ip link set "${tag}v1" down
check "and dies" kill -KILL $(ip netns pids "$tag-zero")
wait "${rank_pid[0]}" 2>/dev/null
# What the others sent to a new aggregator.
until ls "$scratch"/dead/profile.db.part-*.nodes >"$scratch/out" 2>&1; do nap; done
end dead 1 2
for r in 1 2; do
	rank_ns "$scratch/dead" $r >"$scratch/sum"
	same "rank $r: ns" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.$r" "$scratch/truth.$r.begin")"
done
rank_ns "$scratch/dead" 0 >"$scratch/sum"
same "rank 0: ns of its first process" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.0.begin")"
"$flamegrid" report "$scratch/dead" --strict -o /dev/null 2>"$scratch/err"
same "the profile is not whole" $? 3
contains "and names the node" "$scratch/err" "zero (rank 0)"
same "files" "$(files_of "$scratch/dead" "$scratch"/err.*)" "flame.html gpu.ns.folded profile.db"
