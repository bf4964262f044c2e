#!/usr/bin/env bash
# Whatever dies in the middle of a job of two nodes, the profile says what is missing and where, and report --strict is 3
# exactly then. What the user or the scheduler stops has a normal end.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime FAKE_CUDA_DEVICES=1
mkdir -m 700 "$XDG_RUNTIME_DIR"
node_devices 1 0 1
declare -A run_pid job_pid progress
at_end() { kill -9 "${run_pid[@]}" "${job_pid[@]}" 2>/dev/null; }

# begin STEP: rank 0 on node0, ranks 1 and 2 on node1, which launch for ever; all of them have begun, and some of it is stored.
begin() {
	local r
	for r in 0 1 2; do
		mkfifo "$scratch/progress.$r"
		env PMIX_NAMESPACE="$1" OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=3 FAKE_CUDA_HOST_SEED=$((r > 0 ? 2 : 1)) \
			FAKE_CUDA_LAUNCH_NS=50000 "$flamegrid" run --node-name "node$((r > 0))" --devices "$scratch/devices.$((r > 0))" \
			-o "$scratch/$1" -- "$fake_launches" --forever --progress "$scratch/progress.$r" \
			>"$scratch/out.$r" 2>"$scratch/err.$r" &
		run_pid[$r]=$!
	done
	for r in 0 1 2; do
		exec {fd}<"$scratch/progress.$r"
		read -r job_pid[$r] _ <&$fd
		progress[$r]=$fd
	done
	until [ "$("$flamegrid" report "$scratch/$1" --by rank 2>/dev/null | cut -d';' -f1 | sort -u | wc -l)" -eq 3 ]; do nap; done
}
# keepers STEP NODE WHICH: one of this step, on this node: keep (which starts job again), job, node, stby (which takes over).
keepers() { pgrep -x -f ".*run --node-name node$2 .*$scratch/$1 .*" | while read -r pid; do [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "flamegrid-$3" ] && echo "$pid"; done; }
end() {
	local r fd
	wait "${run_pid[@]}" 2>/dev/null # whose statuses are others' matter
	for r in 0 1 2; do
		fd=${progress[$r]}
		exec {fd}<&-
		rm -f "$scratch/progress.$r"
	done
}
stop_all() { kill -TERM "${run_pid[@]}" 2>/dev/null; }
# verdict STEP STATUS WORDS...
verdict() {
	local step=$1 status=$2 which
	shift 2
	until ! { keepers "$step" 0 keep; for which in node stby job; do keepers "$step" 0 $which; keepers "$step" 1 $which; done; } | grep -q .; do nap; done
	"$flamegrid" report "$scratch/$step" --strict >/dev/null 2>"$scratch/verdict"
	same "$step: report --strict" $? "$status"
	for words in "$@"; do contains "$step: $words" "$scratch/verdict" "$words"; done
	[ "$status" -eq 0 ] || same "$step: 'nothing lost'" "$(grep -c 'nothing lost' "$scratch/verdict")" 0
}

begin term
stop_all
end
verdict term 0 "stopped by SIGTERM or SIGHUP at "

begin killed
kill -KILL "${job_pid[@]}"
end
verdict killed 3 "INCOMPLETE: 3 of 3 processes ended without a goodbye" "node0 (rank 0)" "node1 (ranks 1-2)"

begin oom
kill -KILL "${job_pid[1]}"
wait "${run_pid[1]}" 2>/dev/null
stop_all
end
verdict oom 3 "INCOMPLETE: 1 of 3 process" "node1 (rank 1)" "stopped by SIGTERM"

# What rank 0 launches goes on, and no more of it is recorded.
begin runner
kill -KILL "${run_pid[0]}"
stop_all
end
verdict runner 3 "ran on when the recording was cut off, so what came later is missing [cut_off]: node0 (rank 0) since 20"
kill -KILL "${job_pid[0]}"

begin agent
kill -KILL "$(keepers agent 1 node)"
stop_all
end
verdict agent 3 "1 of 2 agents did not say goodbye" "node1 (ranks 1-2) since 20"

begin node1
kill -KILL "$(keepers node1 1 node)" "${run_pid[1]}" "${run_pid[2]}" "${job_pid[1]}" "${job_pid[2]}"
stop_all
end
verdict node1 3 "1 of 2 agents did not say goodbye" "node1 (ranks 1-2) since 20"

# Another node goes on with the profile.
begin node0
kill -KILL "$(keepers node0 0 keep)" "$(keepers node0 0 job)" "$(keepers node0 0 node)" "${run_pid[0]}" "${job_pid[0]}"
stop_all
end
verdict node0 3 "INCOMPLETE: 1 of 2 agents did not say goodbye" "node0 (rank 0) since 20"
same "node0: 'its aggregator ended'" "$(grep -c 'its aggregator ended' "$scratch/verdict")" 0

# Its parent starts the aggregator again, which closes the profile: only what node0 had not sent is missing.
begin survivor
kill -KILL "$(keepers survivor 0 job)" "$(keepers survivor 0 node)" "${run_pid[0]}" "${job_pid[0]}"
stop_all
end
verdict survivor 3 "agents did not say goodbye" "node0 (rank 0) since 20"
same "survivor: 'its aggregator ended'" "$(grep -c 'its aggregator ended' "$scratch/verdict")" 0
