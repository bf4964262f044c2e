#!/usr/bin/env bash
# Steps of one allocation of a real Slurm, at once and in a row, as ensembles are run: each keeps its profile, by the names that users get without asking and by
# one name for all. Needs root.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/slurm_harness.sh"
at_end() { slurm_end; }
slurm_ranks
slurm_start
cd "$scratch" || exit 1

# Two steps of two ranks on nodes of their own, which wait for one another in their middle; then two in a row; then two of one task each, at once.
cat >rank-held.sh <<TEXT
export FAKE_CUDA_HOST_SEED=\${SLURMD_NODENAME#n} FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=\$1.truth.\$SLURM_STEP_ID.\$SLURM_PROCID
[ "\$2" = held ] && { echo >>up; read -r _ <go; }
exec $work --launches \$((300 + 100 * SLURM_STEP_ID))
TEXT
cat >job.sh <<'TEXT'
#!/bin/sh
#SBATCH -N4 -n4 --ntasks-per-node=2 -o job.out
step() { srun "$1" -N2 -n2 --ntasks-per-node=1 --overlap sh profiled.sh $output -- sh rank-held.sh "$name" "$2"; }
output=$OUTPUT name=$NAME
step -r0 held & one=$!
step -r2 held & two=$!
wait $one; echo status $?
wait $two; echo status $?
step -r0 free; echo status $?
step -r0 free; echo status $?
srun -N1 -n1 -r0 --overlap sh profiled.sh $output -- sh rank-held.sh "$name" held & one=$!
srun -N1 -n1 -r1 --overlap sh profiled.sh $output -- sh rank-held.sh "$name" held & two=$!
wait $one; echo status $?
wait $two; echo status $?
TEXT
mkfifo up go
exec 8<>up 9<>go

submit() { # NAME [OPTION...]
	local r

	NAME=$1 OUTPUT="${*:2}" sbatch -W job.sh >out 2>&1 &
	for r in 1 2 3 4; do read -r -t 120 _ <&8; done
	for r in 1 2 3 4; do echo >&9; done
	for r in 1 2; do read -r -t 120 _ <&8; done
	for r in 1 2; do echo >&9; done
	wait $!
	same "$1: statuses" "$(grep -c '^status 0$' job.out)" 6
	same "$1: every step and rank has run" "$(ls "$1".truth.* | sed "s/$1.truth.//" | paste -sd' ')" "0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1 4.0 5.0"
	same "$1: nobody complains" "$(grep -c 'not confirmed\|did not\|unprofiled' job.out)" 0
	same "$1: profiles in which nothing is lost" "$(grep -c 'nothing lost; ' job.out)" 6
}

submit default
job=$(ls -d flamegrid-profile-*.0 | sed 's/.*profile-//; s/\.0$//')
for step in 0 1 2 3 4 5; do
	same "step $step: ns" "$(total_ns "flamegrid-profile-$job.$step")" "$(truth_sum valid_ns default.truth.$step.*)"
done
for step in 0 1 2 3; do same "step $step: ranks" "$(groups "flamegrid-profile-$job.$step" rank)" "rank0 rank1"; done
same "no other profiles" "$(ls -d flamegrid-profile-* | wc -l)" 6

# One name for all: the numbers are in the order in which they were made.
submit one -o one
for step in 0 1 2 3 4 5; do truth_sum valid_ns one.truth.$step.*; done | sort >want
for profile in one one.[2-6]; do total_ns $profile; done | sort >have
same_lines "each step has one of the six profiles" have want
same "no others" "$(ls -d one one.[0-9]* | wc -l)" 6
same "the last in the row moved those before" "$(grep -c 'the earlier profile is now one' job.out)" 3
same "those at once moved on" "$(grep -c 'one is in use by another run: writing to one' job.out)" 2
same "what is left on the nodes" "$(ls "$XDG_RUNTIME_DIR")" ""
same "what is left beside the profiles" "$(ls -d ./*.rendezvous* 2>/dev/null)" ""
