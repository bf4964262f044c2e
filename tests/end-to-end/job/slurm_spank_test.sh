#!/usr/bin/env bash
# Slurm's plugin and the prolog without it, in a real Slurm with four nodes: plain tasks, one profile, and the job is as it would have been. Needs root.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/slurm_harness.sh"
at_end() { slurm_end; }
slurm_ranks
# A site's installation: that of this build, but that each node has GPUs of its own.
site=$scratch/site
mkdir -p "$site/bin" "$site/share/flamegrid/slurm"
cp "$(dirname "$0")"/../../../deploy/slurm/task_*.sh "$site/share/flamegrid/slurm"
cat >"$site/bin/flamegrid" <<TEXT
#!/bin/sh
[ "\$2" = begin ] && set -- "\$@" "devices=$scratch/devices.\$SLURMD_NODENAME"
[ "\$2" = begin ] && [ -e "$scratch/half/\$SLURMD_NODENAME" ] && exec "$scratch/half/bin/flamegrid" "\$@"
exec "$flamegrid" "\$@"
TEXT
chmod +x "$site/bin/flamegrid"
plugin() { printf 'optional %s prefix=%s\n' "$BUILD/lib/slurm/flamegrid.so" "$1" >"$scratch/plugstack.conf"; }
plugin "$site"
slurm_lines="SchedulerParameters=bf_interval=1
PlugStackConfig=$scratch/plugstack.conf
TaskProlog=$site/share/flamegrid/slurm/task_prolog.sh
TaskEpilog=$site/share/flamegrid/slurm/task_epilog.sh"
slurm_start
cd "$scratch" || exit 1

ours() { grep -lsF "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" /proc/[0-9]*/environ | sed 's/environ$/comm/' | xargs -r grep -hs flamegrid; }
nothing_left() {
	until [ -z "$(ours)" ]; do nap; done # what goes on alone ends by itself
	same "$1: what is left on the nodes" "$(ls "$XDG_RUNTIME_DIR")" ""
}

# ---- eight plain tasks on four nodes
$run --flamegrid='output=prof record=sync' sh rank.sh $work --launches 2000 >out 2>err
same "srun's status" $? 0
nothing_left "eight tasks"
for r in 0 1 2 3 4 5 6 7; do
	same "rank $r: ns" "$(rank_ns prof $r)" \
		"$(truth_sum valid_ns truth.$r)"
done
same "hosts" "$(groups prof host)" "n1 n2 n3 n4"
check "nothing lost" "$flamegrid" report prof --strict -o /dev/null
says_well "one summary" err prof
same "what else there is to say" "$(grep -v '^flamegrid: ' err)" ""
check "the profile is named after the command" grep -q "rank.sh $fake_launches" prof/flame.html

# ---- one task, without options
rm -f truth.*
srun -n1 --flamegrid sh rank.sh $work --launches 300 >out 2>err
same "status of one task" $? 0
nothing_left "one task"
one=$(ls -d flamegrid-profile-*.0)
same "ns of one task, in a directory named after job and step" "$(total_ns "$one")" "$(truth_sum valid_ns truth.0)"

# ---- another tool's library in CUDA is left alone
CUDA_INJECTION64_PATH=/other.so srun -n1 --flamegrid=output=other sh -c 'echo $CUDA_INJECTION64_PATH ${FLAMEGRID_SOCKET-none}' >out 2>err
same "status of a task with another tool" $? 0
same "what it sees" "$(cat out)" "/other.so none"
contains "and is told" err "this task runs unprofiled"

# ---- what the kernel sees is the tasks, not what waits for them
if [ -x "$BUILD/tests/bpf_victim" ]; then
	srun -N1 -n2 --flamegrid='output=threads cpu-hz=499 off-cpu=1ms' "$BUILD/tests/bpf_victim" all 60000000 >out 2>err
	same "status of tasks that are watched" $? 7
	"$flamegrid" report threads --planes cpu,offcpu --unit ns >stacks 2>/dev/null
	check "tasks on the CPU" grep -q 'victim_spin.*\[CPU\]' stacks
	check "tasks asleep" grep -q 'victim_sleep.*\[Off-CPU\]sleep' stacks
	same "stacks of those that wait for a task's end" "$(grep -c '\[Off-CPU\]socket' stacks)" 0
fi

# ---- one rank ends with 7
rm -f truth.*
$run sh -c 'test $SLURM_PROCID != 5 || exit 7' >out 2>err
plain=$?
$run --flamegrid='output=seven quiet' sh -c 'test $SLURM_PROCID != 5 || exit 7; exec sh rank.sh '"$work --launches 300" >out 2>err
same "one rank ends with 7" $? $plain
same "ns of the others" "$(total_ns seven)" "$(truth_sum valid_ns truth.*)"
nothing_left "one rank ends with 7"

