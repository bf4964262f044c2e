#!/usr/bin/env bash
# Two faults meet at the end of a job: the disk of its profile stands still, and the agent of another node is stopped. The job
# waits for neither: its ranks end while the disk still stands, and nobody holds their error streams, for which a launcher waits.
# Once the disk works again, the profile becomes whole without anybody's help. Nodes are names.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$scratch/spool"
mkfifo "$scratch/up" "$scratch/go" "$scratch/free"
exec 7<>"$scratch/free" 8<>"$scratch/up" 9<>"$scratch/go"
gate=$scratch/gate
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"

# rank RANK VARIABLE...: on a node of its own; waits in its middle; its truth is truth.RANK.begin and .end. A line comes from
# `free` when nobody holds its error stream any more.
rank() {
	local rank=$1
	shift
	FAKE_CUDA_HOST_SEED=$((rank + 1)) FAKE_CUDA_DEVICES=2 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.$rank"
	env "$@" PMIX_NAMESPACE=prof OMPI_COMM_WORLD_RANK="$rank" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 \
		FAKE_CUDA_HOST_SEED=$((rank + 1)) FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH="$scratch/truth.$rank.end" \
		"$flamegrid" run --aggregate node --node-name "node$rank" --devices "$scratch/devices.$rank" --spool "$scratch/spool" \
		-o "$scratch/prof" -- sh -c "FAKE_CUDA_TRUTH=$scratch/truth.$rank.begin $work --launches 500 >/dev/null
		echo >>$scratch/up; read -r _ <$scratch/go; exec $work --launches 700" \
		>"$scratch/out.$rank" 2> >(cat >"$scratch/err.$rank"; echo free >&7) &
	rank_pid[rank]=$!
}
rank_pid=()
rank 0 LD_PRELOAD="$BUILD/lib/libgated_disk.so" GATED_DISK="$scratch/prof/" DISK_GATE="$gate"
rank 1
for r in 0 1; do read -r _ <&8; done
for pid in $(own_keepers); do
	[ "$(cat "/proc/$pid/comm")" != flamegrid-node ] || ! grep -qzFx FAKE_CUDA_HOST_SEED=2 "/proc/$pid/environ" || agent=$pid
done
check "the agent of node1 is stopped" kill -STOP "$agent"
mkfifo "$gate"
echo >&9
echo >&9
for r in 0 1; do
	wait "${rank_pid[$r]}"
	same "rank $r's status" $? 0
done
for r in 0 1; do read -r _ <&7; done
ok "nobody holds the error streams"
check "the disk still stands" [ -p "$gate" ]
check "the aggregator has not ended" [ -n "$(own_keepers)" ]
contains "rank 0 says that it goes on" "$scratch/err.0" "flamegrid report reads"

# ---- the disk works again
exec 6<>"$gate"
rm "$gate"
await_keepers
same "ns" "$(total_ns "$scratch/prof")" "$(cat "$scratch"/truth.* >"$scratch/truth" && truth_sum valid_ns "$scratch/truth")"
check "nothing lost" "$flamegrid" report "$scratch/prof" --strict -o /dev/null
same "nothing stays on the nodes" "$(ls "$scratch/spool"; ls "$XDG_RUNTIME_DIR")" ""
