# Waits, overhead, unified memory and loads of code.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# Waits, overhead, unified memory and loads of code, in known numbers.
timeline() {
	local rounds=30 mib=67108864

	FLAMEGRID_RECORD=sync,overhead,um,modules profile timeline "$scratch/programs/timeline_work" $rounds
	cat "$out/timeline.stdout"
	for name in sync overhead um modules; do
		plane timeline $name
		echo "-- $name: count"
		cat "$out/timeline.$name.count.folded"
	done
	same "timeline: waits for the device" "$(under "$out/timeline.sync.count.folded" wait_for_device '_Sync.context')" $rounds
	same "timeline: waits for a stream" "$(under "$out/timeline.sync.count.folded" wait_for_stream '_Sync.stream')" $rounds
	same "timeline: waits for an event" "$(under "$out/timeline.sync.count.folded" wait_for_event '_Sync.event')" $rounds
	same "timeline: streams that wait for an event" "$(under "$out/timeline.sync.count.folded" order_streams '_Sync.stream wait event')" $rounds
	same "timeline: waits without a GPU" "$(grep -c 'GPU?_Sync' "$out/timeline.sync.count.folded")" 0
	same "timeline: waits without a call" "$(grep -c '^\[unknown stack' "$out/timeline.sync.count.folded")" 0
	for call in cuModuleLoadData cuModuleGetFunction; do
		same "timeline: $call" "$(under "$out/timeline.modules.count.folded" load_module "_Module.$call")" $rounds
	done
	for call in cuLibraryLoadData cuLibraryGetKernel cuKernelGetFunction; do
		same "timeline: $call" "$(under "$out/timeline.modules.count.folded" load_library "_Module.$call")" $rounds
	done
	at_least "timeline: bytes to the GPU" "$(leaf_sum "$out/timeline.um.bytes.folded" 'migration HtoD')" $((2 * rounds * mib))
	at_least "timeline: bytes to the host" "$(leaf_sum "$out/timeline.um.bytes.folded" 'migration DtoH')" $((2 * rounds * mib))
	at_least "timeline: page faults of the GPU" "$(leaf_sum "$out/timeline.um.count.folded" 'GPU page fault')" $rounds
	at_least "timeline: page faults of the host" "$(leaf_sum "$out/timeline.um.count.folded" 'CPU page fault')" $rounds
	at_least "timeline: overhead" "$(leaf_sum "$out/timeline.overhead.count.folded" _Overhead)" 1
	same "timeline: gpu.ns.folded has GPU work alone" "$(grep -cE '_(Sync|Overhead|UM|Module)\]' "$scratch/timeline/gpu.ns.folded")" 0
	cp "$scratch/timeline/flame.html" "$out/timeline.html"
	if have_torch; then
		FLAMEGRID_RECORD=sync,overhead,um,modules profile timeline_train python3 "$here/programs/tiny_train.py"
		for name in sync overhead modules; do
			plane timeline_train $name
			echo "timeline_train: $name: $(awk '{ s += $NF } END { printf "%.0f\n", s }' "$out/timeline_train.$name.count.folded") records"
		done
		"$flamegrid" report "$scratch/timeline_train" --planes all --format table --top 40
	fi
}

# What each option costs where launches are all there is: the median of launch_bound over CUPTI's floor.
options() {
	local kind figures floor

	for _ in 1 2 3 4 5; do
		for kind in floor flamegrid record=sync record=overhead record=um record=modules record=sync,overhead,um,modules; do
			with $kind "$scratch/programs/launch_bound" 200000 2>/dev/null |
				sed -n 's/^thread 0 device 0 ns.launch://p' | tr ' ' '\n' | grep -v '^$' | tail -n +2 \
				>>"$scratch/options.$kind"
		done
	done
	floor=$(median <"$scratch/options.floor")
	for kind in floor flamegrid record=sync record=overhead record=um record=modules record=sync,overhead,um,modules; do
		figures=$(median <"$scratch/options.$kind")
		awk -v k="$kind" -v v="$figures" -v f="$floor" 'BEGIN { printf "launch_bound %-36s %.0f ns a launch, floor %+.0f\n", k, v, v - f }'
	done
}
