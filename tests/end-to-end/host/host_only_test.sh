#!/usr/bin/env bash
# CUDA calls of processes without a guest, as the kernel sees them: under run, of a running process, of an agent; and beside guests, whose
# calls are not seen twice. Needs root.
. "$(dirname "$0")/../support/harness.sh"
own_build
victim=$BUILD/tests/call_victim
list=$(devices 1)
. "$(dirname "$0")/../support/daemon_harness.sh"
mkfifo "$scratch/nothing"
pid= attached=
at_end() { kill -9 $pid $attached $daemon $agent 2>/dev/null; rm -rf "/tmp/flamegrid-attach-$pid".*; }
moment() { read -r -t 0.05 _ <>"$scratch/nothing"; }

# begin NAME COMMAND...: COMMAND ends in a victim, which obeys order; it is $pid, or in it.
begin() {
	name=$1
	shift
	mkfifo "$scratch/orders" "$scratch/answers"
	"$@" <"$scratch/orders" >"$scratch/answers" 2>"$scratch/$name.err" &
	pid=$!
	exec 3>"$scratch/orders" 4<"$scratch/answers"
	rm "$scratch/orders" "$scratch/answers"
}
# order WORDS: its answer is in $calls.
order() {
	echo "$@" >&3
	read -r calls _ <&4
}
end() {
	echo end >&3
	exec 3>&- 4<&-
	wait "$pid"
	same "$name: status" $? 7
}
probed() { until order probed && [ "$calls" = 1 ]; do moment; done; }
# seen PROFILE CALLS: until the profile has so many; what is named by then needs no process any more.
seen() {
	until [ "$("$flamegrid" report "$1" --planes calls --weight count --format folded 2>/dev/null | awk '{ n += $NF } END { printf "%.0f\n", n }')" -ge "$2" ]; do
		kill -0 "$pid" 2>/dev/null || { not_ok "$1: $2 calls were never seen"; break; }
		moment
	done
}
# calls PROFILE FUNCTION CALLER: how many there are.
calls() {
	awk -v text=";$3;[GPU_Launch]$2 " 'index($0, text) { n += $NF } END { printf "%.0f\n", n }' "$scratch/$1.calls"
}
# whole NAME PROFILE ROUNDS [STATUS]: so many rounds are in it, once. STATUS: of --strict; 0, nothing is lost.
whole() {
	"$flamegrid" report --strict "$2" --planes calls --weight count --format folded >"$scratch/$1.calls" 2>"$scratch/$1.report"
	same "$1: --strict" $? "${4:-0}"
	same "$1: launches" "$(calls "$1" cudaLaunchKernel victim_launch)" "$3"
	same "$1: copies" "$(calls "$1" cudaMemcpyAsync victim_copy)" "$3"
	same "$1: memsets" "$(calls "$1" cudaMemsetAsync victim_copy)" "$3"
	same "$1: waits" "$(calls "$1" cudaDeviceSynchronize victim_wait)" "$3"
	same "$1: calls" "$(awk '{ n += $NF } END { printf "%.0f\n", n }' "$scratch/$1.calls")" $((4 * $3))
}

# A run without a guest: nothing of it is in the process.
begin run "$flamegrid" run --host-calls on -o "$scratch/run" -- "$victim"
order load "$BUILD/lib/fake-cuda/libcudart.so.13"
probed
order rounds 100
order threads 25
same "run: no guest" "$(grep -lE 'flamegrid_inject|libcupti' /proc/[0-9]*/maps 2>/dev/null | grep -c "/$(pgrep -P "$pid" | head -n 1)/")" 0
end
whole run "$scratch/run" 200
check "run: calls.ns.folded" [ -s "$scratch/run/calls.ns.folded" ]

# Python: each call under the script's frames, from the first call on.
# An interpreter that was not built with a sanitizer has to be given its library before all others.
sanitizer=$(ldd "$BUILD/lib/fake-cuda/libcudart.so.13" | awk '/lib[at]san/ { print $3 }')
begin python "$flamegrid" run --host-calls on -o "$scratch/python" -- env ${sanitizer:+LD_PRELOAD="$sanitizer" ASAN_OPTIONS=detect_leaks=0} \
	python3 "$(dirname "$0")/../../bpf/call_victim.py" "$scratch/notes"
