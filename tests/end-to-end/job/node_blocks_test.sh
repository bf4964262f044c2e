#!/usr/bin/env bash
# Six nodes with blocks of two (--fan-in 2): each block has an aggregator on one of its nodes, and all write one profile. Whatever
# dies, what nodes recorded is there, and nothing counts twice. The environment is torchrun's; nodes are names.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$scratch/spool"
nodes="0 1 2 3 4 5"
for node in $nodes; do
	FAKE_CUDA_HOST_SEED=$((node + 1)) FAKE_CUDA_DEVICES=1 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.$node"
done
declare -A rank_pid
work="$fake_launches --streams 2 --threads 2 --kernels 3"
mkfifo "$scratch/up" "$scratch/go"
exec 8<>"$scratch/up" 9<>"$scratch/go"

# rank STEP NODE: in the background, with two processes one after the other.
rank() {
	local step=$1 r=$2
	local before="FAKE_CUDA_TRUTH=$scratch/truth.$r.begin $work --launches 300 >/dev/null"

	env TORCHELASTIC_RUN_ID="$step" MASTER_ADDR=node0 MASTER_PORT=1 RANK="$r" LOCAL_RANK=0 WORLD_SIZE=6 LOCAL_WORLD_SIZE=1 \
		GROUP_RANK="$r" GROUP_WORLD_SIZE=6 FAKE_CUDA_HOST_SEED=$((r + 1)) FAKE_CUDA_DEVICES=1 FAKE_CUDA_TRUTH="$scratch/truth.$r" \
		"$flamegrid" run --aggregate node --fan-in 2 --node-name "node$r" --devices "$scratch/devices.$r" \
		--spool "$scratch/spool" -o "$scratch/$step" -- \
		sh -c "$before; echo >>$scratch/up; read -r _ <$scratch/go; exec $work --launches 500" \
		>"$scratch/out.$r" 2>"$scratch/err.$r" &
	rank_pid[$r]=$!
}
begin() { # STEP
	local r

	for r in $nodes; do rank "$1" "$r"; done
	for r in $nodes; do read -r _ <&8; done
}
end() { # STEP NODE...: their ranks end
	local step=$1 r

	shift
	for r in "$@"; do echo >&9; done
	for r in "$@"; do
		wait "${rank_pid[$r]}"
		same "$step: rank $r's status" $? 0
	done
}
begun_ns() { truth_sum valid_ns "$scratch"/truth.?.begin; }
held_ns() { truth_sum valid_ns "$scratch"/truth.? "$scratch"/truth.?.begin; }
# What a report of the running job shows.
await_ns() { until [ "$(total_ns "$scratch/$1" 2>/dev/null)" = "$2" ]; do nap; done; }
# STEP NODE NAME: the process of ours with that name
process_of() {
	pgrep -x -f ".*run .*--node-name node$2 .*$scratch/$1 .*" | while read -r pid; do
		[ "$(cat "/proc/$pid/comm")" = "flamegrid-$3" ] && echo "$pid"
	done
}
# STEP NODE...: the one of these nodes that has an aggregator
holder() {
	local step=$1 r

	shift
	for r in "$@"; do [ -n "$(process_of "$step" "$r" job)" ] && echo "$r"; done
}
is_whole() { # STEP
	await_keepers # on a busy machine the reports go on alone
	check "$1: nothing lost" "$flamegrid" report "$scratch/$1" --strict -o /dev/null
	same "$1: ns" "$(total_ns "$scratch/$1")" "$(held_ns)"
	same "$1: hosts" "$(groups "$scratch/$1" host)" "node0 node1 node2 node3 node4 node5"
	same "$1: files" "$(files_of "$scratch/$1" "$scratch"/err.*)" "flame.html gpu.ns.folded profile.db"
	same "$1: no rendezvous and no claim stays" "$(ls "$scratch" | grep -c "^$1\.")" 0
	same "$1: nothing stays on the nodes" "$(ls "$scratch/spool")" ""
}

# ---- three aggregators, one profile, also while the job runs
begin whole
await_ns whole "$(begun_ns)"
same "aggregators" "$(for r in $nodes; do process_of whole "$r" job; done | wc -l)" 3
same "rank 0 has one" "$(holder whole 0 1)" 0
same "files of blocks" "$(ls "$scratch" | grep -c '^whole\..*-[12]\.rendezvous$')" 2
"$flamegrid" control stop "$scratch/whole" >"$scratch/out" 2>"$scratch/err"
same "control reaches all nodes" "$(grep -c '^yes' "$scratch/out")" 6
# The aggregator of a block is stopped: it is lost for a while, and not replaced, as it takes connections.
stopped=$(process_of whole "$(holder whole 4 5)" job)
check "a block's aggregator" kill -STOP "$stopped"
"$flamegrid" control stop "$scratch/whole" >"$scratch/out" 2>"$scratch/err"
same "control without it: status" $? 1
same "control without it: nodes" "$(grep -c '^yes' "$scratch/out")" 4
contains "control without it: says so" "$scratch/err" "1 of the job's 3 aggregators do not answer"
check "it goes on" kill -CONT "$stopped"
end whole $nodes
is_whole whole

# name_of STEP: what a step's files have in their names (job_step_hash).
name_of() {
	python3 -c 'import sys
name = 0xcbf29ce484222325
for byte in sys.argv[1].encode() + b"\xff":
	name = (name ^ byte) * 0x100000001b3 % 2**64
print(f"{name:016x}")' "$1.node0.1"
}

# ---- the aggregator of one block is killed, with all that would start it again: one of its nodes starts another. No node can
# start that of another block, because its name is taken: its nodes take the job's
taken=$scratch/headless.$(name_of headless)-2.rendezvous
mkdir "$taken"
begin headless
until [ -n "$(holder headless 2 3)" ]; do nap; done
lost=$(holder headless 2 3)
check "a block's aggregator, and its keeper" kill -KILL "$(process_of headless "$lost" keep)" "$(process_of headless "$lost" job)"
until grep -q "of this node's block cannot be reached any more: this node starts another" "$scratch"/err.[23]; do nap; done
until [ "$(cat "$scratch"/err.[45] | grep -c "this node sends its profile to the job's")" = 2 ]; do nap; done
ok "the nodes of the other block take the job's"
await_ns headless "$(begun_ns)"
check "the directory is still there" rmdir "$taken"
end headless $nodes
same "one node alone starts one" "$(cat "$scratch"/err.? | grep -c "this node starts another")" 1
is_whole headless

# ---- a node that has a block's aggregator dies as a whole: the other node of its block goes on, and what came of the dead one stays
begin dead
await_ns dead "$(begun_ns)"
lost=$(holder dead 2 3)
other=$((5 - lost))
kill -KILL "${rank_pid[$lost]}" $(pgrep -f ".*run .*--node-name node$lost .*$scratch/dead .*")
wait "${rank_pid[$lost]}" 2>/dev/null
until grep -q "this node starts another" "$scratch/err.$other"; do nap; done
echo >&9 # the dead rank's command reads, too
end dead 0 1 "$other" 4 5
for r in 0 1 $other 4 5; do
	rank_ns "$scratch/dead" "$r" >"$scratch/sum"
	same "dead: rank $r: ns" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.$r" "$scratch/truth.$r.begin")"
done
rank_ns "$scratch/dead" "$lost" >"$scratch/sum"
same "dead: ns of its first process" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.$lost.begin")"
"$flamegrid" report "$scratch/dead" --strict -o /dev/null 2>"$scratch/err"
same "dead: the profile is not whole" $? 3
contains "dead: and names the node" "$scratch/err" "node$lost (rank $lost)"
