#!/usr/bin/env bash
# The profile of a step of two nodes lies on a file system of several hosts: each node folds its own events, on its own disk,
# unless --aggregate central says otherwise. Nodes are names, and statfs() of a folder says NFS.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime SHARED_DISK=$scratch/shared
mkdir -m 700 "$XDG_RUNTIME_DIR" "$scratch/spool" "$scratch/shared" "$scratch/own"
list=$(devices 2)
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"
mkfifo "$scratch/up" "$scratch/go"
exec 8<>"$scratch/up" 9<>"$scratch/go"
declare -A rank_pid

# begin PROFILE OPTION...: two ranks, which wait before they end.
begin() {
	local profile=$1 r
	shift
	for r in 0 1; do
		env LD_PRELOAD="$BUILD/lib/libshared_disk.so" PMIX_NAMESPACE="${profile##*/}" OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 \
			OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH="$scratch/truth.$r" \
			"$flamegrid" run --timeline all --node-name "node$r" --devices "$list" --spool "$scratch/spool" -o "$profile" "$@" -- \
			sh -c "$work --launches $((500 * (r + 1))); echo >>$scratch/up; read -r _ <$scratch/go" >/dev/null 2>"$scratch/err.$r" &
		rank_pid[$r]=$!
	done
	read -r _ <&8
	read -r _ <&8
}
end() { # PROFILE
	local r

	echo >&9
	echo >&9
	for r in 0 1; do
		wait "${rank_pid[$r]}"
		same "${1##*/}: rank $r's status" $? 0
	done
	await_keepers
	same "${1##*/}: ns" "$(total_ns "$1")" "$(truth_sum valid_ns "$scratch"/truth.[01])"
	check "${1##*/}: nothing lost" "$flamegrid" report "$1" --strict -o /dev/null
	same "${1##*/}: files" "$(files_of "$1" "$scratch"/err.[01])" "flame.html gpu.ns.folded profile.db profile.db.timeline"
	"$flamegrid" timeline "$1" -o "$scratch/t.perfetto" 2>"$scratch/err"
	same "${1##*/}: timeline" $? 0
	contains "${1##*/}: all of its events" "$scratch/err" "3000 launches and 3000 pieces of GPU work of 2 processes, 3000 flows"
	same "${1##*/}: nothing stays on the nodes" "$(ls "$scratch/spool")" ""
}
nr_folding() { find "$scratch/spool" -name 'flamegrid-node-*' | wc -l; }

# ---- by default, and as it was chosen
begin "$scratch/shared/auto"
same "auto: both nodes fold" "$(nr_folding)" 2
until [ "$(groups "$scratch/shared/auto" host 2>/dev/null)" = "node0 node1" ]; do nap; done
ok "a report of the running job shows both nodes"
end "$scratch/shared/auto"
begin "$scratch/shared/central" --aggregate central
same "central: no node folds" "$(nr_folding)" 0
end "$scratch/shared/central"
begin "$scratch/own/auto" --aggregate auto
same "on a disk of this host: no node folds" "$(nr_folding)" 0
end "$scratch/own/auto"
