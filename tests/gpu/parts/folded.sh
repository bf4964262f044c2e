# One run on all GPUs, folded by aggregators of two made-up nodes and by one of both, from the same events
# (tests/support/merged_nodes.sh).
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# folded_rank RANK RANKS COMMAND...: in the background, with its GPU; the first half of the ranks are one node's.
folded_rank() {
	local rank=$1 ranks=$2
	shift 2
	# With LOCAL_RANK the process chooses its GPU itself; NCCL wants to see all.
	RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT=29517 \
		"$flamegrid" run --agent "$scratch/folded/agent.$((rank * 2 / ranks))" -- "$@" >"$out/folded.$rank.out" 2>&1 &
	folded_pids="$folded_pids $!"
}

folded() {
	local support=$here/../support ranks=$gpus way r pid

	[ "$gpus" -ge 1 ] || { echo "left out: no GPU"; return; }
	[ "$ranks" -ge 2 ] || ranks=2
	# shellcheck source=/dev/null
	. "$support/merged_nodes.sh"
	merged_begin "$scratch/folded" 2
	same "folded: aggregators and agents" $? 0
	folded_pids=
	for ((r = 0; r < ranks; r++)); do
		if have_torch && [ "$gpus" -ge 2 ]; then
			folded_rank $r "$ranks" python3 "$here/programs/ddp.py"
		else
			CUDA_VISIBLE_DEVICES=$((r % gpus)) folded_rank $r "$ranks" "$scratch/programs/launch_bound" 400000
		fi
	done
	for pid in $folded_pids; do wait "$pid"; same "folded: a rank's status" $? 0; done
	merged_end
	same "folded: the ends of all, and both merges" $? 0
	cat "$scratch/folded/merge.log"
	for way in central merged; do
		merged_lines $way >"$out/folded.$way.lines"
		"$flamegrid" report "$merged/$way" --strict -o /dev/null
		same "$way: nothing lost (report --strict)" $? 0
		"$flamegrid" report "$merged/$way" -u ns -o "$out/folded.$way.ns.folded" 2>/dev/null
		same "$way: ns in folded lines, and what CUPTI delivered" "$(leaf_sum "$out/folded.$way.ns.folded" '\\[GPU')" \
			"$(delivered_ns "$merged/$way")"
	done
	same "folded: ns of both" "$(delivered_ns "$merged/merged")" "$(delivered_ns "$merged/central")"
	at_least "folded: lines" "$(wc -l <"$out/folded.central.lines")" 20
	same "folded: lines that differ" "$(diff "$out/folded.central.lines" "$out/folded.merged.lines" | grep -c '^[<>]')" 0
}
