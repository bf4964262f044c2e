#!/usr/bin/env bash
# The job's aggregator takes nothing for a while: each node says so while it lasts, and how it ended; the report does, too,
# and nothing is lost. Nodes are names. The aggregator is stopped;
# after some seconds of silence a link takes its connection for lost.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$scratch/spool"
node_devices 2 0 1
declare -A rank_pid
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"
mkfifo "$scratch/up" "$scratch/go"
exec 8<>"$scratch/up" 9<>"$scratch/go"

rank() { # WAY RANK: in the background, with two processes one after the other; it waits before each end.
	env PMIX_NAMESPACE="$1" OMPI_COMM_WORLD_RANK="$2" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 \
		FAKE_CUDA_HOST_SEED=$(($2 + 1)) FAKE_CUDA_DEVICES=2 "$flamegrid" run --aggregate "$1" --node-name "node$2" \
		--devices "$scratch/devices.$2" --spool "$scratch/spool" -o "$scratch/$1" -- sh -c "
		FAKE_CUDA_TRUTH=$scratch/truth.$2.begin $work --launches 500 >/dev/null; echo >>$scratch/up; read -r _ <$scratch/go
		FAKE_CUDA_TRUTH=$scratch/truth.$2 $work --launches 700; echo >>$scratch/up; read -r _ <$scratch/go" \
		>"$scratch/out.$2" 2>"$scratch/err.$2" &
	rank_pid[$2]=$!
}
both() { # COMMAND: once for each rank
	"$@"
	"$@"
}
come() { read -r _ <&8; }
go() { echo >&9; }
aggregator() {
	local pid

	for pid in $(own_keepers); do grep -qx flamegrid-job "/proc/$pid/comm" && echo "$pid"; done
}

for way in central node; do
	rm -f "$scratch"/truth.*
	rank $way 0
	rank $way 1
	both come
	until [ "$(total_ns "$scratch/$way" 2>/dev/null)" = "$(truth_sum valid_ns "$scratch"/truth.[01].begin)" ]; do nap; done
	pid=$(aggregator)
	kill -STOP "$pid"
	both go
	both come
	for r in 0 1; do
		until grep -Eq "aggregator at tcp://[0-9.:]+ is [0-9.]+ s behind since [0-9:]+: (it or the link is slower than this node|there is no connection to it); " "$scratch/err.$r"; do nap; done
		ok "$way: rank $r's node says it while it lasts"
	done
	kill -CONT "$pid"
	for r in 0 1; do
		until grep -Eq "aggregator at tcp://[0-9.:]+ has caught up: it was behind for [0-9.]+ s, and at most by [0-9.]+ s; nothing was lost" "$scratch/err.$r"; do nap; done
		ok "$way: and that it has caught up"
	done
	both go
	for r in 0 1; do
		wait "${rank_pid[$r]}"
		same "$way: rank $r's status" $? 0
	done
	await_keepers
	check "$way: nothing lost" "$flamegrid" report "$scratch/$way" --strict -o /dev/null
	same "$way: ns" "$(total_ns "$scratch/$way")" "$(truth_sum valid_ns "$scratch"/truth.[01] "$scratch"/truth.[01].begin)"
	same "$way: the report counts it for each node" "$(ledger "$scratch/$way" behind)" 2
	contains "$way: and says so" "$scratch/err.0" "noted: times that the aggregator was behind: 2 agents, node node"
	same "$way: each node says it once" "$(cat "$scratch"/err.[01] | grep -c " s behind since ")" 2
done
