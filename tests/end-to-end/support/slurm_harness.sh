# A Slurm of its own on this machine: munge, a controller, four nodes; sourced after harness.sh. Needs root, as slurmd does.
# Tests that say so take another number of nodes from FLAMEGRID_SLURM_NODES; above nine their ports may be another test's.
. "${BASH_SOURCE[0]%/*}/munge_harness.sh"
slurm=$scratch/slurm
slurm_nodes=4
slurm_pids=

# Waits for an event in a growing file, with what it is named after in case that the daemon dies.
slurm_await() { # FILE PATTERN PID
	timeout 60 tail -F -n +1 --pid="$3" "$1" 2>/dev/null | grep -m1 -q "$2"
}
slurm_end() {
	local pid
	# Those that serve steps are nobody's children, and go on trying to report to a controller that is gone.
	for pid in $(pgrep -x slurmstepd) $slurm_pids; do
		grep -qF "SLURM_CONF=$slurm" "/proc/$pid/environ" && kill -9 "$pid"
	done
	kill -9 $slurm_pids
	wait $slurm_pids 2>/dev/null
} 2>/dev/null

slurm_start() {
	local base node host
	take_ports
	base=$ports
	host=$(hostname)
	mkdir -p "$slurm/state" && chmod 755 "$scratch" "$slurm"
	munge_start "$slurm"
	slurm_pids="$slurm_pids $munged"

	cat >"$slurm/slurm.conf" <<-TEXT
		ClusterName=flamegrid
		SlurmctldHost=$host(127.0.0.1)
		SlurmctldPort=$base
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$slurm/munge.socket
		CredType=cred/munge
		StateSaveLocation=$slurm/state
		SlurmdSpoolDir=$slurm/spool.%n
		SlurmctldPidFile=$slurm/controller.pid
		SlurmdPidFile=$slurm/node.%n.pid
		SlurmctldLogFile=$slurm/controller.log
		SlurmdLogFile=$slurm/node.%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/linear
		SlurmdParameters=config_overrides
		MpiDefault=none
		ReturnToService=2
		KillWait=5
		SlurmdTimeout=60
		MailProg=/bin/true
		NodeName=n[1-$slurm_nodes] NodeAddr=127.0.0.1 NodeHostname=$host Port=[$((base + 1))-$((base + slurm_nodes))] CPUs=8 State=UNKNOWN
		PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=FORCE:8 State=UP
	TEXT
	printf '%s\n' "${slurm_lines:-}" >>"$slurm/slurm.conf" # a test's own
	export SLURM_CONF=$slurm/slurm.conf
	slurmctld -D -i >"$slurm/controller.out" 2>&1 &
	slurm_pids="$slurm_pids $!"
	slurm_await "$slurm/controller.log" 'Running as primary controller' $! || cat "$slurm/controller.log" "$slurm/controller.out"
	for node in $(seq -f n%.0f $slurm_nodes); do
		mkdir -p "$slurm/spool.$node"
		FLAMEGRID_TEST_NODE=$node slurmd -D -N $node >"$slurm/node.$node.out" 2>&1 &
		slurm_pids="$slurm_pids $!"
		slurm_await "$slurm/node.$node.log" 'slurmd started' $! || cat "$slurm/node.$node.log" "$slurm/node.$node.out"
	done
}

# What tests run on it, from $scratch: `rank.sh COMMAND` is a task on a node with two GPUs, with its truth in truth.RANK.
slurm_ranks() {
	local node

	export XDG_RUNTIME_DIR=$scratch/runtime
	mkdir -m 700 "$XDG_RUNTIME_DIR"
	for node in $(seq $slurm_nodes); do
		FAKE_CUDA_HOST_SEED=$node FAKE_CUDA_DEVICES=2 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.n$node"
	done
	cat >"$scratch/rank.sh" <<-'TEXT'
		export FAKE_CUDA_HOST_SEED=${SLURMD_NODENAME#n} FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=truth.$SLURM_PROCID
		exec "$@"
	TEXT
	cat >"$scratch/profiled.sh" <<-TEXT
		exec "\${FLAMEGRID:-$flamegrid}" run --devices "$scratch/devices.\$SLURMD_NODENAME" "\$@"
	TEXT
	work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"
	run="srun -N4 --ntasks-per-node=2"
}

# slurm_orphan WORD...: the status of eight tasks behind these words. In the middle Slurm's daemon of a node is killed; who serves the step goes on. up: a FIFO
# that descriptor 8 reads.
slurm_orphan() {
	local job r

	rm -f truth.*
	mkfifo go
	exec 9<>go
	$run "$@" sh rank.sh sh -c "$work --launches 300; echo >>up; read -r _ <go; FAKE_CUDA_TRUTH=\$FAKE_CUDA_TRUTH.2 exec $work --launches 100" >out 2>err &
	job=$!
	for r in 0 1 2 3 4 5 6 7; do read -r _ <&8; done
	check "the daemon of n4 is killed" kill -KILL "$(cat "$slurm/node.n4.pid")"
	for r in 0 1 2 3 4 5 6 7; do echo >&9; done
	wait $job
}