# ---- what is not understood is refused where it is submitted
srun -n1 --flamegrid='bogus=1' touch started >out 2>err
check "an unknown option is refused" test $? -ne 0 -a ! -e started
contains "in words" err "--bogus: no such option"
srun -n1 --flamegrid='record=nonsense' touch started >out 2>err
check "so is a value" test $? -ne 0 -a ! -e started
contains "in words, too" err "nonsense: not all, nor a list of"
srun -n1 --flamegrid='output=a,cpu-hz=9' touch started >out 2>err
check "so are commas between options" test $? -ne 0 -a ! -e started
contains "with what is meant" err "between options are blanks, not commas"
printf '#!/bin/sh\n#SBATCH --flamegrid=dormant\ntouch started\n' >refused.sh
sbatch -W refused.sh >out 2>err
check "so is a script's" test $? -ne 0 -a ! -e started
contains "for its reason" err "dormant: not for tasks of Slurm"

# ---- a script: each of its steps
rm -f truth.*
cat >batch.sh <<TEXT
#!/bin/sh
#SBATCH --flamegrid="output=batch-%q{SLURM_STEP_ID} record=sync,um"
#SBATCH -N4 --ntasks-per-node=2 -o batch.out
printf '%s' "\${CUDA_INJECTION64_PATH-none}" >script.sees
srun sh rank.sh $work --launches 400
mkdir first && mv truth.* first
srun -N1 -n1 sh rank.sh $work --launches 200
mkdir second && mv truth.* second
srun -N1 -n1 --flamegrid=output=own sh rank.sh $work --launches 100
TEXT
sbatch -W batch.sh >out 2>err
same "the script's status" $? 0
same "ns of its first step" "$(total_ns batch-0)" "$(truth_sum valid_ns first/truth.*)"
same "its hosts" "$(groups batch-0 host)" "n1 n2 n3 n4"
same "ns of its second step" "$(total_ns batch-1)" "$(truth_sum valid_ns second/truth.0)"
same "ns of its third step, which has options of its own" "$(total_ns own)" "$(truth_sum valid_ns truth.0)"
same "the script itself" "$(cat script.sees)" none
nothing_left "a script"

# ---- a heterogeneous job: one step, so one profile
rm -f truth.*
srun -N2 --ntasks-per-node=2 --flamegrid=output=het sh rank.sh $work --launches 300 : -N1 -n1 --flamegrid=output=het sh rank.sh $work --launches 500 >out 2>err
same "status of a heterogeneous job" $? 0
nothing_left "a heterogeneous job"
for r in 0 1 2 3 4; do
	same "a heterogeneous job: rank $r: ns" "$(rank_ns het $r)" "$(truth_sum valid_ns truth.$r)"
done
rm -f truth.*
for component in first second; do
	asks=--flamegrid=output=$component
	rm -f truth.*
	srun -N2 $([ $component = first ] && echo $asks) sh rank.sh $work --launches 300 : \
		-N1 -n1 $([ $component = second ] && echo $asks) sh rank.sh $work --launches 500 >out 2>err
	same "asked for by the $component component: ranks" "$(groups $component rank)" "rank0 rank1 rank2"
	same "asked for by the $component component: ns" "$(total_ns $component)" "$(truth_sum valid_ns truth.*)"
done

# ---- scancel in the middle: what was recorded is there
rm -f truth.*
mkfifo up
$run -J cancelled --flamegrid=output=cancelled sh rank.sh sh -c "$work --launches 300; echo >>up; exec tail -f /dev/null" >out 2>err &
job=$!
exec 8<>up
for r in 0 1 2 3 4 5 6 7; do read -r _ <&8; done
scancel --name=cancelled
wait $job
same "srun of a job that is cancelled" $? 143
same "ns of all ranks until then" "$(total_ns cancelled)" "$(truth_sum valid_ns truth.*)"

# ---- whoever kills what profiles it: the task goes on
cat >kill.sh <<'TEXT'
for process in $(grep -lsF "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" /proc/[0-9]*/environ | cut -d/ -f3); do
	case $(cat /proc/$process/comm 2>/dev/null) in flamegrid*) kill -9 $process ;; esac
