#!/usr/bin/env bash
# A job for a running agent: `run` waits until all of it is stored and says what and where, or that the job was not profiled
# and why. The job's status is its own in every case.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
. "$(dirname "$0")/../support/daemon_harness.sh"
export FAKE_CUDA_DEVICES=1

# given NAME STATUS WORDS COMMAND...: what `run --agent` says of it.
given() {
	local name=$1 status=$2 words=$3
	shift 3
	"$flamegrid" run --agent "$scratch/agent" -- "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? "$status"
	contains "$name: what it says" "$scratch/$name.err" "$words"
}

start_aggregator
start_agent --symbol-cache off
given stored 0 "500 launches and 500 GPU records of 1 process are stored; the agent knows of no loss; the profile is " \
	"$fake_launches" --launches 500
contains "stored: where" "$scratch/stored.err" ":$(realpath "$scratch/profile.db")"
"$flamegrid" report "$scratch/profile.db" --format json >"$scratch/json"
contains "stored: it is there at once" "$scratch/json" '"kernels":500,'
contains "stored: the profile is live" "$scratch/json" '"state":"live"'
given two 3 "200 launches and 200 GPU records of 2 processes are stored" bash -c \
	'"$1" --launches 100 >/dev/null; "$1" --launches 100 >/dev/null; exit 3' two "$fake_launches"
mkfifo "$scratch/progress"
given killed 137 "of 1 process are stored; INCOMPLETE: 1 ended without a goodbye (killed, or by _exit)" bash -c \
	'"$1" --forever --progress "$2" >/dev/null & read -r _ <"$2"; kill -9 $!; wait $!' killed "$fake_launches" "$scratch/progress"
given plain 0 "this job was not profiled: the agent knows of no process of it that started CUDA" true
given limited 0 "1 process of this job could not be profiled: its limit of file sizes (ulimit -f, 1048576 bytes)" \
	bash -c 'ulimit -f 1024; exec "$@"' limited "$fake_launches" --launches 100

kill -STOP "$agent"
given frozen 7 "the agent does not answer" sh -c 'exit 7'
kill -CONT "$agent"
kill -9 "$agent"
wait "$agent" 2>/dev/null
"$flamegrid" run --agent "$scratch/agent" --strict -- true 2>"$scratch/gone.err"
check "gone: said" grep -q 'agent' "$scratch/gone.err"
kill -TERM "$daemon"
wait "$daemon"
same "the aggregator's status" $? 0
"$flamegrid" report "$scratch/profile.db" --strict >/dev/null 2>"$scratch/strict.err"
same "a killed agent without a successor: report --strict" $? 3
contains "it is named" "$scratch/strict.err" "1 of 1 agent did not say goodbye"
