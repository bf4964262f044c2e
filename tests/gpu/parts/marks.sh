# Steps, ranges and names of streams that a program of PyTorch tells by Flamegrid's package.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# marks: what the program marks stands above its GPU work, and one step of ten can be captured.
marks() {
	have_torch || { echo "left out: no PyTorch"; return; }
	local folded=$out/marked_train.count.folded
	FLAMEGRID=$flamegrid FLAMEGRID_RECORD=nvtx profile marked_train python3 "$here/programs/marked_train.py"
	same "marked_train: forward outside of [NVTX]step;[NVTX]forward" \
		"$(grep 'Linear.forward' "$folded" | grep -cvE '^\[NVTX\]step;[^;]*\[NVTX\]forward;')" 0
	same "marked_train: 60 copies on the stream of the name" \
		"$("$flamegrid" report "$scratch/marked_train" --by stream -f folded --weight count 2>/dev/null |
			awk '/^stream[0-9]* "prefetch";.*Memcpy\]HtoD/ { n += $NF } END { print n + 0 }')" 60
	FLAMEGRID=$flamegrid "$flamegrid" run --step-range step --every-steps 10 -o "$scratch/marked_steps" -- \
		python3 "$here/programs/marked_train.py" >/dev/null 2>"$out/marked_steps.stderr"
	same "marked_steps: exit status" $? 0
	grep '^flamegrid:' "$out/marked_steps.stderr"
	same "marked_steps: six windows" "$(grep -c 'in 6 windows, not the run' "$out/marked_steps.stderr")" 1
	same "marked_steps: copies on the stream, one of each step" \
		"$("$flamegrid" report "$scratch/marked_steps" -f folded --weight count 2>/dev/null | awk '/Memcpy\]HtoD/ { n += $NF } END { print n + 0 }')" 6
	marks_timeline
}

# Steps and ranges of a timeline: each launch of a thread with ranges lies in the slices that its stack names.
marks_timeline() {
	local readers=$here/../end-to-end/readers

	FLAMEGRID=$flamegrid "$flamegrid" run --timeline all --nvtx -o "$scratch/marked_timeline" -- \
		python3 "$here/programs/marked_train.py" >/dev/null 2>"$out/marked_timeline.stderr"
	same "marked_timeline: exit status" $? 0
	for choice in "" "--step 30" --around-worst; do
		# shellcheck disable=SC2086 # words
		"$flamegrid" timeline "$scratch/marked_timeline" $choice -o "$out/marked${choice// /_}.perfetto"
		same "marked_timeline $choice: exit status" $? 0
		python3 "$readers/read_ranges.py" "$out/marked${choice// /_}.perfetto" --nvtx >"$scratch/ranges" 2>&1
		same "marked_timeline $choice: ranges are those of the launches" $? 0
		grep -v '^work' "$scratch/ranges"
	done
	same "marked_timeline: no step 61" "$("$flamegrid" timeline "$scratch/marked_timeline" --step 61 -o "$scratch/t" 2>&1 |
		grep -c 'step 61 is not there: steps 2 to 60')" 1
}
