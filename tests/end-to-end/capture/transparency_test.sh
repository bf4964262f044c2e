#!/usr/bin/env bash
# The job is what it was without us: status, signals, streams, descriptors, environment, arguments.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
run() { "$flamegrid" run -q -o "$scratch/profile" --devices "$list" "$@"; }

for status in 0 1 7 99 124 125 255; do
	run -- sh -c "exit $status"
	same "exit status" $? $status
done
for signal in INT TERM KILL SEGV ABRT USR1 PIPE; do
	number=$(kill -l $signal)
	(ulimit -c 0; run -- sh -c "kill -$signal \$\$") 2>/dev/null
	same "killed by SIG$signal" $? $((128 + number))
done
run -- "$scratch/no-such-command" 2>"$scratch/err"
same "no such command" $? 127
contains "names it" "$scratch/err" "$scratch/no-such-command"
touch "$scratch/not-executable"
run -- "$scratch/not-executable" 2>"$scratch/err"
same "not executable" $? 126

same "standard input, output" "$(printf 'a b\nc' | run -- cat)" "$(printf 'a b\nc')"
run -- sh -c 'echo problem >&2; echo result' >"$scratch/out" 2>"$scratch/err"
same "standard output alone" "$(cat "$scratch/out")" result
same "standard error, but for the warning of a job without GPU work (-q)" \
	"$(grep -v '^flamegrid: .*NOTHING WAS RECORDED: no process started CUDA' "$scratch/err")" problem
same "arguments with options and spaces" "$(run printf '%s|' -o --strict 'x y' '')" "-o|--strict|x y||"
same "descriptors" "$(run -- ls /proc/self/fd)" "$(ls /proc/self/fd)"
env | sed '/^_=/d' | sort >"$scratch/env.before"
run -- env | sed '/^_=/d; /^CUDA_INJECTION64_PATH=/d; /^FLAMEGRID_SOCKET=/d; /^FLAMEGRID_STACKS=/d; /^FLAMEGRID_GRAPHS=/d; /^FLAMEGRID_RECORD=/d; /^NCCL_PROFILER_PLUGIN=/d' | sort >"$scratch/env.in"
same_lines "environment" "$scratch/env.in" "$scratch/env.before"
same "ignored and blocked signals" "$(run -- grep -E '^Sig(Blk|Ign)' /proc/self/status)" \
	"$(grep -E '^Sig(Blk|Ign)' /proc/self/status)"

# A signal that somebody sends to us reaches the job, which ends as it likes.
mkfifo "$scratch/up" "$scratch/up.never"
"$flamegrid" run -q -o "$scratch/profile" --devices "$list" -- \
	sh -c 'trap "exit 42" TERM; echo up >"$0"; while :; do read -r _ <"$0.never"; done' "$scratch/up" &
pid=$!
read -r _ <"$scratch/up"
kill -TERM $pid
wait $pid
same "SIGTERM is passed on" $? 42

# Programs on the GPU end as they do without us.
for how in return _exit abort kill9-self; do
	(ulimit -c 0; FAKE_CUDA_DEVICES=2 "$fake_launches" --launches 2000 --exit $how >"$scratch/without" 2>/dev/null)
	without=$?
	(ulimit -c 0; FAKE_CUDA_DEVICES=2 run -- "$fake_launches" --launches 2000 --exit $how >"$scratch/with" 2>/dev/null)
	same "GPU program, --exit $how" $? $without
	sed -i 's/^ready .*/ready/' "$scratch/with" "$scratch/without"
	same_lines "GPU program's output, --exit $how" "$scratch/with" "$scratch/without"
done

# Where profiling cannot start, the job runs; --strict turns that around.
CUDA_INJECTION64_PATH=/elsewhere.so run -- sh -c 'echo $CUDA_INJECTION64_PATH' >"$scratch/out" 2>"$scratch/err"
same "another injection library: status" $? 0
same "another injection library is left alone" "$(cat "$scratch/out")" /elsewhere.so
contains "and named" "$scratch/err" /elsewhere.so
same "in one line" "$(wc -l <"$scratch/err")" 1
"$flamegrid" report "$scratch/profile" --format json >"$scratch/json" 2>/dev/null
contains "the profile is the one before" "$scratch/json" '"launches":2000'
CUDA_INJECTION64_PATH=$BUILD/tests/libfake_injection.so FAKE_CUDA_DEVICES=2 run -- "$fake_launches" --launches 100 >"$scratch/out" \
	2>"$scratch/err"
same "another injection library, and CUDA: status" $? 0
contains "it is in the program, and we are not" "$scratch/err" "libfake_injection.so and is left alone"
CUDA_INJECTION64_PATH=/elsewhere.so run --strict -- echo ran >"$scratch/out" 2>/dev/null
same "--strict: status" $? 125
same "--strict: not run" "$(cat "$scratch/out")" ""
"$flamegrid" run -o /proc/nowhere -- echo ran >"$scratch/out" 2>"$scratch/err"
same "an output directory that cannot be: status" $? 0
same "an output directory that cannot be: the job ran" "$(cat "$scratch/out")" ran
contains "and it is named" "$scratch/err" /proc/nowhere
FAKE_CUPTI_TAKEN=1 FAKE_CUDA_DEVICES=2 run -- "$fake_launches" --launches 100 >"$scratch/out" 2>"$scratch/err"
same "CUPTI held by another: status" $? 0
(ulimit -c 0 -f 8; FAKE_CUDA_DEVICES=2 "$flamegrid" run -q -o "$scratch/small" --devices "$list" -- "$fake_launches" --launches 100 \
	>/dev/null 2>&1)
same "a small file-size limit: status" $? 0
"$flamegrid" run -o "$scratch/none" --devices "$list" -- true 2>"$scratch/err"
same "a command without CUDA: status" $? 0
contains "a command without CUDA: said" "$scratch/err" "NOTHING WAS RECORDED: no process started CUDA"
