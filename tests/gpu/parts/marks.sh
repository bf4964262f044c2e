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
}
