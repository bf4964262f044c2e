# Ends of processes, children, and a killed agent.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# What the fake assumes of the driver's end and of forked children; and the program is the same with us.
life() {
	local how

	build_driver_program
	for how in "" child after; do
		"$scratch/driver_program" $how >"$out/life.plain" 2>"$out/life.plain.err"
		same "life $how: status without us" $? 0
		"$flamegrid" run -q -o "$scratch/life" -- "$scratch/driver_program" $how >"$out/life.run" 2>"$out/life.run.err"
		same "life $how: status with us" $? 0
		same "life $how: output" "$(cat "$out/life.run" "$out/life.run.err")" "$(cat "$out/life.plain" "$out/life.plain.err")"
		same "life $how: kernels in the profile" \
			"$("$flamegrid" report "$scratch/life" --format folded --weight count 2>/dev/null | awk '{ s += $NF } END { printf "%.0f\n", s }')" 300
		grep -E 'forked child|exit handler' "$out/life.plain"
	done
	same "life: CUDA in a forked child (NOT_INITIALIZED)" "$("$scratch/driver_program" child | sed -n 's/in a forked child: //p')" 3
	same "life: CUDA after its exit handler (DEINITIALIZED)" "$("$scratch/driver_program" after | sed -n "s/after CUDA's exit handler: //p")" 4
	for how in /usr/local/cuda*/lib64/libcupti.so.1? /usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1? "$cupti"; do
		[ -r "$how" ] || continue
		FLAMEGRID_CUPTI=$how "$flamegrid" run -q -o "$scratch/life" -- "$scratch/driver_program" >/dev/null 2>&1
		same "life with $how: status" $? 0
		"$flamegrid" report "$scratch/life" --format json 2>/dev/null | grep -A3 '^"notices"'
	done
}

# The agent killed and started again in the middle of a job: every kernel once.
restart() {
	local launches=300000 agent job aggregator

	build_driver_program
	"$flamegrid" aggregate --listen "ipc://$scratch/aggregator" --store "$scratch/restart.db" 2>"$out/restart.aggregator" &
	aggregator=$!
	"$flamegrid" agent --connect "ipc://$scratch/aggregator" --socket "$scratch/agent" 2>"$out/restart.agent" &
	agent=$!
	until [ -S "$scratch/agent" ]; do sleep 0.1; done
	"$flamegrid" run --agent "$scratch/agent" -- "$scratch/driver_program" $launches >"$out/restart.stdout" 2>"$out/restart.stderr" &
	job=$!
	for _ in 1 2 3; do
		sleep 6
		kill -9 $agent
		wait $agent 2>/dev/null
		"$flamegrid" agent --connect "ipc://$scratch/aggregator" --socket "$scratch/agent" 2>>"$out/restart.agent" &
		agent=$!
	done
	wait $job
	same "restart: the job's status" $? 0
	kill -TERM $agent
	wait $agent
	kill -TERM $aggregator
	wait $aggregator
	same "restart: kernels" "$("$flamegrid" report "$scratch/restart.db" --format folded --weight count 2>/dev/null |
		awk '{ s += $NF } END { printf "%.0f\n", s }')" $launches
	"$flamegrid" report "$scratch/restart.db" --strict >"$out/restart.table" 2>&1
	same "restart: nothing lost (report --strict)" $? 0
	grep -i 'lost' "$out/restart.table"
}
