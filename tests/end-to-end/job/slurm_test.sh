#!/usr/bin/env bash
# A real Slurm, with four nodes on this machine: eight ranks, one profile; and what users do to jobs. Needs root.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/slurm_harness.sh"
at_end() { slurm_end; }
slurm_ranks
slurm_start
cd "$scratch" || exit 1
same "nodes that are up" "$(sinfo -h -o %D -t idle)" 4

$run sh profiled.sh -o prof -- sh rank.sh $work --launches 2000 >out 2>err
same "srun's status" $? 0
for r in 0 1 2 3 4 5 6 7; do
	same "rank $r: ns" "$(rank_ns prof $r)" \
		"$(truth_sum valid_ns truth.$r)"
done
same "hosts" "$(groups prof host)" "n1 n2 n3 n4"
same "GPUs" "$("$flamegrid" report prof --by host,gpu 2>/dev/null | cut -d';' -f1,2 | sort -u | wc -l)" 8
check "nothing lost" "$flamegrid" report prof --strict -o /dev/null
says_well "one summary" err prof
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
same "ns of the others" "$(total_ns seven)" "$(truth_sum valid_ns truth.*)"

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
same "ns of all ranks until then" "$(total_ns cancelled)" \
	"$(truth_sum valid_ns truth.*)"

# ---- a rank that never calls CUDA
rm -f truth.*
$run sh profiled.sh -q -o some -- sh -c 'test $SLURM_PROCID = 3 && exec echo none; exec sh rank.sh '"$work --launches 200" >out 2>err
same "a rank without CUDA: srun's status" $? 0
same "a rank without CUDA: it has run" "$(grep -c '^none$' out)" 1
same "a rank without CUDA: nothing is said" "$(grep -v '^srun: job' err)" ""
same "a rank without CUDA: ranks in the profile" "$(groups some rank)" "rank0 rank1 rank2 rank4 rank5 rank6 rank7"
same "a rank without CUDA: ns of the others" "$(total_ns some)" "$(truth_sum valid_ns truth.*)"

# ---- a node without the library: its ranks run, and it is said
rm -f truth.*
mkdir -p half/bin
cp "$flamegrid" half/bin/flamegrid
cat >halved.sh <<'TEXT'
[ "$SLURMD_NODENAME" = n3 ] && export FLAMEGRID=$PWD/half/bin/flamegrid
exec sh profiled.sh "$@"
TEXT
$run sh halved.sh -o halved -- sh rank.sh $work --launches 200 >out 2>err
same "a node without the library: srun's status" $? 0
same "a node without the library: all ranks have run" "$(ls truth.* | wc -l)" 8
same "a node without the library: each rank says so" "$(grep -c 'the injection library is missing' err)" 2
contains "a node without the library: so does rank 0" err "1 of 4 nodes did not join: their GPU work is not in the profile"
missing=$(groups halved rank)
same "a node without the library: the others' ranks" "$missing" "rank0 rank1 rank2 rank3 rank6 rank7"
same "a node without the library: ns of the others" "$(total_ns halved)" \
	"$(truth_sum valid_ns truth.[012367])"

# ---- Slurm's daemon of a node is killed in the middle: who serves the step goes on, and so do we
slurm_orphan sh profiled.sh -o orphaned --
same "a node without its daemon: srun's status" $? 0
same "a node without its daemon: ns of all ranks" "$(total_ns orphaned)" "$(truth_sum valid_ns truth.*)"
same "a node without its daemon: hosts" "$(groups orphaned host)" "n1 n2 n3 n4"
contains "a node without its daemon: nothing is lost" err "nothing lost; orphaned/"
same "what is left on the nodes at the end" "$(ls "$XDG_RUNTIME_DIR")" ""
