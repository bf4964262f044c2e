#!/usr/bin/env bash
# A node's agent, good jobs, and processes of another user that hand it what no guest would. The good jobs' profiles are
# exact to the nanosecond, the agent takes no more memory than docs/architecture.md says, and ends as always.
# HOSTILE_ROUNDS: how many; HOSTILE_FIGURES=1 prints what memory and jobs come to, with as many rounds without them before.
. "$(dirname "$0")/harness.sh"
list=$(devices 2)
. "$(dirname "$0")/daemon_harness.sh"
rounds=${HOSTILE_ROUNDS:-7}
kinds=(rubbish counters names holes epochs lingers places)

chmod 755 "$scratch"
start_aggregator
start_agent --symbol-cache off --any-user
cp "$BUILD/tests/hostile_guest" "$scratch/hostile_guest"
chmod 755 "$scratch/hostile_guest"

# memory FIELD: of the agent, in KiB.
memory() { awk -v field="$1:" '$1 == field { print $2 }' "/proc/$agent/status"; }
median() { sort -n "$1" | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'; }

# good_job NAME: its truth is NAME.truth, and its time is appended to times.
good_job() {
	local from
	from=$(date +%s%N)
	FAKE_CUDA_DEVICES=2 FAKE_CUDA_REALTIME=0 FAKE_CUDA_LAUNCH_NS=0 FAKE_CUDA_TRUTH=$scratch/$1.truth "$flamegrid" run \
		--agent "$scratch/agent" -- "$fake_launches" --devices 2 --streams 2 --launches 5000 --kernels 4 --mangled \
		>"$scratch/out" 2>>"$scratch/err" || jobs_failed=$((jobs_failed + 1))
	echo $((($(date +%s%N) - from) / 1000)) >>"$scratch/times"
}
jobs_failed=0 hostile_failed=0
good_job first
if [ -n "${HOSTILE_FIGURES:-}" ]; then
	for round in $(seq "$rounds"); do good_job "alone$round"; done
	printf '# alone: agent %d KiB, a job %d us\n' "$(memory VmRSS)" "$(median "$scratch/times")"
fi
: >"$scratch/times"
for round in $(seq "$rounds"); do
	kind=${kinds[$(((round - 1) % ${#kinds[@]}))]}
	setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/hostile_guest" "$scratch/agent" "$kind" "$round" &
	hostile=$!
	good_job "beside$round"
	wait $hostile || { hostile_failed=$((hostile_failed + 1)); echo "# $kind: status $?"; }
	[ -z "${HOSTILE_FIGURES:-}" ] || memory VmRSS >>"$scratch/memory"
done
good_job last
same "good jobs that failed" $jobs_failed 0
same "hostile processes that were not let in" $hostile_failed 0
if [ -n "${HOSTILE_FIGURES:-}" ]; then
	printf '# beside %d: agent %d KiB in the middle, %d at most, %d in the end; a job %d us\n' "$rounds" \
		"$(median "$scratch/memory")" "$(memory VmHWM)" "$(memory VmRSS)" "$(median "$scratch/times")"
fi
check "the agent's memory stays below 192 MiB" [ "$(memory VmHWM)" -lt $((192 * 1024)) ]
same "pages of guests in the agent, in MiB" $(($(memory RssShmem) / 1024)) 0

(exit 0) &
end_all $!
for weight in ns count; do
	if [ $weight = ns ]; then option="--unit ns" column=valid_ns; else option="--weight count" column=valid_count; fi
	by_stream "$scratch/profile.db" $option 2>/dev/null | grep ']_Z' >"$scratch/have"
	truth_by_stream $column "$scratch"/*.truth >"$scratch/want"
	same_lines "good jobs: $weight by GPU, stream and name" "$scratch/have" "$scratch/want"
done
