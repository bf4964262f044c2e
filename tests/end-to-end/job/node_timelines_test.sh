#!/usr/bin/env bash
# Nodes that fold their own profiles keep their timelines, too: the job's has each event of each node, to the nanosecond, as if
# all events had come to one place. Whatever dies, the events are where messages say. Nodes are names.
if [ -z "${OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then exec env OWN_MOUNTS=1 unshare --mount bash "$0"; fi
. "$(dirname "$0")/../support/harness.sh"
readers=$(cd "$(dirname "$0")/../readers" && pwd)
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$scratch/spool"
node_devices 2 0 1 2
declare -A rank_pid
mkfifo "$scratch/nothing"
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"

# rank STEP RANK SIZE NODE OPTION... -- COMMAND...: in the background; rank_pid[RANK], err.RANK, records.RANK.
rank() {
	local step=$1 r=$2 size=$3 node=$4
	shift 4
	rm -f "$scratch/records.$r"
	env TORCHELASTIC_RUN_ID="$step" MASTER_ADDR=node0 MASTER_PORT=1 RANK="$r" LOCAL_RANK=$((r % 2)) WORLD_SIZE="$size" \
		LOCAL_WORLD_SIZE=2 GROUP_RANK="$node" GROUP_WORLD_SIZE=$((size / 2)) FAKE_CUDA_HOST_SEED=$((node + 1)) FAKE_CUDA_DEVICES=2 \
		FAKE_CUDA_RECORDS="$scratch/records.$r" "$flamegrid" run --timeline all --node-name "node$node" \
		--devices "$scratch/devices.$node" --spool "$scratch/spool" -o "$scratch/$step" "$@" >/dev/null 2>"$scratch/err.$r" &
	rank_pid[$r]=$!
}
# until_compared STEP NODES: until the nodes' clocks were compared; then ends the job that waits for that.
until_compared() {
	until [ "$("$flamegrid" report "$scratch/$1" --clocks --format csv 2>/dev/null | awk -F, '$2 > 0 { n++ } END { print n - 1 }')" = "$2" ]; do
		read -r -t 0.05 _ <>"$scratch/nothing"
	done
	touch "$scratch/compared.$1"
}
await() { # RANK...
	local r

	for r in "$@"; do
		wait "${rank_pid[$r]}"
		same "rank $r's status" $? 0
	done
}
show() { # STATUS PROFILE OPTION...
	local status=$1
	shift
	"$flamegrid" timeline "$@" -o "$scratch/t.perfetto" 2>"$scratch/err"
	same "${*##*/}: status" $? "$status"
}
nr_work() { sed -n 's/.* and \([0-9]*\) pieces* of GPU work of .*/\1/p' "$scratch/err"; }
nr_records() { cat "$@" | wc -l; }
# is_exact PROFILE RANK...: the events of each rank are those that the fake CUDA delivered, and each has its launch.
is_exact() {
	local profile=$1 r
	shift
	for r in "$@"; do
		show 0 "$profile" --ranks "$r"
		cp "$scratch/records.$r" "$scratch/records"
		python3 "$readers/read_perfetto.py" "$scratch/t.perfetto" "$scratch/records" >"$scratch/out" 2>&1 || tail -n 3 "$scratch/out"
		contains "${profile##*/}, rank $r: each event is the truth's" "$scratch/out" exact
		same "${profile##*/}, rank $r: flows" "$(awk '$1 == "flows" { print $2 }' "$scratch/out")" "$(nr_records "$scratch/records.$r")"
	done
	show 0 "$profile"
	same "${profile##*/}: all work, once" "$(nr_work)" "$(nr_records "${@/#/$scratch/records.}")"
}
keeper_of() { # STEP NODE NAME: the process of ours with that name
	pgrep -x -f ".*run .*--node-name node$2 .*$scratch/$1 .*" | while read -r pid; do
		[ "$(cat "/proc/$pid/comm")" = "flamegrid-$3" ] && echo "$pid"
	done
}
is_clean() { # STEP: nothing is left of its parts, nor on the nodes
	same "$1: files" "$(files_of "$scratch/$1" "$scratch"/err.*)" "flame.html gpu.ns.folded profile.db profile.db.timeline"
	same "$1: nothing stays on the nodes" "$(ls "$scratch/spool")" ""
}
# Two ranks on two nodes, which wait before they end.
begin_held() { # STEP
	local r

	mkfifo "$scratch/up" "$scratch/go"
	exec 8<>"$scratch/up" 9<>"$scratch/go"
	for r in 0 2; do
		rank "$1" $r 4 $((r / 2)) --aggregate node -- sh -c "$work --launches 700; echo >>$scratch/up; read -r _ <$scratch/go"
	done
	read -r _ <&8
	read -r _ <&8
}
end_held() {
	echo >&9
	echo >&9
	await 0 2
	exec 8<&- 9<&-
	rm -f "$scratch/up" "$scratch/go"
}

# ---- six ranks on three nodes: folded on the nodes, on nodes with an aggregator for each, and at one place
for way in node blocks central; do
	case $way in blocks) options="--aggregate node --fan-in 1" ;; *) options="--aggregate $way" ;; esac
	for r in 0 1 2 3 4 5; do
		rank $way $r 6 $((r / 2)) $options -- bash -c "$work --launches $((500 * (r + 1)))
			until [ -e $scratch/compared.$way ]; do read -r -t 0.05 _ <>$scratch/nothing; done; true"
	done
	until_compared $way 3
	await 0 1 2 3 4 5
	await_keepers
	is_exact "$scratch/$way" 0 1 2 3 4 5
	is_clean $way
	contains "$way: their clocks" "$scratch/err" "3 hosts on one clock, give or take"
	cat "$scratch"/records.? | wc -l >"$scratch/nr.$way"