done
exit 3
TEXT
srun -n1 --flamegrid=output=killed sh kill.sh >out 2>err
same "status of a task whose profiler is killed" $? 3
rm -rf "$XDG_RUNTIME_DIR"/*

# ---- a task that never calls CUDA, and a node without the library: the job is as it would have been
rm -f truth.*
mkdir -p half/bin
cp "$flamegrid" half/bin/flamegrid
: >half/n3
$run --flamegrid=output=halved sh -c 'test $SLURM_PROCID = 1 && exec echo none; exec sh rank.sh '"$work --launches 200" >out 2>err
same "a node without the library: srun's status" $? 0
rm half/n3
nothing_left "a node without the library"
same "a node without the library: all tasks have run" "$(ls truth.* | wc -l) $(grep -c '^none$' out)" "7 1"
same "a node without the library: each task says so" "$(grep -c 'the injection library is missing' err)" 2
contains "a node without the library: so does rank 0" err "1 of 4 nodes did not join: their GPU work is not in the profile"
same "a node without the library: ranks in the profile" "$(groups halved rank)" "rank0 rank2 rank3 rank6 rank7"
same "a node without the library: ns of the others" "$(total_ns halved)" "$(truth_sum valid_ns truth.[02367])"

# ---- a site's aggregator, by the option and by the configuration
rm -f truth.*
mkfifo news
exec 7<>news
: >service.log
"$flamegrid" aggregate --listen "ipc://$scratch/service" --store "$scratch/service.db" --jobs "$scratch/jobs" 2> >(tee -p news >>service.log) 7<&- &
service=$!
slurm_pids="$slurm_pids $service"
says() { until grep -qF -- "$1" service.log; do read -r -t 60 _ <&7 || return 1; done; }
check "the service is there" says "listening on ipc://"
$run --flamegrid="aggregator=ipc://$scratch/service" sh rank.sh $work --launches 300 >out 2>err
same "a site's aggregator: srun's status" $? 0
same "a site's aggregator: what is left on the nodes" "$(ls "$XDG_RUNTIME_DIR")" ""
profile=$(sed -n 's/^flamegrid: run: the profile is [^:]*://p' err)
check "a site's aggregator: complete" says "$profile is complete"
same "a site's aggregator: ns" "$(total_ns "$profile")" "$(truth_sum valid_ns truth.*)"
same "a site's aggregator: hosts" "$(groups "$profile" host)" "n1 n2 n3 n4"
rm -f truth.*
printf 'aggregator ipc://%s/service\n' "$scratch" >site.conf
FLAMEGRID_CONFIG=$scratch/site.conf $run --flamegrid sh rank.sh $work --launches 200 >out 2>err
same "the configuration's: srun's status" $? 0
profile=$(sed -n 's/^flamegrid: run: the profile is [^:]*://p' err)
check "the configuration's: complete" says "$profile is complete"
same "the configuration's: ns" "$(total_ns "$profile")" "$(truth_sum valid_ns truth.*)"
rm -f truth.*
FLAMEGRID_CONFIG=$scratch/site.conf $run --flamegrid=output=mine sh rank.sh $work --launches 100 >out 2>err
same "output goes before the configuration: ns" "$(total_ns mine)" "$(truth_sum valid_ns truth.*)"
rm -f truth.*
printf 'output unwanted\nof-a-later-release 1\n' >later.conf
FLAMEGRID_CONFIG=$scratch/later.conf $run --flamegrid=output=as-without sh rank.sh $work --launches 100 >out 2>err
same "a configuration that cannot be used: srun's status" $? 0
same "it is profiled as without it: ns" "$(total_ns as-without)" "$(truth_sum valid_ns truth.*)"
same "each task says so" "$(grep -c 'later.conf: line 2: of-a-later-release 1: no option that can be there: the configuration is left alone' err)" 8
kill -TERM $service
wait $service
same "the service's status" $? 0

# ---- without the plugin: the prolog, for those who ask
rm -f truth.*
FLAMEGRID_STEP='output=prolog' FLAMEGRID_LOG=$scratch/words $run sh rank.sh $work --launches 500 >out 2>err
same "status with the prolog" $? 0
nothing_left "the prolog"
same "ns with the prolog" "$(total_ns prolog)" "$(truth_sum valid_ns truth.*)"
same "its hosts" "$(groups prolog host)" "n1 n2 n3 n4"
same "what the job's error stream has of it" "$(grep -v '^srun: job' err)" ""
says_well "the summary is where it was asked to be" words prolog

# ---- who does not ask has what there is without a plugin
lines() { srun -N1 -n1 env -0 2>&1 | tr '\n\0' ' \n' | LC_ALL=C sort; }
lines >with
same "what one who does not ask has started" "$(srun -N1 -n1 cat /proc/self/comm; ours)" cat
: >plugstack.conf
lines >without
lines >again
# What Slurm says of each step anew is found by comparing two of the same kind.
varying=$(diff without again | sed -n 's/^[<>] \([A-Za-z_0-9]*\)=.*/\1/p' | sort -u | paste -sd'|')
grep -vE "^($varying)=" with >with.steady
grep -vE "^($varying)=" without >without.steady
same_lines "the environment of a task" with.steady without.steady

# ---- a wrong prefix
plugin /nonexistent
srun -N1 -n2 --flamegrid=output=none sh -c 'echo ran' >out 2>err
same "status with a wrong prefix" $? 0
same "the tasks" "$(paste -sd' ' out)" "ran ran"
contains "a line says so" err "/nonexistent/bin/flamegrid: No such file or directory"
same "one line" "$(grep -c . err)" 1

# ---- Slurm's daemon of a node is killed in the middle: who serves the step goes on, and so do we
plugin "$site"
slurm_orphan --flamegrid=output=orphaned
same "a node without its daemon: srun's status" $? 0
same "a node without its daemon: ns of all ranks" "$(total_ns orphaned)" "$(truth_sum valid_ns truth.*)"
same "a node without its daemon: hosts" "$(groups orphaned host)" "n1 n2 n3 n4"
nothing_left "a node without its daemon"