order load "$BUILD/lib/fake-cuda/libcudart.so.13"
probed
order rounds 20
order threads 5
seen "$scratch/python" 320
end
"$flamegrid" report --strict "$scratch/python" --planes calls --weight count --format folded --lines off >"$scratch/python.calls" 2>"$scratch/python.report"
same "python: nothing lost (--strict)" $? 0
same "python: calls" "$(awk '{ n += $NF } END { printf "%.0f\n", n }' "$scratch/python.calls")" $((8 * 40))
same "python: of the script's main thread" "$(awk '/^call_victim.py:<module>;call_victim.py:main;call_victim.py:rounds;/ { n += $NF } END { printf "%.0f\n", n }' "$scratch/python.calls")" 160
same "python: under the function that makes them" "$(awk '/;call_victim.py:(wait|dive|generate|key_of|Thing.inner|inner);.*\[GPU_Launch\]cuda(Device|Stream)Synchronize / { n += $NF } END { printf "%.0f\n", n }' "$scratch/python.calls")" 320

# A process that runs already, twice; and nothing of it in between.
begin running "$victim"
order load "$BUILD/lib/fake-cuda/libcudart.so.13"
order rounds 10
for profile in first second; do
	"$flamegrid" attach --pid "$pid" -o "$scratch/$profile" 2>"$scratch/$profile.err" &
	attached=$!
	until grep -qs 'attached to' "$scratch/$profile.err"; do
		kill -0 $attached 2>/dev/null || { not_ok "$profile: $(cat "$scratch/$profile.err")"; break; }
		moment
	done
	contains "$profile: says how to have more" "$scratch/$profile.err" "flamegrid run --dormant"
	order rounds 30
	"$flamegrid" detach --pid "$pid" 2>"$scratch/detach.err"
	same "$profile: detach" $? 0
	wait $attached
	same "$profile: the status of attach" $? 0
	order rounds 10
	whole $profile "$scratch/$profile" 30
done
"$flamegrid" attach --pid "$pid" -q -o "$scratch/last" 2>"$scratch/last.err" &
attached=$!
probed
order rounds 5
end
wait $attached
same "the process ends: the status of attach" $? 0
same "the process ends: nothing is said (-q)" "$(wc -c <"$scratch/last.err")" 0
# A process that is gone before its mappings were read has addresses in place of names.
"$flamegrid" report --strict "$scratch/last" --planes calls --weight count --format folded >"$scratch/last.calls" 2>"$scratch/last.report"
same "last: nothing lost (--strict)" $? 0
same "last: calls" "$(awk '{ n += $NF } END { printf "%.0f\n", n }' "$scratch/last.calls")" 20

# An agent that watches this shell: a process without a guest, and one with a guest, whose calls are its own.
start_aggregator
start_agent --host-calls on --watch-pid $$
begin agent "$victim"
order load "$BUILD/lib/fake-cuda/libcudart.so.13"
probed
order rounds 20
"$flamegrid" run --agent "$scratch/agent" -- "$fake_launches" --launches 500 >"$scratch/launches.out" 2>&1
same "guest: status" $? 0
end
true &
end_all $!
whole agent "$scratch/profile.db" 20
same "guest: its kernels" "$("$flamegrid" report "$scratch/profile.db" --format folded --weight count | awk '/_Kernel]/ { n += $NF } END { printf "%.0f\n", n }')" 500

