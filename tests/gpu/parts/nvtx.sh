# NVTX ranges and streams.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# NVTX ranges and streams of a training loop, and what ranges cost.
nvtx() {
	have_torch || { echo "left out: no PyTorch"; return; }
	FLAMEGRID_RECORD=nvtx profile nvtx_train python3 "$here/programs/nvtx_train.py"
	local folded=$out/nvtx_train.count.folded
	same "nvtx_train: forward under [NVTX]forward" \
		"$(grep 'Linear.forward' "$folded" | grep -cvE '^\[NVTX\]step [0-9#]+;\[NVTX\]forward;')" 0
	same "nvtx_train: 64 steps by number" \
		"$(cut -d';' -f1 "$folded" | grep '^\[NVTX\]step [0-9]*$' | sort -u | wc -l)" 64
	same "nvtx_train: the others are one" "$(cut -d';' -f1 "$folded" | grep '^\[NVTX\]step #$' | sort -u | wc -l)" 1
	same "nvtx_train: copies on a stream of priority -1" \
		"$(grep 'Memcpy\]HtoD' "$out/nvtx_train.streams.folded" | grep -c '^GPU0;stream[0-9]* (priority -1);')" \
		"$(grep 'Memcpy\]HtoD' "$out/nvtx_train.streams.folded" | grep -c '\[NVTX\]input')"
	grep -E 'context [0-9]+ stream' "$out/nvtx_train.table"
	echo "tiny_train with --nvtx, and without:"
	FLAMEGRID_RECORD=nvtx with flamegrid python3 "$here/programs/tiny_train.py" 2>/dev/null | tail -n 1
	with flamegrid python3 "$here/programs/tiny_train.py" 2>/dev/null | tail -n 1
}
