#!/usr/bin/env bash
# `flamegrid run --aggregator`: jobs of a site send to its aggregator, each has a profile of its own there, with the right totals; and whatever happens to the aggregator, the
# jobs' own results are what they would have been. Nodes are names.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/site_harness.sh"

# ---- two jobs of four ranks on two nodes at once: the same nodes, the same ranks, two profiles
start_service
for r in 0 1 2 3; do
	rank red $r 4 $((r / 2)) "${site[@]}" -- $work --launches $((1000 * (r + 1)))
	rank blue $r 4 $((r / 2)) "${site[@]}" -- $work --launches $((700 * (r + 1)))
done
for job in red blue; do
	for r in 0 1 2 3; do await $job $r 0; done
	check "$job is complete" says "$scratch/jobs/$user-$job is complete"
	profile=$scratch/jobs/$user-$job
	for r in 0 1 2 3; do
		same "$job: rank $r: ns" "$(rank_ns "$profile" $r)" \
			"$(truth_sum valid_ns "$scratch/$job.truth.$r")"
	done
	same "$job: ns of all" "$(total_ns "$profile")" "$(truth_sum valid_ns "$scratch/$job".truth.?)"
	same "$job: its nodes" "$(groups "$profile" host)" "node0 node1"
	check "$job: nothing lost" "$flamegrid" report "$profile" --strict -o /dev/null
	same "$job: what is there" "$(ls "$profile" | tr '\n' ' ')" "flame.html gpu.ns.folded job.complete profile.db "
	same "$job: who can read it" "$(stat -c %a "$profile" "$profile/profile.db" | tr '\n' ' ')" "750 640 "
	says_place "$job: rank 0 says where it is" "$profile" "$scratch/$job".err.[01]
	same "$job: the others say nothing" "$(cat "$scratch/$job".err.[1-3] | grep -v "$late")" ""
done
same "what is left on the nodes" "$(ls "$XDG_RUNTIME_DIR")" ""
same "nothing is written where the jobs run" "$(ls -d flamegrid-profile* ./*.rendezvous 2>/dev/null)" ""

# ---- the same name again is another job; a process that is alone is one, too
rank red 0 1 0 --aggregator "tcp://localhost:$port" --keys "$scratch/keys/agent.keys" -- $work --launches 300 # of one: no step
await red 0 0
alone=$(last_alone)
says_place "it says where it is" "$alone" "$scratch/red.err.0"
check "it is complete" says "$alone is complete"
compare_with_truth "$alone" "$scratch/red.truth.0" "a process alone"
for r in 0 1; do rank red $r 2 $r "${site[@]}" --title "the second" --inlines -- $work --launches 200; done
await red 0 0
await red 1 0
check "the second of that name" says "$scratch/jobs/$user-red.2 is complete"
same "the second: ns" "$(total_ns "$scratch/jobs/$user-red.2")" "$(truth_sum valid_ns "$scratch"/red.truth.[01])"
contains "its title" "$scratch/jobs/$user-red.2/flame.html" "the second"
contains "its lines" "$scratch/jobs/$user-red.2/gpu.ns.folded" "fake_launches.c:step:"
for r in 0 1; do rank coarse $r 2 $r "${site[@]}" --lines off --inlines -- $work --launches 200; done
await coarse 0 0
await coarse 1 0
check "one without lines" says "$scratch/jobs/$user-coarse is complete"
contains "one without lines: has frames" "$scratch/jobs/$user-coarse/gpu.ns.folded" ";step;launch_from_k"
same "one without lines: has none" "$(grep -c 'step:[0-9]' "$scratch/jobs/$user-coarse/gpu.ns.folded")" 0

# ---- Slurm tells how many nodes there are; a job without CUDA
slurm() { # RANK NODE COMMAND...
	local rank=$1 node=$2
	shift 2
	env SLURM_JOB_ID=4711 SLURM_STEP_ID=0 SLURM_PROCID="$rank" SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2 SLURMD_NODENAME="node$node" FAKE_CUDA_TRUTH="$scratch/slurm.truth" \
		"$flamegrid" run --devices "$scratch/devices.$node" "${site[@]}" -- "$@" >"$scratch/slurm.out.$rank" 2>"$scratch/slurm.err.$rank" 7<&- &
	rank_pid[slurm.$rank]=$!
}
slurm 0 0 sh -c 'exit 3'
slurm 1 1 $work --launches 400
await slurm 0 3
await slurm 1 0
check "a rank without CUDA does not hold it up" says "$scratch/jobs/$user-4711.0 is complete"
compare_with_truth "$scratch/jobs/$user-4711.0" "$scratch/slurm.truth" "the other rank"
same "no node is missing" "$(grep -c 'did not join' "$log")" 0

