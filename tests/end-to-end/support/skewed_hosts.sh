# A job of one communicator on four hosts whose clocks are seconds apart: time namespaces for CLOCK_MONOTONIC and CLOCK_BOOTTIME, libfaketime for
# CLOCK_REALTIME, which they do not have; in network namespaces, each with an agent, and an aggregator on a fifth that has the machine's clocks. Sourced
# after harness.sh, with subnet and tag set before.
# shellcheck shell=bash disable=SC2154
hosts="hub h0 h1 h2 h3"
. "$(dirname "$0")/../support/hosts.sh"
faketime=$(find /usr/lib -name libfaketime.so.1 | head -n 1)
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
# By host: whole seconds, as unshare takes them; ns.
planted_monotonic_s=(5 -5 2 0)
planted_realtime_ns=(-5000000000 5000000000 2500000000 0)
"$flamegrid" keygen "$scratch/keys" >"$scratch/out"

# skewed N COMMAND...: the command on host N, by its clocks, in place of the shell: in the background $! is the command.
skewed() {
	local host=$1 realtime_ns=${planted_realtime_ns[$1]}
	shift
	exec ip netns exec "$tag-h$host" unshare -T --monotonic "${planted_monotonic_s[$host]}" --boottime "${planted_monotonic_s[$host]}" \
		env LD_PRELOAD="$faketime" FAKETIME="$(awk -v ns="$realtime_ns" 'BEGIN { printf "%+.1f", ns / 1e9 }')" FAKETIME_DONT_FAKE_MONOTONIC=1 \
		FAKE_NCCL_CLOCK_AHEAD_NS="$realtime_ns" FAKE_CUDA_HOST_SEED=$((host + 1)) "$@"
}

start_aggregator() { # STORE OPTION...
	local store=$1
	shift
	rm -f "$scratch/ready"
	mkfifo "$scratch/ready"
	ip netns exec "$tag-hub" "$BUILD/bin/flamegrid-aggregator" --keys "$scratch/keys/aggregator.keys" --listen "tcp://$subnet.1:5599" \
		--store "$store" "$@" 2> >(tee -p "$scratch/ready" >"$scratch/aggregator.log") &
	aggregator=$!
	daemons="$daemons $!"
	grep -m1 -q 'listening on' "$scratch/ready"
}

start_agents() { # RANKS-A-HOST OPTION...
	local host here=$1
	shift
	agents=
	for host in 0 1 2 3; do
		FAKE_CUDA_HOST_SEED=$((host + 1)) FAKE_CUDA_DEVICES=$here "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.$host"
		rm -f "$scratch/ready.$host"
		mkfifo "$scratch/ready.$host"
		skewed $host "$BUILD/bin/flamegrid-agent" --keys "$scratch/keys/agent.keys" --connect "tcp://$subnet.1:5599" --socket "$scratch/agent.$host" \
			--node-name "h$host" --devices "$scratch/devices.$host" "$@" 2> >(tee -p "$scratch/ready.$host" >"$scratch/agent.$host.log") &
		agents="$agents $!"
		daemons="$daemons $!"
		grep -m1 -q 'listening on' "$scratch/ready.$host"
	done
}

# An agent's clocks are compared a few round trips after it is connected, which may be after its ranks' end where others have
# the processors.
mkfifo "$scratch/nothing"
until_compared() { # STORE: those of all hosts
	until [ "$("$flamegrid" report "$1" --clocks --format csv 2>/dev/null | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		/^h/ && $at["compared"] > 0 { hosts++ } END { printf "%.0f\n", hosts }')" = 4 ]; do
		read -r -t 0.1 _ <>"$scratch/nothing"
	done
}

ended() { # PID: adds to $status
	wait "$1"
	status="$status $?"
	rm -f "/dev/shm/faketime_shm_$1" "/dev/shm/sem.faketime_sem_$1" # libfaketime's, of programs that end without exit handlers
}

# job NAME RANKS "AGENT-OPTION..." "AGGREGATOR-OPTION..." RANKS-OPTION...: its profile is $scratch/NAME.db.
job() {
	local name=$1 here=$(($2 / 4)) host pid pids= status=
	start_aggregator "$scratch/$name.db" $4
	start_agents $here $3
	for host in 0 1 2 3; do
		skewed $host "$flamegrid" run --agent "$scratch/agent.$host" -- "$BUILD/tests/fake_ranks" --ranks "$2" --here $((host * here)):$here \
			--job "$name-$$" "${@:5}" >"$scratch/$name.out.$host" 2>"$scratch/$name.err.$host" &
		pids="$pids $!"
	done
	for pid in $pids; do ended "$pid"; done
	until_compared "$scratch/$name.db"
	for pid in $agents $aggregator; do
		kill -TERM "$pid"
		ended "$pid"
	done
	same "$name: what all ended with" "$status" " 0 0 0 0 0 0 0 0 0"
}
