#!/usr/bin/env bash
# What the kernel sees of several ranks: one agent watches what each `flamegrid run` of its node starts. Needs root and BPF.
. "$(dirname "$0")/../support/harness.sh"
own_build
list=$(devices 2)
export FAKE_CUDA_DEVICES=2 XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
cd "$scratch" || exit 1
mpi="mpirun.openmpi --allow-run-as-root --oversubscribe -np 3"

# Its status is 7, as the victim's own.
$mpi "$flamegrid" run --devices "$list" -o threads --cpu-hz 499 --off-cpu 1ms -- "$BUILD/tests/bpf_victim" all 60000000 >out 2>err
same "the ranks' status" $? 7
for r in 0 1 2; do
	"$flamegrid" report threads --planes cpu,offcpu --by rank --unit ns >stacks 2>/dev/null
	check "rank $r on the CPU" grep -q "^rank$r;.*victim_spin.*\[CPU\]" stacks
	check "rank $r asleep" grep -q "^rank$r;.*victim_sleep.*\[Off-CPU\]sleep" stacks
done

$mpi "$flamegrid" run --devices "$list" -o calls --host-calls on -- "$fake_launches" --launches 200000 >out 2>err
same "the status of ranks whose calls are timed" $? 0
for r in 0 1 2; do
	check "rank $r's calls" grep -q "^rank$r;.*\[GPU_Launch\]" <("$flamegrid" report calls --planes calls --by rank 2>/dev/null)
done
same "what is left on the node" "$(ls "$XDG_RUNTIME_DIR")" ""
