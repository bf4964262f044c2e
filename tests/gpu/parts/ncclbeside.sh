# NCCL beside samples of running kernels: one thread that launches an all-reduce on two GPUs must never wait for itself.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# NCCLBESIDE_RUNS: how often; three of four with exact windows.
ncclbeside() {
	local header library number options good=0 whole=0

	header=$(python3 -c 'import glob, sysconfig
print(*glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/nccl/include/nccl.h"))')
	if [ -z "$header" ] || [ "$gpus" -lt 2 ]; then echo "left out: no nccl.h of Python's, or one GPU"; return; fi
	library=${header%/include/*}/lib
	nvcc -O2 -lineinfo -arch=native -I"${header%/*}" "$here/programs/nccl_beside.cu" -o "$scratch/nccl_beside" \
		-Xlinker "$library/libnccl.so.2" -Xlinker "-rpath=$library" 2>"$out/nvcc-ncclbeside.log" ||
		{ not_ok "nvcc: $out/nvcc-ncclbeside.log"; return; }
	for ((number = 1; number <= ${NCCLBESIDE_RUNS:-100}; number++)); do
		options="--sample-gpu 1000/s"
		((number % 4)) || options="--record stalls"
		rm -rf "$scratch/ncclbeside"
		# shellcheck disable=SC2086 # words
		timeout -k 5 60 "$flamegrid" run $options -o "$scratch/ncclbeside" -- "$scratch/nccl_beside" \
			>"$out/ncclbeside.stdout" 2>"$out/ncclbeside.stderr" &&
			good=$((good + 1))
		grep -q "nothing lost" "$out/ncclbeside.stderr" && whole=$((whole + 1))
	done
	same "ncclbeside: runs that ended well" "$good" "${NCCLBESIDE_RUNS:-100}"
	same "ncclbeside: runs that lost nothing" "$whole" "${NCCLBESIDE_RUNS:-100}"
}
