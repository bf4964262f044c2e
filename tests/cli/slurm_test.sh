#!/usr/bin/env bash
# A real Slurm, with four nodes on this machine: eight ranks, one profile; and what users do to jobs. Needs root.
. "$(dirname "$0")/harness.sh"
. "$(dirname "$0")/slurm_harness.sh"
at_end() { slurm_end; }
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
for node in 1 2 3 4; do
	FAKE_CUDA_HOST_SEED=$node FAKE_CUDA_DEVICES=2 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.n$node"
done
slurm_start
cd "$scratch" || exit 1
same "nodes that are up" "$(sinfo -h -o %D -t idle)" 4

# What each rank does: a GPU pair a node, and the truth beside.
cat >rank.sh <<'TEXT'
export FAKE_CUDA_HOST_SEED=${SLURMD_NODENAME#n} FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=truth.$SLURM_PROCID
exec "$@"
TEXT
cat >profiled.sh <<'TEXT'
exec "$FLAMEGRID" run --devices "$PWD/devices.$SLURMD_NODENAME" "$@"
TEXT
export FLAMEGRID=$flamegrid
work="$fake_launches --devices 2 --streams 2 --threads 2 --kernels 3"
run="srun -N4 --ntasks-per-node=2"

$run sh profiled.sh -o prof -- sh rank.sh $work --launches 2000 >out 2>err
same "srun's status" $? 0
for r in 0 1 2 3 4 5 6 7; do
	same "rank $r: ns" "$("$flamegrid" report prof --by rank --unit ns 2>/dev/null | grep "^rank$r;" | awk '{ s += $NF } END { printf "%d\n", s }')" \
		"$(truth_sum valid_ns truth.$r)"
done
same "hosts" "$("$flamegrid" report prof --by host 2>/dev/null | cut -d';' -f1 | sort -u | tr '\n' ' ')" "n1 n2 n3 n4 "
same "GPUs" "$("$flamegrid" report prof --by host,gpu 2>/dev/null | cut -d';' -f1,2 | sort -u | wc -l)" 8
check "nothing lost" "$flamegrid" report prof --strict -o /dev/null
contains "one summary" err "nothing lost; prof/"
same "what is left on the nodes" "$(ls "$XDG_RUNTIME_DIR")" ""

# ---- a name by the job's number
$run sh profiled.sh -q -- sh rank.sh $work --launches 10 >out 2>err
same "without a name" $? 0
check "the profile is named after the job" test -s "flamegrid-profile-$(squeue -h -t all -o %i | head -1)/flame.html" -o -n "$(ls -d flamegrid-profile-[0-9]*)"

# ---- one rank ends with 7: srun says so with and without us
rm -f truth.*
$run sh -c 'test $SLURM_PROCID != 5 || exit 7' >out 2>err
plain=$?
$run sh profiled.sh -q -o seven -- sh -c 'test $SLURM_PROCID != 5 || exit 7; exec sh rank.sh '"$work --launches 300" >out 2>err
same "one rank ends with 7" $? $plain
same "ns of the others" "$("$flamegrid" report seven --unit ns 2>/dev/null | awk '{ s += $NF } END { printf "%d\n", s }')" "$(truth_sum valid_ns truth.*)"

# ---- scancel in the middle: what was recorded is there
rm -f truth.*
mkfifo up
$run -J cancelled sh profiled.sh -o cancelled -- sh rank.sh sh -c "$work --launches 300; echo >>up; exec tail -f /dev/null" >out 2>err &
job=$!
exec 8<>up
for r in 0 1 2 3 4 5 6 7; do read -r _ <&8; done
scancel --name=cancelled
wait $job
same "srun of a job that is cancelled" $? 143
same "ns of all ranks until then" "$("$flamegrid" report cancelled --unit ns 2>/dev/null | awk '{ s += $NF } END { printf "%d\n", s }')" \
	"$(truth_sum valid_ns truth.*)"
