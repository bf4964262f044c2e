#!/usr/bin/env bash
# A job under tight limits on memory lives, and each of its launches is recorded or counted as lost: 96 threads at full
# speed in a cgroup of 200 MiB, and under `ulimit -v`. Where no cgroup can be made, as in a container that may not, the
# first job has a limit on address space instead, and its peak is held to the same 200 MiB. Needs root.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/daemon_harness.sh"
export TMPDIR=$scratch XDG_RUNTIME_DIR=$scratch FAKE_CUDA_REALTIME=0 FAKE_CUDA_LAUNCH_NS=0 MALLOC_ARENA_MAX=2
list=$(devices 2)
limit=$((200 << 20)) threads=96 launches=15000 cgroup=''

# A new cgroup with the limit, of whichever version is mounted with the memory controller.
make_cgroup() {
	local name=flamegrid-test.$$
	if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
		cgroup=/sys/fs/cgroup/memory/$name file=memory.limit_in_bytes
	else
		cgroup=/sys/fs/cgroup/$name file=memory.max
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	fi
	mkdir "$cgroup" && echo $limit >"$cgroup/$file" && return 0
	rmdir "$cgroup"
	cgroup=''
} 2>/dev/null
at_end() {
	kill -9 $daemon $agent 2>/dev/null
	[ -z "$cgroup" ] || rmdir "$cgroup"
}

# limited KIND COMMAND...: in the cgroup $value, or with `ulimit KIND $value`; the peak of its largest process in $scratch/peak.
limited() {
	local kind=$1
	shift
	bash -c 'case $1 in
		cgroup) echo $$ >"$2/cgroup.procs" || exit 99 ;;
		*) ulimit -s 256 "$1" "$2" || exit 99 ;;
		esac
		shift 2
		exec python3 -c "import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
open(sys.argv[1], \"w\").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10))
sys.exit(status)" "$@"' limited "$kind" "$value" "$scratch/peak" "$@"
}

# profiled NAME KIND VALUE WHY: the job's status, its memory and the sum of its launches: those with a kernel, those whose
# kernel was not recorded, and those that were lost.
profiled() {
	local name=$1 kind=$2 value=$3
	rm -f "$scratch"/profile.db*
	start_aggregator
	start_agent --symbol-cache off
	limited "$kind" "$flamegrid" run --agent "$scratch/agent" -- "$fake_launches" --launches $launches \
		--threads $threads --devices 2 >"$scratch/$name.out" 2>"$scratch/$name.err" &
	end_all $!
	"$flamegrid" report "$scratch/profile.db" --strict >"$scratch/$name.folded" 2>"$scratch/$name.report"
	status=$?
	peak=$(cat "$scratch/peak")
	kernels=$(by_stream "$scratch/profile.db" --weight count | awk '{ s += $NF } END { printf "%.0f\n", s }')
	same "$name: launches that are accounted for" \
		$((kernels - $(ledger "$scratch/profile.db" unmatched_record) + $(ledger "$scratch/profile.db" launch_expired) +
			$(ledger "$scratch/profile.db" launch_ring_full) + $(ledger "$scratch/profile.db" launch_no_lane))) \
		$((threads * launches))
	check "$name: kernels were recorded: $kernels" [ "$kernels" -gt 1000 ]
	limited "$kind" "$flamegrid" doctor | grep -E '^(ok  |note)     memory of jobs: ' >"$scratch/$name.doctor"
	contains "$name: doctor says how much, and why" "$scratch/$name.doctor" "MiB, because the $4"
	bound=$(grep -o 'at most [0-9]*' "$scratch/$name.doctor" | tr -dc 0-9)
	check "$name: the peak is within the bound, $bound MiB, and what the simulated CUPTI takes: $peak" \
		[ "$peak" -le $(((bound + 100) << 20)) ]
}

make_cgroup
if [ -n "$cgroup" ]; then
	profiled cgroup cgroup "$cgroup" "cgroup's memory limit is 200 MiB"
	same "the kernel killed nothing" "$(awk '/^oom_kill / { print $2 }' "$cgroup"/memory.oom_control "$cgroup"/memory.events 2>/dev/null)" 0
else
	printf 'no cgroup can be made here: a limit on address space stands for it\n'
	profiled cgroup -v 500000 "limit on address space (ulimit -v) is 489 MiB"
fi
check "the peak is within 200 MiB" [ "$peak" -le $limit ]
same "the report is not said to be whole" $status 3
check "something is lost and said" grep -q 'lost [1-9]' "$scratch/cgroup.report"

profiled address-space -v 800000 "limit on address space (ulimit -v) is 782 MiB"
