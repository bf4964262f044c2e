#!/usr/bin/env bash
# A node's agent, good jobs, and processes of another user that hand it what no guest would. The good jobs' profiles are
# exact to the nanosecond, the agent keeps next to nothing of the others, and ends as always.
# Each job beside a hostile process comes after one that is alone, so that what else the machine does meets both alike.
# With FLAMEGRID_NIGHTLY a third job runs beside a neighbour, who does the same work and gives it to no agent. Times are
# printed, and prove nothing on a busy machine.
#
# The agent's memory is what is resident and its own (RssAnon, RssFile) and what its descriptors keep of guests' rings
# (blocks of memfds, which RssShmem would tell only if the agent mapped them).
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
. "$(dirname "$0")/../support/daemon_harness.sh"
rounds=$(rounds 8 100)
kinds=(rubbish counters names holes epochs lingers places scribbles)

chmod 755 "$scratch"
start_aggregator
start_agent --symbol-cache off --any-user
cp "$BUILD/tests/hostile_guest" "$scratch/hostile_guest"
chmod 755 "$scratch/hostile_guest"

# memory FIELD: of the agent, in KiB.
memory() { awk -v field="$1:" '$1 == field { print $2 }' "/proc/$agent/status"; }
own_memory() { echo $(($(memory RssAnon) + $(memory RssFile))); }
median() { sort -n "$1" | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'; }

# What descriptors of the agent keep of rings: KiB.
ring_memory() {
	local fd sum=0 blocks
	for fd in "/proc/$agent/fd/"*; do
		[[ $(readlink "$fd") == /memfd:flamegrid-ring* ]] || continue
		blocks=$(stat -L -c %b "$fd" 2>/dev/null) && sum=$((sum + blocks / 2))
	done
	echo $sum
}
# stranger SOCKET: a process of another user, of this round's kind, in the background.
stranger() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/hostile_guest" "$1" "$kind" "$round" &
	stranger=$!
}
nr_rings() { find "/proc/$agent/fd" -lname '/memfd:flamegrid-ring*' 2>/dev/null | wc -l; }

# Until the agent holds nothing of processes that ended. It answers after the pass in which it gave the last of it back.
await_ends() {
	until [ "$(nr_rings)" -eq 0 ]; do nap; done
	"$flamegrid" control status --agent "$scratch/agent" >/dev/null
}

# good_job NAME: its truth is NAME.truth; prints microseconds.
good_job() {
	local from
	from=$(date +%s%N)
	FAKE_CUDA_DEVICES=2 FAKE_CUDA_REALTIME=0 FAKE_CUDA_LAUNCH_NS=0 FAKE_CUDA_TRUTH=$scratch/$1.truth "$flamegrid" run \
		--agent "$scratch/agent" -- "$fake_launches" --devices 2 --streams 2 --launches 5000 --kernels 4 --mangled \
		>"$scratch/out" 2>>"$scratch/err" || echo "$1" >>"$scratch/failed"
	echo $((($(date +%s%N) - from) / 1000))
}
hostile_failed=0
: >"$scratch/failed"
good_job first >/dev/null
good_job second >/dev/null
await_ends
alone=$(own_memory)
for round in $(seq "$rounds"); do
	kind=${kinds[$(((round - 1) % ${#kinds[@]}))]}
	good_job "alone$round" >>"$scratch/alone"
	if [ -n "${FLAMEGRID_NIGHTLY:-}" ]; then
		stranger -
		good_job "neighbour$round" >>"$scratch/neighbour"
		wait $stranger
	fi
	stranger "$scratch/agent"
	good_job "beside$round" >>"$scratch/beside"
	wait $stranger || { hostile_failed=$((hostile_failed + 1)); echo "# $kind: status $?"; }
	own_memory >>"$scratch/memory"
done
await_ends
end=$(own_memory) most=$(memory VmHWM)
same "what is kept of rings of processes that ended, in KiB" "$(ring_memory)" 0
# Rings of the agent's own user, whose files and mappings it looks at.
for kind in rubbish counters scribbles; do
	"$scratch/hostile_guest" "$scratch/agent" "$kind" "$rounds" || hostile_failed=$((hostile_failed + 1))
done
good_job last >/dev/null
printf '# agent: %d KiB alone; beside %d: %d in the middle, %d in the end, %d at most\n' "$alone" "$rounds" \
	"$(median "$scratch/memory")" "$end" "$most"
printf '# a job: %d us alone, %d beside\n' "$(median "$scratch/alone")" "$(median "$scratch/beside")"
[ -z "${FLAMEGRID_NIGHTLY:-}" ] || printf '# a job: %d us beside a neighbour\n' "$(median "$scratch/neighbour")"
same "good jobs that failed" "$(wc -l <"$scratch/failed")" 0
same "hostile processes that were not let in" $hostile_failed 0
# At any time: 100 processes at once take 5 MiB; names that are on their way, 1 MiB.
check "the agent has at most 8 MiB more at any time" [ "$most" -lt $((alone + 8 * 1024)) ]
check "the agent keeps at most a tenth more" [ $((end * 10)) -le $((alone * 11)) ]

(exit 0) &
end_all $!
for weight in ns count; do
	if [ $weight = ns ]; then option="--unit ns" column=valid_ns; else option="--weight count" column=valid_count; fi
	by_stream "$scratch/profile.db" $option 2>/dev/null | grep ']_Z' >"$scratch/have"
	truth_by_stream $column "$scratch"/*.truth >"$scratch/want"
	same_lines "good jobs: $weight by GPU, stream and name" "$scratch/have" "$scratch/want"
done