# ---- keys that do not fit; nobody there; and what such a job's own result is
rank wrong 0 2 0 --aggregator "$at" --keys "$scratch/others/agent.keys" -- sh -c "$work --launches 300; exit 5"
rank wrong 1 2 0 --aggregator "$at" --keys "$scratch/others/agent.keys" -- $work --launches 300
await wrong 0 5
await wrong 1 0
same "wrong keys: said once a node" "$(cat "$scratch"/wrong.err.? | grep -c 'the keys do not fit')" 1
same "wrong keys: and nothing else" "$(cat "$scratch"/wrong.err.? | grep -vc 'the keys do not fit')" 0
(umask 077; grep server-public "$scratch/keys/agent.keys"; grep client- "$scratch/others/agent.keys") >"$scratch/mixed.keys"
chmod 600 "$scratch/mixed.keys"
rank mixed 0 2 0 --aggregator "$at" --keys "$scratch/mixed.keys" -- sh -c 'exit 4'
rank mixed 1 2 0 --aggregator "$at" --keys "$scratch/mixed.keys" -- $work --launches 100
await mixed 0 4
await mixed 1 0
same "a pair of its own: said once a node" "$(cat "$scratch"/mixed.err.? | grep -c 'the keys do not fit')" 1
check "a pair of its own: the service turns it away" says "a connection was turned away"
same "wrong keys: no profile" "$(ls -d "$scratch"/jobs/*wrong* "$scratch"/jobs/*mixed* 2>/dev/null)" ""
$work --launches 300 2>/dev/null | grep -v '^ready' >"$scratch/out.plain"
grep -v '^ready' "$scratch/wrong.out.1" >"$scratch/out"
same_lines "wrong keys: what the rank says on its output" "$scratch/out" "$scratch/out.plain"
rank nobody 0 2 0 --aggregator tcp://127.0.0.1:9 --keys "$scratch/keys/agent.keys" -- sh -c 'exit 7'
rank nobody 1 2 0 --aggregator tcp://127.0.0.1:9 --keys "$scratch/keys/agent.keys" -- $work --launches 300
await nobody 0 7
await nobody 1 0
same "nobody there: said once a node" "$(cat "$scratch"/nobody.err.?)" "flamegrid: run: tcp://127.0.0.1:9: the aggregator cannot be reached: this node is not profiled"

# The system takes the connection of a listener that is stopped or overloaded.
mkfifo "$scratch/silent.port"
python3 -c 'import signal, socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); signal.pause()' \
	>"$scratch/silent.port" 7<&- &
silent=$!
read -r silent_port <"$scratch/silent.port"
rank slow 0 1 0 --aggregator "tcp://127.0.0.1:$silent_port" --keys "$scratch/keys/agent.keys" -- sh -c 'exit 7'
await slow 0 7
# On a busy machine the rank may not hear of it from its node's agent, and says so itself.
check "nobody answers: is said" grep -qxF -e "flamegrid: run: the last of what this rank recorded may be missing in the profile: the aggregator has not confirmed it" \
	-e "flamegrid: run: tcp://127.0.0.1:$silent_port: the aggregator has not answered yet (stopped, or overloaded): whether this node is profiled is not known" \
	"$scratch/slow.err.0"
same "nobody answers: in one line" "$(wc -l <"$scratch/slow.err.0")" 1
kill $silent
wait $silent 2>/dev/null
silent=