# auto: a guest that captures is all there is; where none can, its calls are timed, and one line says so.
# said PROFILE: its processes' notices.
said() { "$flamegrid" report "$1" --format json >"$scratch/said" 2>/dev/null; }
"$flamegrid" run --host-calls auto --devices "$list" -o "$scratch/captured" -- "$fake_launches" --launches 500 >"$scratch/launches.out" 2>"$scratch/captured.err"
same "auto, a guest: status" $? 0
same "auto, a guest: its kernels" "$("$flamegrid" report "$scratch/captured" --format folded --weight count 2>/dev/null | awk '/_Kernel]/ { n += $NF } END { printf "%.0f\n", n }')" 500
check "auto, a guest: no calls" [ ! -s "$scratch/captured/calls.ns.folded" ]
same "auto, a guest: nothing is said" "$(grep -c 'times its calls' "$scratch/captured.err")" 0
begin uninjected "$flamegrid" run --host-calls auto -o "$scratch/uninjected" -- env -u CUDA_INJECTION64_PATH "$victim"
order load "$BUILD/lib/fake-cuda/libcudart.so.13"
probed
order rounds 30
seen "$scratch/uninjected" 120
end
whole uninjected "$scratch/uninjected" 30
said "$scratch/uninjected"
contains "auto, not injected: said in the report" "$scratch/said" "no guest came into this process, or it was sent away: the kernel times its calls of CUDA"
same "auto, not injected: said once" "$(grep -c 'times its calls' "$scratch/uninjected.err")" 1
FAKE_CUPTI_TAKEN=1 begin taken "$flamegrid" run --host-calls auto -o "$scratch/taken" -- "$victim"
order load "$BUILD/lib/fake-cuda/libcudart.so.13"
order rounds 0
probed
order rounds 30
seen "$scratch/taken" 120
end
whole taken "$scratch/taken" 30 3 # all calls, but no GPU times
contains "auto, CUPTI is taken: the verdict" "$scratch/taken.report" "INCOMPLETE: 1 of 1 process started CUDA and could not be recorded"
said "$scratch/taken"
contains "auto, CUPTI is taken: why" "$scratch/said" "another profiler holds CUPTI in this process"
contains "auto, CUPTI is taken: what is missing" "$scratch/said" "the kernel times its calls of CUDA (--host-calls auto), GPU times are missing"

# Without the right to it: an attach is refused, a run is a run without a profiler, or none (--strict).
without() { setpriv --bounding-set -sys_admin,-bpf,-perfmon --inh-caps -sys_admin,-bpf,-perfmon "$@"; }
without "$flamegrid" attach --pid $$ -o "$scratch/refused" 2>"$scratch/refused.err"
same "no rights: attach" $? 1
contains "no rights: attach says what is missing" "$scratch/refused.err" "CAP_BPF is missing"
contains "no rights: and how to have more" "$scratch/refused.err" "flamegrid run --dormant"
check "no rights: no profile" [ ! -e "$scratch/refused" ]
without "$flamegrid" run --host-calls on -o "$scratch/refused" -- sh -c 'exit 9' 2>"$scratch/refused.err"
same "no rights: run" $? 9
contains "no rights: run says what is missing" "$scratch/refused.err" "CAP_BPF is missing"
without "$flamegrid" run --host-calls on --strict -o "$scratch/refused" -- sh -c 'exit 9' 2>"$scratch/refused.err"
same "no rights: run --strict" $? 125
without "$flamegrid" run --host-calls auto --devices "$list" -o "$scratch/guests" -- "$fake_launches" --launches 500 >/dev/null 2>"$scratch/guests.err"
same "no rights: run with auto" $? 0
same "no rights: auto says it once" "$(grep -c 'CAP_BPF is missing' "$scratch/guests.err")" 1
contains "no rights: auto says what is missing" "$scratch/guests.err" "no calls of CUDA in processes that no guest captures"
same "no rights: kernels of a run with auto" "$("$flamegrid" report "$scratch/guests" --format folded --weight count 2>/dev/null | awk '/_Kernel]/ { n += $NF } END { printf "%.0f\n", n }')" 500
"$flamegrid" run --host-calls perhaps -- true 2>"$scratch/wrong.err"
same "--host-calls perhaps: status" $? 125
contains "--host-calls perhaps: said" "$scratch/wrong.err" "must be on, off or auto"
