# NCCL beside samples of running kernels and beside measured launches: who launches an all-reduce must never wait for
# itself.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# In this order again and again: two of four runs have exact windows.
ncclbeside_options=("--sample-gpu 1000/s" "--metrics roofline --launches 1000000" "--sample-gpu 1000/s"
	"--record stalls")

# One thread with two GPUs. NCCLBESIDE_RUNS: how often.
ncclbeside_thread() {
	local header library number good=0 whole=0

	header=$(python3 -c 'import glob, sysconfig
print(*glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/nccl/include/nccl.h"))')
	if [ -z "$header" ]; then echo "left out: no nccl.h of Python's"; return; fi
	library=${header%/include/*}/lib
	nvcc -O2 -lineinfo -arch=native -I"${header%/*}" "$here/programs/nccl_beside.cu" -o "$scratch/nccl_beside" \
		-Xlinker "$library/libnccl.so.2" -Xlinker "-rpath=$library" 2>"$out/nvcc-ncclbeside.log" ||
		{ not_ok "nvcc: $out/nvcc-ncclbeside.log"; return; }
	for ((number = 0; number < ${NCCLBESIDE_RUNS:-100}; number++)); do
		rm -rf "$scratch/ncclbeside"
		# shellcheck disable=SC2086 # words
		timeout -k 5 60 "$flamegrid" run ${ncclbeside_options[number % 4]} -o "$scratch/ncclbeside" -- \
			"$scratch/nccl_beside" >"$out/ncclbeside.stdout" 2>"$out/ncclbeside.stderr" &&
			good=$((good + 1))
		grep -q "nothing lost" "$out/ncclbeside.stderr" && whole=$((whole + 1))
	done
	grep '^flamegrid:' "$out/ncclbeside.stderr"
	same "ncclbeside: runs that ended well" "$good" "${NCCLBESIDE_RUNS:-100}"
	same "ncclbeside: runs that lost nothing" "$whole" "${NCCLBESIDE_RUNS:-100}"
}

# A process for each GPU, of PyTorch: NCCL launches from the thread of backward(). NCCLBESIDE_TORCH_RUNS: how often.
ncclbeside_torch() {
	local number good=0

	if ! have_torch; then echo "left out: no PyTorch"; return; fi
	for ((number = 0; number < ${NCCLBESIDE_TORCH_RUNS:-4}; number++)); do
		rm -rf "$scratch/ncclbeside"
		# shellcheck disable=SC2086 # words
		timeout -k 5 120 "$flamegrid" run ${ncclbeside_options[number % 4]} -o "$scratch/ncclbeside" -- \
			torchrun --nproc_per_node=2 "$here/programs/ddp.py" >"$out/ncclbeside.torch.stdout" \
			2>"$out/ncclbeside.torch.stderr" &&
			good=$((good + 1))
		echo "        ${ncclbeside_options[number % 4]}: $(tr -s ' \n' ' ' <"$out/ncclbeside.torch.stdout")"
		grep -h 'measured\|samples\|lost' "$out/ncclbeside.torch.stderr" | head -6
	done
	same "ncclbeside: runs of PyTorch that ended well" "$good" "${NCCLBESIDE_TORCH_RUNS:-4}"
}

ncclbeside() {
	if [ "$gpus" -lt 2 ]; then echo "left out: one GPU"; return; fi
	ncclbeside_thread
	ncclbeside_torch
}
