#!/usr/bin/env bash
# Ranks that real launchers start: Open MPI and MPICH's Hydra. One profile each, exact; statuses are the launcher's business as ever.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
export FAKE_CUDA_DEVICES=2 XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
cd "$scratch" || exit 1
work="$fake_launches --devices 2 --streams 2 --threads 2 --launches 5000 --kernels 3"

# launcher NAME COMMAND...: four ranks, then four of which one fails.
launcher() {
	local name=$1
	shift
	"$@" -np 4 "$flamegrid" run --devices "$list" -o "$name" -- sh -c "FAKE_CUDA_TRUTH=truth.\$\$ exec $work" >"$name.out" 2>"$name.err"
	same "$name: status" $? 0
	for r in 0 1 2 3; do
		check "$name: rank $r is there" grep -q "^rank$r;" <("$flamegrid" report "$name" --by rank 2>/dev/null)
	done
	same "$name: ns" "$(total_ns "$name")" \
		"$(truth_sum valid_ns truth.*)"
	check "$name: nothing lost" "$flamegrid" report "$name" --strict -o /dev/null
	same "$name: one summary" "$(grep -c 'nothing lost' "$name.err")" 1
	rm -f truth.*

	"$@" -np 4 sh -c 'exit 7' >/dev/null 2>&1
	local plain=$?
	# All are there before one fails: a rank that is killed while it looks for its node's directory may leave an empty one.
	"$@" -np 4 "$flamegrid" run --devices "$list" -o "$name.7" -- sh -c ': >up.$$; until [ $(ls up.* | wc -l) = 4 ]; do :; done; exit 7' >/dev/null 2>"$name.err"
	same "$name: the status of ranks that fail" $? $plain
	rm -f up.*
	# Ranks that the launcher kills do not wait for their keepers.
	await_keepers
	same "$name: what is left on the node" "$(ls "$XDG_RUNTIME_DIR")" ""
	same "$name: what is left of the rendezvous" "$(ls | grep -c rendezvous)" 0
}
# Two jobs at once with one name, behind shells: each has its profile, wherever the launcher says which step it is, or all ranks are here.
at_once() { # NAME COMMAND...
	local name=$1 i pids=()
	shift
	mkfifo up go
	exec 8<>up 9<>go
	for i in 1 2; do
		"$@" -np 2 sh -c "\"$flamegrid\" run --devices \"$list\" -o once -- sh -c 'echo >>up; read -r _ <go; FAKE_CUDA_TRUTH=truth.$i.\$\$ exec $work'; exit \$?" >"$name.out.$i" 2>"$name.err.$i" &
		pids[i]=$!
		read -r _ <&8; read -r _ <&8
	done
	for i in 1 2 3 4; do echo >&9; done
	for i in 1 2; do wait ${pids[i]}; same "$name, at once: status $i" $? 0; done
	same "$name, at once: ns of the first" "$(total_ns once)" "$(truth_sum valid_ns truth.1.*)"
	same "$name, at once: ns of the second" "$(total_ns once.2)" "$(truth_sum valid_ns truth.2.*)"
	for i in once once.2; do same "$name, at once: ranks of $i" "$(groups $i rank)" "rank0 rank1"; done
	same "$name, at once: what is left of the rendezvous" "$(ls | grep -c rendezvous)" 0
	rm -rf once once.2 truth.* up go
}
# Three nodes, which are names here, in blocks of one: the launcher's ranks tell them apart.
blocks() { # NAME COMMAND...
	local name=$1
	shift
	"$@" -np 3 sh -c "OMPI_COMM_WORLD_LOCAL_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0 exec \"$flamegrid\" run --aggregate node --fan-in 1 \
		--node-name node\$OMPI_COMM_WORLD_RANK --devices \"$list\" --spool \"$scratch\" -o $name -- \
		sh -c 'until [ \$(ls $name.*-[12].rendezvous 2>/dev/null | wc -l) = 2 ]; do :; done
		FAKE_CUDA_TRUTH=truth.\$\$ exec $work'" >"$name.out" 2>"$name.err"
	same "$name: status" $? 0
	await_keepers
	same "$name: ns" "$(total_ns "$name")" "$(truth_sum valid_ns truth.*)"
	same "$name: hosts" "$(groups "$name" host)" "node0 node1 node2"
	check "$name: nothing lost" "$flamegrid" report "$name" --strict -o /dev/null
	rm -f truth.*
}
# Two runs of mpirun in a row within one job: the second profile does not touch the first. Merged they are two jobs, if the launcher
# names its runs.
in_a_row() { # NAME JOBS COMMAND...
	local name=$1 jobs=$2 i
	shift 2
	for i in 1 2; do
		"$@" -np 2 sh -c "SLURM_JOB_ID=4711 exec \"$flamegrid\" run --devices \"$list\" -- sh -c 'FAKE_CUDA_TRUTH=truth.$i.\$\$ exec $work'" >"$name.out" 2>"$name.err"
		same "$name, run $i of a job: status" $? 0
	done
	await_keepers
	same "$name, ns of the newest" "$(total_ns flamegrid-profile-4711)" "$(truth_sum valid_ns truth.2.*)"
	same "$name, ns of the one before" "$(total_ns flamegrid-profile-4711.2)" "$(truth_sum valid_ns truth.1.*)"
	check "$name, they are merged" "$flamegrid" merge flamegrid-profile-4711 flamegrid-profile-4711.2 -o both 2>/dev/null
	same "$name, ns of both" "$(total_ns both)" "$(truth_sum valid_ns truth.*)"
	same "$name, jobs" "$(groups both job | tr ' ' '\n' | grep -c 4711)" "$jobs"
	rm -rf flamegrid-profile-4711 flamegrid-profile-4711.2 both truth.*
}
# Two runs of mpirun that no scheduler started: merged they are two jobs, and not one with the sum for each rank.
without_a_job() { # NAME COMMAND...
	local name=$1 i
	shift
	for i in 1 2; do
		"$@" -np 2 "$flamegrid" run --devices "$list" -o "$name.$i" -- sh -c "FAKE_CUDA_TRUTH=truth.$i.\$\$ exec $work" >"$name.out" 2>"$name.err"
		same "$name, run $i without a job: status" $? 0
	done
	await_keepers
	check "$name, without a job: they are merged" "$flamegrid" merge "$name.1" "$name.2" -o both 2>/dev/null
	same "$name, without a job: ns of both" "$(total_ns both)" "$(truth_sum valid_ns truth.*)"
	same "$name, without a job: jobs" "$(groups both job | grep -o 'job [^ ]*' | wc -l)" 2
	check "$name, without a job: they have names" test "$(groups both job | grep -c '?')" = 0
	rm -rf "$name.1" "$name.2" both truth.*
}
# Hydra on several nodes: nothing names the step. Rank 0 says what that costs, and the profile is whole.
unnamed() { # NAME COMMAND...
	local name=$1
	shift
	"$@" -np 2 sh -c "MPI_LOCALNRANKS=1 exec \"$flamegrid\" run --devices \"$list\" -o $name -- sh -c 'FAKE_CUDA_TRUTH=truth.\$\$ exec $work'" \
		>"$name.out" 2>"$name.err"
	same "$name, several nodes: status" $? 0
	await_keepers
	same "$name, several nodes: one line says what is missing" "$(grep -c 'the launcher gives this job no name, and it has several nodes' "$name.err")" 1
	same "$name, several nodes: ns" "$(total_ns "$name")" "$(truth_sum valid_ns truth.*)"
	same "$name, several nodes: what is left of the rendezvous" "$(ls | grep -c rendezvous)" 0
	rm -rf "$name" truth.*
}
root=
[ "$(id -u)" = 0 ] && root=--allow-run-as-root
# Its own checks of where ranks may run are not what this is about.
launcher open-mpi mpirun.openmpi $root --oversubscribe
launcher mpich mpiexec.hydra
at_once open-mpi mpirun.openmpi $root --oversubscribe
at_once mpich mpiexec.hydra
blocks open-mpi-blocks mpirun.openmpi $root --oversubscribe
in_a_row open-mpi 2 mpirun.openmpi $root --oversubscribe
in_a_row mpich 1 mpiexec.hydra
unnamed mpich-unnamed mpiexec.hydra
same "with a name nothing is missing" "$(grep -l 'gives this job no name' open-mpi*.err mpich.err mpich.err.[12] | wc -l)" 0
without_a_job open-mpi mpirun.openmpi $root --oversubscribe
