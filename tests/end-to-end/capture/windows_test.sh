#!/usr/bin/env bash
# Capture windows, on fake CUDA: exactly what was launched within them is in the profile, none of it is lost, CUPTI leaves the
# process where that is safe and stays where it is not.
. "$(dirname "$0")/../support/harness.sh"
fake_windows=$BUILD/tests/fake_windows
list=$(devices 2)

# captured NAME OPTIONS -- ARGUMENTS: a run under these options; $scratch/NAME.out and .err, and a count of each kernel. A program does not
# wait for an agent that has no CPU for half a second, and the run says so: then again.
captured() {
	local name=$1 options=() status
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	for _ in 1 2 3 4 5; do
		rm -rf "$scratch/$name"
		FAKE_CUDA_DEVICES=2 timeout 120 "$flamegrid" run --devices "$list" "${options[@]}" -o "$scratch/$name" -- \
			"$fake_windows" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
		status=$?
		grep -q 'NOTHING WAS RECORDED: no process started CUDA' "$scratch/$name.err" || break
	done
	same "$name: status" $status 0
	"$flamegrid" report "$scratch/$name" --format folded --weight count 2>/dev/null >"$scratch/$name.folded"
}
whole() { "$flamegrid" report "$scratch/$1" --strict >"$scratch/$1.table" 2>&1; same "$1: nothing lost (--strict)" $? 0; }
kernels() { awk -v leaf="_Kernel]$2" '{ n = $NF; sub(/ [0-9]+$/, ""); if (substr($0, length($0) - length(leaf) + 1) == leaf) s += n } END { printf "%.0f\n", s }' "$scratch/$1.folded"; }
launched() { sed -n "s/^$2 //p" "$scratch/$1.out"; }
noted() { sed -n "s/.*\[$2\]: //p" "$scratch/$1.err" | head -n 1 | tr -d ,; }

for threads in 1 4; do
	for wait in device stream event; do
		name=range_${threads}_$wait
		captured $name --capture-range profiler -- --rounds 40 --threads $threads --wait $wait
		whole $name
		same "$name: kernels within" "$(kernels $name inside)" "$(launched $name inside)"
		same "$name: kernels without" "$(kernels $name outside)" 0
		same "$name: records without a launch" "$(noted $name unmatched_record)" ""
		same "$name: launches without a record" "$(noted $name launch_expired)" ""
		contains "$name: says that it is not the run" "$scratch/$name.err" "window"
	done
done
# The wait just before a range is the moment to leave CUPTI. The call that opens the range is heard all the same.
for threads in 1 4; do
	name=range_long_$threads
	captured $name --capture-range profiler -- --rounds 4 --threads $threads --long 300
	whole $name
	same "$name: kernels within" "$(kernels $name inside)" "$(launched $name inside)"
	same "$name: kernels without" "$(kernels $name outside)$(kernels $name long)" 00
done
# Long enough for the unwind tables to be ready on a busy machine.
captured range_stacks --capture-range profiler -- --milliseconds 500
same "range: stacks are whole" "$(grep -c 'main;run_round;inside_window;launch;cudaLaunchKernel\|main;inside_window;launch;cudaLaunchKernel' "$scratch/range_stacks.folded")" 1

# Graphs that were captured before the window: their nodes stand under the launch, and are counted.
captured graphs --capture-range profiler -- --rounds 20 --graphs
whole graphs
same "graphs: nodes" "$(kernels graphs inside)" "$(launched graphs inside)"
same "graphs: without the stack of their capture" "$(noted graphs capture_unknown)" "$(launched graphs inside)"

# A kernel that waits for the host is outstanding at every end: to leave CUPTI would wait for ever.
captured held --capture-range profiler -- --rounds 20 --hold
whole held
same "held: kernels within" "$(kernels held inside)" "$(launched held inside)"
captured held_duty --duty 20ms/60ms -- --milliseconds 1500 --hold
check "held: kernels" [ "$(kernels held_duty inside)" -gt 0 ]

# Several GPUs in one process: what one thread launches on one may wait for the other.
captured devices --duty 20ms/60ms -- --milliseconds 1500 --threads 3 --devices 2
check "devices: kernels" [ "$(kernels devices inside)" -gt 0 ]
same "devices: records without a launch" "$(noted devices unmatched_record)" ""
check "devices: launches have their records" [ "$(($(noted devices launch_expired)))" -le 30 ]
contains "devices: CUPTI stays, and that is said" "$scratch/devices.err" "the process works on several GPUs"

# By the clock: a part of the run, each launch with its record. Again with four times the time, if the program had no
# processor in most of its windows.
windows() { sed -n 's/.* in \([0-9]*\) windows, not the run.*/\1/p' "$scratch/$1.err"; }
for threads in 1 4; do
	name=duty_$threads
	for ms in 1200 4800 19200; do
		captured $name --duty 20ms/60ms -- --milliseconds $ms --threads $threads
		[ "$(windows $name)" -ge 5 ] && break
	done
	whole $name
	check "$name: not all" [ "$(kernels $name inside)" -lt "$(launched $name inside)" ]
	check "$name: windows" [ "$(windows $name)" -ge 5 ]
	same "$name: records without a launch" "$(noted $name unmatched_record)" ""
	same "$name: launches without a record" "$(noted $name launch_expired)" ""
done
# Again with twice the time, if the program had no processor in its window, or none after it.
for ms in 200 400 800 1600 3200 6400; do
	captured later --delay 100ms --duration ${ms}ms -- --milliseconds $((3 * ms))
	grep -q "in 1 window, not the run" "$scratch/later.err" && [ "$(kernels later inside)" -lt "$(launched later inside)" ] && break
done
check "later: not all" [ "$(kernels later inside)" -lt "$(launched later inside)" ]
contains "later: one window" "$scratch/later.err" "in 1 window, not the run"
captured never --delay 1h -- --rounds 5
same "never: kernels" "$(wc -l <"$scratch/never.folded")" 0
FLAMEGRID_WINDOW=dormant captured dormant -- --rounds 5
same "dormant: kernels" "$(wc -l <"$scratch/dormant.folded")" 0
captured whole -- --rounds 5
same "the whole run has no windows" "$(grep -c 'not the run' "$scratch/whole.err")" 0

# Bad options end before the command starts.
for bad in "--delay 1x" "--duration 0" "--duty 2s/1s" "--duty 1s" "--sample-gpu 9/s --duty 50ms/1s" "--duty 999ms/2s --sample-gpu 9/s" \
	"--capture-range nvtx:" "--capture-range other"; do
	"$flamegrid" run $bad -o "$scratch/bad" -- touch "$scratch/started" 2>"$scratch/bad.err"
	same "$bad: status" $? 125
	check "$bad: one line" [ "$(wc -l <"$scratch/bad.err")" -eq 1 ]
done
check "bad options: nothing was started" [ ! -e "$scratch/started" ]
