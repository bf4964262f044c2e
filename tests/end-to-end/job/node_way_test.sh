#!/usr/bin/env bash
# The aggregator's WELCOME says which nodes of a step send their events, and which fold them. The launcher does not tell how many
# nodes there are. Both ways are in one profile, and whatever becomes of the aggregator, a node keeps its way and loses nothing.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$scratch/spool"
node_devices 2 0
declare -A rank_pid
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"
mkfifo "$scratch/up" "$scratch/go"
exec 8<>"$scratch/up" 9<>"$scratch/go"

# rank STEP RANK [SPOOL]: a node of its own, in the background, with two processes one after the other.
rank() {
	local step=$1 r=$2

	PMIX_NAMESPACE="$step" OMPI_COMM_WORLD_RANK="$r" OMPI_COMM_WORLD_SIZE=34 OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_DEVICES=2 \
		FAKE_CUDA_HOST_SEED=$((r + 1)) "$flamegrid" run --node-name "node$r" --devices "$scratch/devices.0" --spool "${3:-$scratch/spool}" \
		--symbol-cache off -o "$scratch/$step" -- sh -c \
		"FAKE_CUDA_TRUTH=$scratch/truth.$r.begin $work --launches 100 >/dev/null
		echo >>$scratch/up; read -r _ <$scratch/go; FAKE_CUDA_TRUTH=$scratch/truth.$r exec $work --launches 200" \
		>"$scratch/out.$r" 2>"$scratch/err.$r" &
	rank_pid[$r]=$!
}
begin() { # STEP RANK...: their first processes have ended
	local step=$1 r

	shift
	rm -f "$scratch"/truth.*
	for r in "$@"; do rank "$step" "$r"; done
	for r in "$@"; do read -r _ <&8; done
}
end() { # STEP RANK...: nothing of these is lost, and nothing stays on the nodes
	local step=$1 r

	shift
	for r in "$@"; do echo >&9; done
	for r in "$@"; do
		wait "${rank_pid[$r]}"
		[ $? = 0 ] || not_ok "$step: rank $r's status"
	done
	await_keepers
	check "$step: nothing lost" "$flamegrid" report "$scratch/$step" --strict -o /dev/null
	same "$step: ns" "$(total_ns "$scratch/$step")" "$(truth_sum valid_ns "$scratch"/truth.*)"
	same "$step: hosts" "$(groups "$scratch/$step" host | wc -w)" $#
	same "$step: nothing stays on the nodes" "$(ls "$scratch/spool")" ""
}
folding() { ls "$scratch/spool" | wc -l; }
keeper() { # STEP RANK NAME: the process of ours with that name
	pgrep -x -f ".*run --node-name node$2 .*$scratch/$1 .*" | while read -r pid; do
		[ "$(cat "/proc/$pid/comm")" = "flamegrid-$3" ] && echo "$pid"
	done
}

# ---- two nodes more than an aggregator takes the events of; another node goes on with its store and its nodes' profiles
begin many $(seq 0 33)
until [ "$(folding)" -ge 2 ]; do nap; done
until "$flamegrid" report "$scratch/many" --by host 2>/dev/null | cut -d';' -f1 | sort -u | wc -l | grep -qx 34; do nap; done
ok "a report has all nodes while they run"
same "nodes that fold" "$(folding)" 2
check "its aggregator is killed" kill -KILL "$(keeper many 0 keep)" "$(keeper many 0 job)"
until grep -q "this node starts another" "$scratch"/err.*; do nap; done
end many $(seq 0 33)

# ---- the aggregator does not answer nodes that come: a node folds, and one without a place for its profile sends
begin silent 0
check "the aggregator is stopped" kill -STOP "$(keeper silent 0 job)"
rank silent 1
rank silent 2 "$scratch/nowhere"
read -r _ <&8; read -r _ <&8
until [ "$(folding)" = 1 ] && grep -q "this node keeps no profile, and sends its events" "$scratch/err.2"; do nap; done
check "it goes on" kill -CONT "$(keeper silent 0 job)"
end silent 0 1 2