# ---- the service is killed in the middle, and comes again
compared() { "$flamegrid" report "$1" --clocks -f csv 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["compared"] >= n { c++ } END { printf "%.0f\n", c }' n="$2"; }
# the agents of both nodes have been welcomed that often
both_compared() { [ "$(compared "$scratch/jobs/$user-held" "$1")" = 2 ]; }
for r in 0 1; do rank held $r 2 $r "${site[@]}" -- sh -c "$held"; done
await_up 2
check "both agents are known" until_so both_compared 1
kill -KILL $service
wait $service 2>/dev/null
contains "a mark is left" "$scratch/jobs/$user-held/job.open" "key held"
start_service
check "both agents have come again" until_so both_compared 2
let_go 2
await held 0 0
await held 1 0
check "it is complete" says "$scratch/jobs/$user-held is complete"
same "restarted: ns" "$(total_ns "$scratch/jobs/$user-held")" "$(truth_sum valid_ns "$scratch"/held.truth.?  "$scratch"/held.truth.?.2)"
check "restarted: nothing lost" "$flamegrid" report "$scratch/jobs/$user-held" --strict -o /dev/null
same "restarted: one profile" "$(ls -d "$scratch/jobs/$user-held"* | wc -l)" 1
check "restarted: no mark is left" [ ! -e "$scratch/jobs/$user-held/job.open" ]

# ---- the agent of a node is killed: the job ends as ever, and is complete a while later
end_service
start_service --wait-silent 1 --wait-nodes 1
for r in 0 1; do rank lost $r 2 $r "${site[@]}" -- sh -c "$held"; done
await_up 2
check "it has begun" says "$scratch/jobs/$user-lost begins"
keeper=$(pgrep -x -f ".*run --node-name node1 .*$scratch/devices.1 .*" | while read -r pid; do [ "$(cat "/proc/$pid/comm")" = flamegrid-node ] && echo "$pid"; done)
check "the agent of node1" kill -KILL "$keeper"
let_go 2
await lost 0 0
await lost 1 0
contains "its rank says so" "$scratch/lost.err.1" "the agent of this node was ended by somebody: the last of what this rank"
check "it is complete all the same" says "$scratch/jobs/$user-lost is complete"
check "the service says so" says "$user-lost: 1 agents did not say goodbye"
same "the other node: ns" "$("$flamegrid" report "$scratch/jobs/$user-lost" --by host --unit ns 2>/dev/null | grep '^node0;' | sum_folded)" \
	"$(truth_sum valid_ns "$scratch"/lost.truth.0 "$scratch"/lost.truth.0.2)"

# ---- what the file says, and what goes before it
config=$scratch/site.conf
printf '# the site\naggregator = %s\nkeys %s\n' "$at" "$scratch/keys/agent.keys" >"$config"
one=("$work" --launches 100)
run_with() { FLAMEGRID_CONFIG=$config "$flamegrid" run --devices "$scratch/devices.0" "$@" >"$scratch/out" 2>"$scratch/err"; }
FAKE_CUDA_TRUTH=$scratch/file.truth run_with -- $work --launches 100
same "by the file alone: status" $? 0
profile=$(last_alone)
says_place "by the file alone: says where it is" "$profile" "$scratch/err"
check "the service has it" says "$profile is complete"
compare_with_truth "$profile" "$scratch/file.truth" "by the file alone"
before=$(ls "$scratch/jobs" | wc -l)
FAKE_CUDA_TRUTH=$scratch/own.truth run_with -o "$scratch/own" -- $work --launches 100
compare_with_truth "$scratch/own" "$scratch/own.truth" "-o goes before the file"
run_with --aggregator none -- $work --launches 100
check "none goes before the file" test -s flamegrid-profile/flame.html
rm -r flamegrid-profile
run_with --no-config -- $work --launches 100
check "so does --no-config" test -s flamegrid-profile/flame.html
rm -r flamegrid-profile
same "nothing of these is at the service" "$(ls "$scratch/jobs" | wc -l)" "$before"
run_with --aggregator tcp://127.0.0.1:9 -- true
contains "another aggregator goes before the file's" "$scratch/err" "tcp://127.0.0.1:9: the aggregator cannot be reached"
echo 'stacks nonsense' >>"$config"
FLAMEGRID_STACKS=native run_with -o "$scratch/native" -- $work --launches 100
same "the environment goes before the file" $? 0
run_with --strict --stacks native -- true
same "what is wrong in the file is wrong, whatever comes behind it" $? 125
contains "it is named" "$scratch/err" "$config: line 4: --stacks nonsense: not leaf"
run_with --help
same "--help is to be had" $? 0

# A configuration that cannot be used stops no job, unless that is asked for: it is left alone, all of it, and one line says why.
left_alone() { # WHAT WORDS
	rm -rf flamegrid-profile
	FAKE_CUDA_TRUTH=$scratch/alone.truth run_with -- $work --launches 100
	same "$1: status" $? 0
	same "$1: said in one line" "$(grep -c "$config" "$scratch/err")" 1
	contains "$1: what it is" "$scratch/err" "flamegrid: run: $2"
	contains "$1: what is done" "$scratch/err" ": the configuration is left alone"
	compare_with_truth flamegrid-profile "$scratch/alone.truth" "$1: as without it"
	run_with --strict -- touch "$scratch/ran"
	same "$1, --strict: status" $? 125
	same "$1, --strict: what it is" "$(cat "$scratch/err")" "$(grep -F "$config" "$scratch/err")"
	contains "$1, --strict: the same" "$scratch/err" "flamegrid: run: $2"
	check "$1, --strict: nothing was started" [ ! -e "$scratch/ran" ]
}
unusable() { # WHAT WORDS TEXT: a configuration with that text, behind lines that are right
	printf "output $scratch/unwanted\nnvtx\n%b" "$3" >"$config"
	left_alone "$1" "$2"
}
unusable "a name that is none" "$config: line 4: aggregato tcp://a:1: no option that can be there" '\naggregato tcp://a:1\n'
unusable "one that cannot be there" "$config: line 3: title x: no option that can be there" 'title x\n'
unusable "no value" "$config: line 3: keys: no value" 'keys\n'
unusable "a value too many" "$config: line 3: nvtx on: has no value" 'nvtx = on\n'
unusable "a value that there is not" "$config: line 3: --lines maybe: must be on or off" 'lines maybe\n'
unusable "no line of ours" "$config: line 5: --nvtx: not NAME VALUE" '\n\n--nvtx\n'
unusable "two places" "$config: --aggregator and --output: one of them" 'aggregator tcp://a:1\n'
printf 'aggregator %s\n' "$at" >"$config"
chmod 666 "$config"
left_alone "a file that others can write" "$config: others than its owner can write it"
check "what is in such a file is not done" [ ! -e "$scratch/unwanted" ]
FLAMEGRID_CONFIG=$config "$flamegrid" doctor >"$scratch/out"
same "doctor: a problem" $? 1
contains "doctor: says which" "$scratch/out" "PROBLEM  configuration: $config: others than its owner can write it"
chmod 644 "$config"
FLAMEGRID_CONFIG=$config "$flamegrid" doctor >"$scratch/out"
contains "doctor: what is in force" "$scratch/out" "ok       configuration: $config sets aggregator $at"
printf 'nvtx yes\n' >"$config"
FLAMEGRID_CONFIG=$config "$flamegrid" doctor >"$scratch/out"
contains "doctor: what run would not take" "$scratch/out" "PROBLEM  configuration: $config: line 1: nvtx"
config=$scratch/nowhere.conf
left_alone "a file that is not there" "$config: No such file or directory"
mkdir "$config"
left_alone "a directory" "$config: not a regular file"

# ---- the command line
conflict() { # OPTION...
	"$flamegrid" run --aggregator "$at" "$@" -- touch "$scratch/ran" 2>"$scratch/err"
	same "--aggregator and $1: status" $? 125
	contains "--aggregator and $1" "$scratch/err" "one of them"
}
conflict --output "$scratch/x"
conflict --agent "$scratch/x"
conflict --dormant
check "nothing was started" [ ! -e "$scratch/ran" ]
unprofiled() { # WHAT WORDS OPTION...: the job runs all the same
	local what=$1 words=$2
	shift 2
	"$flamegrid" run "$@" -- sh -c 'exit 6' 2>"$scratch/err"
	same "$what: the job's status" $? 6
	contains "$what" "$scratch/err" "$words"
	"$flamegrid" run --strict "$@" -- sh -c 'exit 6' 2>"$scratch/err"
	same "$what, --strict" $? 125
}
unprofiled "no keys" "nothing protects it: --keys does" --aggregator tcp://192.0.2.1:7411
unprofiled "no port" "must be like tcp://HOST:PORT" --aggregator tcp://127.0.0.1
unprofiled "keys that are not there" "--keys: $scratch/none: No such file" --aggregator "$at" --keys "$scratch/none"
unprofiled "the wrong file" "this is an aggregator's file" --aggregator "$at" --keys "$scratch/keys/aggregator.keys"
end_service

# ---- old jobs are deleted, and no others
old=$(for store in "$scratch"/jobs/*/profile.db; do [ -e "${store%/*}/job.open" ] || echo "${store%/*}"; done | head -n 1)
complete=$(find "$scratch/jobs" -mindepth 2 -maxdepth 2 -name profile.db | wc -l)
check "there are jobs" [ "$complete" -gt 1 ]
touch -d '3 hours ago' "$old/profile.db"
start_service --jobs-age 2h
check "the old job is named" says "$old: deleted, as it is too old"
end_service
check "the old job is gone" [ ! -e "$old" ]
same "the other jobs stay" "$(find "$scratch/jobs" -mindepth 2 -maxdepth 2 -name profile.db | wc -l)" $((complete - 1))
"$flamegrid" aggregate --listen ipc://x --store y --jobs-size 5 2>"$scratch/err"
same "a size without jobs" $? 2
contains "says what it needs" "$scratch/err" "--jobs-age and --jobs-size need --jobs"

# ---- an aggregator that keeps one profile: it takes jobs as any agents
"$flamegrid" aggregate --listen "ipc://$scratch/one" --store "$scratch/one.db" 2> >(tee -p "$scratch/news" >>"$log") 7<&- &
service=$!
check "the other service is there" says "listening on ipc://$scratch/one"
FAKE_CUDA_TRUTH=$scratch/one.truth "$flamegrid" run --devices "$scratch/devices.0" --aggregator "ipc://$scratch/one" -- $work --launches 250 >"$scratch/out" 2>"$scratch/err"
same "its job" $? 0
says_place "where the one profile is" "$(realpath "$scratch/one.db")" "$scratch/err"
end_service
compare_with_truth "$scratch/one.db" "$scratch/one.truth" "one profile"
"$flamegrid" aggregate --listen ipc://x --store y --wait-nodes 0 2>"$scratch/err"
same "a time that cannot be" $? 2
contains "is named" "$scratch/err" ": must be a whole number from 1 to 1000000"