done
same "all ways have as many events" "$(sort -u "$scratch"/nr.* | wc -l)" 1

# ---- while it runs, each node's events are on the node, which is said
begin_held running
until [ "$(groups "$scratch/running" host 2>/dev/null)" = "node0 node1" ]; do nap; done
show 4 "$scratch/running"
check "running: each brings its own" grep -qE "each of these nodes brings its timeline when its ranks have ended: node(0, node1|1, node0)" "$scratch/err"
contains "running: where it is now" "$scratch/err" "Until then a node's is in its directory, flamegrid-node-"
contains "running: why nothing is shown" "$scratch/err" "has no timeline so far"
"$flamegrid" timeline --kernels "$scratch/running" >"$scratch/kernels" 2>"$scratch/err"
same "running: sums: status" $? 4
contains "running: why there are no sums" "$scratch/err" "has no timeline so far"

# ---- the aggregator, and what would start it again, is killed: both nodes leave a part, and each part has its timeline
check "its aggregator, and its keeper" kill -KILL "$(keeper_of running 0 keep)" "$(keeper_of running 0 job)"
end_held
await_keepers
check "there are parts" [ -n "$(find "$scratch/running" -name 'profile.db.part-*' -type f)" ]
is_exact "$scratch/running" 0 2
check "they merge with another profile" "$flamegrid" merge "$scratch/running" "$scratch/node" -o "$scratch/merged"
show 0 "$scratch/merged"
same "merged: all work of both" "$(nr_work)" $(($(nr_records "$scratch"/records.[02]) + $(cat "$scratch/nr.node")))
same "nothing stays on the nodes" "$(ls "$scratch/spool")" ""

# ---- the agent of a node is killed, with all that runs beside it: its timeline is on the node
begin_held beheaded
until [ "$(rank_ns "$scratch/beheaded" 2 2>/dev/null)" -gt 0 ] 2>/dev/null; do nap; done
check "the agent of node1" kill -KILL "$(keeper_of beheaded 1 node)"
end_held
await_keepers
show 3 "$scratch/beheaded"
contains "beheaded: whose is missing" "$scratch/err" "the timelines of these nodes are missing: node1. "
same "beheaded: the other's is there" "$(nr_work)" "$(nr_records "$scratch/records.0")"
show 3 "$scratch/beheaded" --ranks 0
check "what the node has merges" "$flamegrid" merge "$scratch/beheaded" "$scratch"/spool/flamegrid-node-* -o "$scratch/both"
# a killed node is told of by the report, too
show 3 "$scratch/both"
check "both: more than the one's" [ "$(nr_work)" -gt "$(nr_records "$scratch/records.0")" ]
rm -r "$scratch"/spool/flamegrid-node-*

# ---- the disk of the job stands still while a node copies its timeline: no rank waits for that, and all is there later
mkfifo "$scratch/gate"
LD_PRELOAD=$BUILD/lib/libgated_disk.so GATED_DISK=$scratch/gated/profile.db.new- DISK_GATE=$scratch/gate \
	rank gated 2 4 1 --aggregate node -- $work --launches 700
rank gated 0 4 0 --aggregate node -- $work --launches 700
await 0 2
contains "gated: said" "$scratch/err.2" "the profile of this node goes on alone to the job's"
exec 7>"$scratch/gate" # each of its files passes while this is open
await_keepers
exec 7>&-
is_exact "$scratch/gated" 0 2
is_clean gated

# ---- each node drops its oldest events, and they are counted
for r in 0 2; do rank bounded $r 4 $((r / 2)) --aggregate node --timeline 50ms -- $work --launches 200000; done
await 0 2
await_keepers
show 0 "$scratch/bounded"
dropped=$(sed -n 's/.* \([0-9]*\) older event[s]* w[aser]* dropped .*/\1/p' "$scratch/err")
check "events were dropped" [ "${dropped:-0}" -gt 0 ]
launches=$(sed -n 's/.* \([0-9]*\) launches and .*/\1/p' "$scratch/err")
same "they are counted: kept and dropped" $((launches + $(nr_work) + dropped)) $((2 * $(nr_records "$scratch"/records.[02])))

# ---- the disk of the job's profile has no room for it: it stays on the node, and merges. With little more room the parts stay
mkdir "$scratch/small"
if [ -n "${OWN_MOUNTS:-}" ] && mount -t tmpfs -o size=2m,mode=700 none "$scratch/small"; then
	at_end() { umount "$scratch/small"; }
	rank small/full 0 2 0 --aggregate node -- $work --launches 500000
	await 0
	await_keepers
	contains "full: said" "$scratch/err.0" " events, could not be written beside the job's (No space left on device): it stays there in "
	show 4 "$scratch/small/full"
	contains "full: whose is missing" "$scratch/err" "the timelines of these nodes are missing: node0. "
	check "it merges" "$flamegrid" merge "$scratch/small/full" "$scratch"/spool/flamegrid-node-* -o "$scratch/roomy"
	show 0 "$scratch/roomy"
	same "roomy: all work" "$(nr_work)" "$(nr_records "$scratch/records.0")"
	rm -r "$scratch"/small/full "$scratch"/spool/flamegrid-node-*
	# Parts take 2.3 MB, and as much again while they become one. The rest takes 0.7 MB, and a journal.
	mount -o remount,size=4m "$scratch/small"
	rank small/parts 0 2 0 --aggregate node -- $work --launches 300000
	await 0
	await_keepers
	check "parts: said" grep -qE "No space left on device|disk is full" "$scratch/err.0"
	is_exact "$scratch/small/parts" 0
	same "nothing stays on the node" "$(ls "$scratch/spool")" ""
else
	ok "no mounts here: a full disk is left out"
fi
