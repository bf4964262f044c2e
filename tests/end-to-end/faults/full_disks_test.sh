#!/usr/bin/env bash
# Disks that are full while ranks run: that of the job's profile when another node takes over, and that of a node's own
# profile. Nothing is lost that has room in the end, and what is lost is counted. Nodes are names. Needs root.
if [ -z "${OWN_MOUNTS:-}" ]; then exec env OWN_MOUNTS=1 unshare --mount bash "$0"; fi
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$scratch/spool" "$scratch/small" "$scratch/job"
for disk in small job; do mount -t tmpfs -o size=8m,mode=700 none "$scratch/$disk" || exit 1; done
at_end() { umount "$scratch/small" "$scratch/job"; }
node_devices 2 0 1
declare -A rank_pid
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"
mkfifo "$scratch/up" "$scratch/go"
exec 8<>"$scratch/up" 9<>"$scratch/go"

fill() { dd if=/dev/zero of="$scratch/$1/fill" bs=4k 2>/dev/null || :; }
# rank PATH RANK SPOOL OPTION...: in the background, with two processes one after the other. It waits before each end.
rank() {
	local path=$1 r=$2 spool=$3
	local before="FAKE_CUDA_TRUTH=$scratch/truth.$2.begin $work --launches 500 >/dev/null"

	shift 3
	env PMIX_NAMESPACE="${path##*/}" OMPI_COMM_WORLD_RANK="$r" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 \
		FAKE_CUDA_HOST_SEED=$((r + 1)) FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH="$scratch/truth.$r" \
		"$flamegrid" run "$@" --node-name "node$r" --devices "$scratch/devices.$r" --spool "$spool" -o "$path" -- \
		sh -c "$before; echo >>$scratch/up; read -r _ <$scratch/go; $work --launches 700; echo >>$scratch/up; read -r _ <$scratch/go" \
		>"$scratch/out.$r" 2>"$scratch/err.$r" &
	rank_pid[$r]=$!
}
# begin PATH SPOOL-OF-NODE-1 OPTION...: until all that has been launched so far is in reports
begin() {
	local path=$1 spool=$2
	shift 2
	rm -f "$scratch"/truth.*
	rank "$path" 0 "$scratch/spool" "$@"
	rank "$path" 1 "$spool" "$@"
	read -r _ <&8
	read -r _ <&8
	until [ "$(total_ns "$path" 2>/dev/null)" = "$(truth_sum valid_ns "$scratch"/truth.[01].begin)" ]; do nap; done
}
# go_on: until the second processes have ended.
go_on() {
	echo >&9
	echo >&9
	read -r _ <&8
	read -r _ <&8
}
end() { # PATH
	local r

	echo >&9
	echo >&9
	for r in 0 1; do
		wait "${rank_pid[$r]}"
		same "${1##*/}: rank $r's status" $? 0
	done
	await_keepers
}
is_whole() { # PATH
	same "${1##*/}: ns" "$(total_ns "$1")" "$(truth_sum valid_ns "$scratch"/truth.[01] "$scratch"/truth.[01].begin)"
	check "${1##*/}: nothing lost" "$flamegrid" report "$1" --strict -o /dev/null
	same "${1##*/}: files" "$(files_of "$1" "$scratch"/err.[01])" "flame.html gpu.ns.folded profile.db"
}
# port PATH: where its aggregator listens.
port() { sed -n 's/.*tcp:.*:\([0-9]*\)$/\1/p' "$1".*.rendezvous 2>/dev/null | head -n 1; }
# Ends the aggregator with what would start it again.
kill_aggregator() {
	local pid

	for pid in $(own_keepers); do
		case $(cat "/proc/$pid/comm") in flamegrid-keep | flamegrid-job) kill -KILL "$pid" ;; esac
	done
}

# ---- the disk of the job's profile is full when a node takes over: it says so, and does it when there is room
for way in central node; do
	begin "$scratch/job/$way" "$scratch/spool" --aggregate $way
	lost=$(port "$scratch/job/$way")
	fill job
	kill_aggregator
	until grep -q "could start no aggregator, because the disk of $scratch/job/$way is full: it tries again when there is room" "$scratch"/err.[01]; do nap; done
	ok "$way: a node says that its successor has no room"
	rm "$scratch/job/fill"
	until now=$(port "$scratch/job/$way") && [ -n "$now" ] && [ "$now" != "$lost" ]; do nap; done
	ok "$way: it starts when there is room"
	go_on
	end "$scratch/job/$way"
	is_whole "$scratch/job/$way"
	rm -rf "${scratch:?}/job/$way"
done

# ---- the disk of a node's own profile is full for a while
begin "$scratch/freed" "$scratch/small" --aggregate node
fill small
go_on
until grep -q "cannot write the profile: No space left on device" "$scratch/err.1"; do nap; done
ok "the node says so"
rm "$scratch/small/fill"
end "$scratch/freed"
is_whole "$scratch/freed"

# ---- and until the end: what came before is there, and the rest is counted
begin "$scratch/full" "$scratch/small" --aggregate node
fill small
go_on
end "$scratch/full"
contains "the node says so" "$scratch/err.1" "the profile of node node1 could not be written to the end (No space left on device: a full disk, or --max-size): at least 1400 launches and 1400 GPU records of this node are not in it"
rank_ns "$scratch/full" 0 >"$scratch/sum"
same "rank 0: ns" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.0" "$scratch/truth.0.begin")"
rank_ns "$scratch/full" 1 >"$scratch/sum"
same "rank 1: ns of its first process" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.1.begin")"
"$flamegrid" report "$scratch/full" --strict -o /dev/null 2>"$scratch/err"
same "the profile is not whole" $? 3
contains "and names the node" "$scratch/err" "node1 (rank 1)"
rm -rf "$scratch"/small/*

# ---- and from the beginning: the node sends its events
fill small
begin "$scratch/none" "$scratch/small" --aggregate node
contains "the node says so" "$scratch/err.1" "this node keeps no profile, and sends its events"
go_on
end "$scratch/none"
is_whole "$scratch/none"
