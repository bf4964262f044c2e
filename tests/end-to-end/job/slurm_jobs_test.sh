#!/usr/bin/env bash
# The kinds of jobs that a real Slurm has: heterogeneous ones, arrays, one that is requeued, one whose time is up. Needs root.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/slurm_harness.sh"
at_end() { slurm_end; }
slurm_ranks
slurm_lines="SchedulerParameters=bf_interval=1" # heterogeneous jobs wait for the backfilling scheduler
slurm_start
cd "$scratch" || exit 1
mkfifo up
exec 8<>up

# await COUNT: so many tasks have said that they are there.
await() {
	local i

	for ((i = 0; i < $1; i++)); do read -r -t 120 _ <&8 || return 1; done
}
ranks_are_exact() { # WHAT PROFILE TRUTH-FOLDER COUNT
	local r

	for ((r = 0; r < $4; r++)); do
		same "$1: rank $r: ns" "$(rank_ns "$2" $r)" "$(truth_sum valid_ns "$3/truth.$r")"
	done
}

# ---- a job whose time is up: Slurm looks twice a minute, so it ends below
mkdir limited.truth
srun -t 60 -N2 -J limited sh profiled.sh -o limited -- sh rank.sh sh -c "FAKE_CUDA_TRUTH=limited.truth/\$FAKE_CUDA_TRUTH $work --launches 300; echo >>up; exec tail -f /dev/null" >limited.out 2>limited.err &
limited=$!
check "the job with a limit is up" await 2
scontrol update JobId="$(squeue -h -n limited -o %A)" EndTime=now+10

# ---- heterogeneous: the components' ranks are counted on, and their step is one
srun -N2 --ntasks-per-node=2 sh profiled.sh -o het -- sh rank.sh $work --launches 500 : \
	-N1 -n1 sh profiled.sh -o het -- sh rank.sh $work --launches 900 >out 2>err
same "a heterogeneous job: srun's status" $? 0
ranks_are_exact "a heterogeneous job" het . 5
same "a heterogeneous job: ranks" "$(groups het rank)" "rank0 rank1 rank2 rank3 rank4"
same "a heterogeneous job: hosts" "$(groups het host | wc -w)" 3
says_well "a heterogeneous job: nothing is lost" err het

rm -f truth.*
cat >het.sh <<TEXT
#!/bin/sh
#SBATCH -N2 -n2 -o het.out
#SBATCH hetjob
#SBATCH -N1 -n1
srun --het-group=0,1 sh profiled.sh -o both -- sh rank.sh $work --launches 300
echo \$?
mkdir both.truth && mv truth.* both.truth
srun --het-group=0 sh profiled.sh -o %j-%q{SLURM_STEP_ID} -- sh rank.sh $work --launches 200 &
wait \$!
echo \$?
mkdir zero.truth && mv truth.* zero.truth
srun --het-group=1 sh profiled.sh -o one -- sh rank.sh $work --launches 100
echo \$?
TEXT
sbatch -W het.sh >out 2>err
same "its steps: status" "$(grep -x '[0-9]*' het.out | paste -sd' ')" "0 0 0"
ranks_are_exact "a step of all components" both both.truth 3
zero=$(ls -d [0-9]*-1)
ranks_are_exact "a step of the first component" "$zero" zero.truth 2
same "a step of the second component: ns" "$(total_ns one)" "$(truth_sum valid_ns truth.0)"

# ---- an array: each element is a job with a number of its own, at the same time
rm -f truth.*
cat >array.sh <<TEXT
#!/bin/sh
#SBATCH -N2 -n2 --array=3-4 -o array.%a.out
mkdir \$SLURM_ARRAY_TASK_ID
srun sh profiled.sh -- sh rank.sh sh -c 'export FAKE_CUDA_TRUTH=\$SLURM_ARRAY_TASK_ID/\$FAKE_CUDA_TRUTH; echo >>up; read -r _ <go; exec $work --launches \${SLURM_ARRAY_TASK_ID}00'
echo \$? \$SLURM_JOB_ID
TEXT
mkfifo go
exec 9<>go
sbatch -W array.sh >out 2>err &
array=$!
check "both elements' ranks are there" await 4
for r in 0 1 2 3; do echo >&9; done
wait $array
for element in 3 4; do
	read -r status job < <(tail -n1 array.$element.out)
	same "element $element: srun's status" "$status" 0
	ranks_are_exact "element $element" "flamegrid-profile-$job.0" $element 2
	same "element $element: ranks" "$(groups "flamegrid-profile-$job.0" rank)" "rank0 rank1"
done

# ---- requeued: the same number, the same step, another profile; the one before is kept
cat >again.sh <<TEXT
#!/bin/sh
#SBATCH -N2 -n2 --requeue --open-mode=append -o again.out
mkdir attempt.\${SLURM_RESTART_COUNT:-0}
srun sh profiled.sh -o again -- sh rank.sh sh -c 'export FAKE_CUDA_TRUTH=attempt.\${SLURM_RESTART_COUNT:-0}/\$FAKE_CUDA_TRUTH; $work --launches 200; echo >>up; test "\$SLURM_RESTART_COUNT" || exec tail -f /dev/null'
test "\$SLURM_RESTART_COUNT" && echo >>up
TEXT
job=$(sbatch --parsable again.sh)
check "its ranks are up" await 2
scontrol requeue "$job"
check "it is requeued" slurm_await "$slurm/controller.log" "Requeuing JobId=$job" "$(cat "$slurm/controller.pid")"
# Now, and not two minutes later, which Slurm may decide at any time until all of its nodes are free.
until read -r -t 1 _ <&8; do scontrol update JobId="$job" StartTime=now 2>/dev/null; done
check "its ranks are up again" await 1
check "it has ended" await 1
ranks_are_exact "the second attempt" again attempt.1 2
ranks_are_exact "the first attempt" again.2 attempt.0 2
same "what a rendezvous of the first attempt has left" "$(ls -d again.*rendezvous* 2>/dev/null)" ""

# ---- the time is up now
wait $limited
check "a job whose time is up: srun's status" test $? -ne 0
contains "a job whose time is up: Slurm says so" limited.err "DUE TO TIME LIMIT"
ranks_are_exact "a job whose time is up" limited limited.truth 2
same "what is left on the nodes" "$(ls "$XDG_RUNTIME_DIR")" ""
