#!/usr/bin/env bash
# Each node of a step keeps a profile of its own (--aggregate node): the job's profile is the one that all events at one place
# make, and whatever dies, what a node has recorded is there. The environment is that of a launcher; nodes are names.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$scratch/spool"
node_devices 2 0 1 2
declare -A rank_pid
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"

# rank STEP RANK SIZE NODE OPTION... -- COMMAND...: in the background; rank_pid[RANK], out.RANK and err.RANK.
rank() {
	local step=$1 rank=$2 size=$3 node=$4
	shift 4
	env PMIX_NAMESPACE="$step" OMPI_COMM_WORLD_RANK="$rank" OMPI_COMM_WORLD_SIZE="$size" OMPI_COMM_WORLD_LOCAL_RANK=0 \
		FAKE_CUDA_HOST_SEED=$((node + 1)) FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH="$scratch/truth.$rank" \
		"$flamegrid" run --node-name "node$node" --devices "$scratch/devices.$node" --spool "$scratch/spool" \
		-o "$scratch/$step" --title same "$@" >"$scratch/out.$rank" 2>"$scratch/err.$rank" &
	rank_pid[$rank]=$!
}
await() { # RANK STATUS
	wait "${rank_pid[$1]}"
	same "rank $1's status" $? "$2"
}
# PROFILE RANKS: its nanoseconds are those of these ranks.
is_whole() {
	local profile=$1 r
	shift
	for r in "$@"; do
		rank_ns "$profile" "$r" >"$scratch/sum"
		same "$profile, rank $r: ns" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.$r")"
	done
}
keeper_of() { # STEP NODE NAME: the process of ours with that name
	pgrep -x -f ".*run --node-name node$2 .*$scratch/$1 .*" | while read -r pid; do
		[ "$(cat "/proc/$pid/comm")" = "flamegrid-$3" ] && echo "$pid"
	done
}
# A job that waits in its middle, and whose two processes have a truth each.
hold() { # RANK
	printf 'FAKE_CUDA_TRUTH=%s %s >/dev/null; echo >>%s; read -r _ <%s; exec %s' "$scratch/truth.$1.begin" "$work --launches 500" \
		"$scratch/up" "$scratch/go" "$work --launches 700"
}
begin_held() { # STEP: two ranks, on two nodes
	mkfifo "$scratch/up" "$scratch/go"
	exec 8<>"$scratch/up" 9<>"$scratch/go"
	rank "$1" 0 2 0 --aggregate node -- sh -c "$(hold 0)"
	rank "$1" 1 2 1 --aggregate node -- sh -c "$(hold 1)"
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
# The aggregator of a step has put all into one profile, and waits for a reader of the pipe that it writes the reports to.
await_pipe() { until [ "$(cat "/proc/$(keeper_of "$1" 0 job)/wchan" 2>/dev/null)" = wait_for_partner ]; do nap; done; }
held_ns() { truth_sum valid_ns "$scratch"/truth.[01] "$scratch"/truth.[01].begin; }

# ---- six ranks on three nodes, folded on the nodes and at one place
for way in node central; do
	for r in 0 1 2 3 4 5; do
		rank $way $r 6 $((r / 2)) --aggregate $way -- $work --launches $((1000 * (r + 1)))
	done
	for r in 0 1 2 3 4 5; do await $r 0; done
	await_keepers
	is_whole "$scratch/$way" 0 1 2 3 4 5
	same "$way: hosts" "$(groups "$scratch/$way" host)" "node0 node1 node2"
	check "$way: nothing lost" "$flamegrid" report "$scratch/$way" --strict -o /dev/null
	same "$way: files" "$(files_of "$scratch/$way" "$scratch"/err.*)" "flame.html gpu.ns.folded profile.db"
	"$flamegrid" report "$scratch/$way" --by host,rank,gpu --format folded --unit ns -o "$scratch/$way.folded" 2>/dev/null
	"$flamegrid" report "$scratch/$way" --rows times --format csv -o "$scratch/$way.times" 2>/dev/null
done
same_lines "both ways give the same stacks and nanoseconds" "$scratch/node.folded" "$scratch/central.folded"
same_lines "both ways give the same percentiles" "$scratch/node.times" "$scratch/central.times"
went_well "rank 0 says how it went" "$scratch/err.0" "$scratch/central"
same "nothing stays on the nodes" "$(ls "$scratch/spool" "$XDG_RUNTIME_DIR")" "$(printf '%s:\n\n%s:' "$XDG_RUNTIME_DIR" "$scratch/spool")"

# ---- each node goes its own way, whatever rank 0's does: the aggregator takes both
for way in central node; do
	rank mixed-$way 0 2 0 --aggregate $way -- $work --launches 500
	rank mixed-$way 1 2 1 --aggregate $([ $way = node ] && echo central || echo node) -- $work --launches 700
	await 0 0
	await 1 0
	await_keepers
	is_whole "$scratch/mixed-$way" 0 1
	check "mixed-$way: nothing lost" "$flamegrid" report "$scratch/mixed-$way" --strict -o /dev/null
	same "mixed-$way: files" "$(files_of "$scratch/mixed-$way" "$scratch"/err.[01])" "flame.html gpu.ns.folded profile.db"
done

# ---- a node's rank has ended before rank 0 starts: the node waits for it alone, with a profile if the aggregator was to say which way
for way in node central auto; do
	rank early-$way 1 2 1 --aggregate $way -- $work --launches 300
	await 1 0
	contains "early-$way: its rank says so" "$scratch/err.1" "no aggregator of the job has been seen, as if rank 0 had not started: $(if [ $way = central ]; then echo "this node waits"; else echo "the profile of node node1 is in"; fi)"
	rank early-$way 0 2 0 --aggregate $way -- $work --launches 700
	await 0 0
	await_keepers
	is_whole "$scratch/early-$way" 0 1
	check "early-$way: nothing lost" "$flamegrid" report "$scratch/early-$way" --strict -o /dev/null
done
same "early: nothing stays on the nodes" "$(ls "$scratch/spool" "$XDG_RUNTIME_DIR")" "$(printf '%s:\n\n%s:' "$XDG_RUNTIME_DIR" "$scratch/spool")"

# ---- while it runs, a report shows what came; the aggregator is killed, and its successor has all
begin_held respawned
until "$flamegrid" report "$scratch/respawned" --by host 2>/dev/null | grep -q '^node1;'; do nap; done
"$flamegrid" report "$scratch/respawned" >/dev/null 2>"$scratch/err"
contains "a report says that it runs" "$scratch/err" "live: "
check "its aggregator" kill -KILL "$(keeper_of respawned 0 job)"
end_held
contains "rank 0 says so" "$scratch/err.0" "it is started again"
await_keepers
check "respawned: nothing lost" "$flamegrid" report "$scratch/respawned" --strict -o /dev/null
same "respawned: ns" "$(total_ns "$scratch/respawned")" "$(held_ns)"
same "nothing stays on the nodes" "$(ls "$scratch/spool")" ""

# ---- the reports cannot be written to their end: the job is not held up, and they are there later
begin_held slow
mkfifo "$scratch/slow/gpu.ns.folded" # whoever opens it for writing waits for a reader
end_held
contains "rank 0 says so" "$scratch/err.0" "the reports are still being written"
await_pipe slow
same "the profile is there: ns" "$(total_ns "$scratch/slow")" "$(held_ns)"
# ---- what a node leaves there meanwhile, because it waited two seconds in vain, comes into the profile, too
cp "$scratch/slow/profile.db" "$scratch/slow/profile.db.part-0123456789abcdef"
mkfifo "$scratch/slow/profile.db.part-pipe" # no file, so no part
mv "$scratch/slow/gpu.ns.folded" "$scratch/pipe" # the next file with that name is a file
exec 9<"$scratch/pipe"
until [ -z "$(keeper_of slow 0 job)" ]; do nap; done
exec 9<&-
same "slow: files" "$(files_of "$scratch/slow" "$scratch"/err.*)" "flame.html gpu.ns.folded profile.db profile.db.part-pipe"
same "slow: ns" "$(total_ns "$scratch/slow")" "$(held_ns)"

# ---- the process that writes them is killed: the next one writes them
begin_held torn
mkfifo "$scratch/torn/gpu.ns.folded"
end_held
await_pipe torn
rm "$scratch/torn/gpu.ns.folded"
check "the process that writes" kill -KILL "$(keeper_of torn 0 job)"
until [ -z "$(keeper_of torn 0 keep)" ]; do nap; done
check "torn: nothing lost" "$flamegrid" report "$scratch/torn" --strict -o /dev/null
same "torn: files" "$(files_of "$scratch/torn" "$scratch"/err.*)" "flame.html gpu.ns.folded profile.db"
same "torn: ns" "$(total_ns "$scratch/torn")" "$(held_ns)"

# ---- the aggregator is stopped at the end: the job does not wait for it, and lets it go on. It puts all into one file
begin_held stopped
job=$(keeper_of stopped 0 job)
check "its aggregator" kill -STOP "$job"
end_held
contains "rank 0 says so" "$scratch/err.0" "the aggregator does not answer"
until [ -z "$(keeper_of stopped 0 job)" ]; do nap; done
same "stopped: ns" "$(total_ns "$scratch/stopped")" "$(held_ns)"
same "stopped: files" "$(files_of "$scratch/stopped" "$scratch"/err.*)" "flame.html gpu.ns.folded profile.db"
check "stopped: nothing lost" "$flamegrid" report "$scratch/stopped" --strict -o /dev/null

# ---- the aggregator and who would start it again are killed: another node starts one
begin_held headless
check "its aggregator, and its keeper" kill -KILL "$(keeper_of headless 0 keep)" "$(keeper_of headless 0 job)"
until grep -q "this node starts another" "$scratch"/err.[01]; do nap; done
until "$flamegrid" report "$scratch/headless" --by host 2>"$scratch/err" >"$scratch/out" &&
	grep -q '^node0;' "$scratch/out" && grep -q '^node1;' "$scratch/out" && grep -qF "live: " "$scratch/err"; do nap; done
ok "a report says that it runs"
same "one node alone starts one" "$(cat "$scratch"/err.[01] | grep -c "this node starts another")" 1
end_held
cat "$scratch"/err.[01] >"$scratch/err"
went_well "its node says how it went" "$scratch/err" "$scratch/headless"
same "headless: ns" "$(total_ns "$scratch/headless")" "$(held_ns)"
same "headless: files" "$(files_of "$scratch/headless" "$scratch"/err.*)" "flame.html gpu.ns.folded profile.db"
same "no claim and no rendezvous stays" "$(ls "$scratch" | grep -c '^headless\.')" 0
same "nothing stays on the nodes" "$(ls "$scratch/spool")" ""

# ---- the launcher starts the step anew while the first attempt's nodes still run: neither takes the other for its own
begin_held attempt
mkfifo "$scratch/up.2" "$scratch/go.2"
exec 6<>"$scratch/up.2" 7<>"$scratch/go.2"
env PMIX_NAMESPACE=attempt OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_HOST_SEED=3 \
	FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH="$scratch/truth.2" "$flamegrid" run --node-name node2 --devices "$scratch/devices.2" \
	--spool "$scratch/spool" -o "$scratch/attempt" --aggregate node -- \
	sh -c "$work --launches 300; echo >>$scratch/up.2; read -r _ <$scratch/go.2" >/dev/null 2>"$scratch/err.2" &
rank_pid[2]=$!
read -r _ <&6
end_held
echo >&7
await 2 0
exec 6<&- 7<&-
went_well "the first attempt's reports are written" "$scratch/err.0" "$scratch/attempt"
says "and the second's, of one rank" "$scratch/err.2" "nothing lost, but 1 of 2 ranks of job attempt are not in this profile (1): "
contains "and its report, too" <("$flamegrid" report "$scratch/attempt.2" -f table 2>&1) "1 of 2 ranks of job attempt are not in this profile (1): "
same "the first attempt: hosts" "$(groups "$scratch/attempt" host)" "node0 node1"
same "the first attempt: ns" "$(total_ns "$scratch/attempt")" "$(held_ns)"
same "the second: ns" "$(total_ns "$scratch/attempt.2")" "$(truth_sum valid_ns "$scratch/truth.2")"

# ---- its aggregator is killed, and at the end no node has taken over yet: each puts its profile beside the job's
begin_held orphaned
check "its aggregator, and its keeper" kill -KILL "$(keeper_of orphaned 0 keep)" "$(keeper_of orphaned 0 job)"
end_held
await_keepers
for r in 0 1; do
	contains "rank $r says where its node's profile is" "$scratch/err.$r" "$scratch/orphaned/profile.db.part-"
done
check "orphaned: nothing lost" "$flamegrid" report "$scratch/orphaned" --strict -o /dev/null
same "orphaned: ns" "$(total_ns "$scratch/orphaned")" "$(held_ns)"
same "orphaned: parts" "$(ls "$scratch/orphaned" | grep -c 'profile\.db\.part-')" 2
same "nothing stays on the nodes" "$(ls "$scratch/spool")" ""
check "it merges with its parts" "$flamegrid" merge "$scratch/orphaned" "$scratch/headless" -o "$scratch/merged"

# ---- and where that place is gone: each keeps its profile
begin_held lost
check "its aggregator, and its keeper" kill -KILL "$(keeper_of lost 0 keep)" "$(keeper_of lost 0 job)"
mv "$scratch/lost" "$scratch/moved"
end_held
await_keepers
for r in 0 1; do
	contains "rank $r says where its node's profile is" "$scratch/err.$r" "flamegrid merge adds it"
done
check "they merge" "$flamegrid" merge "$scratch"/spool/flamegrid-node-* -o "$scratch/kept"
same "kept: ns" "$(total_ns "$scratch/kept")" "$(held_ns)"
check "kept: nothing lost" "$flamegrid" report "$scratch/kept" --strict -o /dev/null
check "also with what the aggregator had" "$flamegrid" merge "$scratch"/spool/flamegrid-node-* "$scratch/moved" -o "$scratch/again"
same "kept again: ns" "$(total_ns "$scratch/again")" "$(held_ns)"
rm -r "$scratch"/spool/flamegrid-node-*

# ---- the agent of a node is killed, with all that runs beside it: its profile is on the node
begin_held beheaded
until [ "$(rank_ns "$scratch/beheaded" 1 2>/dev/null)" = "$(truth_sum valid_ns "$scratch/truth.1.begin")" ]; do nap; done
check "the agent of node1" kill -KILL "$(keeper_of beheaded 1 node)"
end_held
await_keepers
contains "rank 0 says so" "$scratch/err.0" "did not say goodbye"
check "what the node has merges" "$flamegrid" merge "$scratch"/spool/flamegrid-node-* "$scratch/beheaded" -o "$scratch/both"
same "both: node1's first process" "$(rank_ns "$scratch/both" 1)" "$(truth_sum valid_ns "$scratch/truth.1.begin")"
same "both: node0" "$(rank_ns "$scratch/both" 0)" "$(truth_sum valid_ns "$scratch/truth.0" "$scratch/truth.0.begin")"
rm -r "$scratch"/spool/flamegrid-node-*

# ---- a node without a place for a profile sends its events
rank spoolless 0 2 0 --aggregate node -- $work --launches 500
rank spoolless 1 2 1 --aggregate node --spool /nonexistent/spool -- $work --launches 500
await 0 0
await 1 0
await_keepers
contains "its rank says so" "$scratch/err.1" "/nonexistent/spool: no place for a profile of this node"
contains "and what it does" "$scratch/err.1" "this node keeps no profile, and sends its events"
is_whole "$scratch/spoolless" 0 1
