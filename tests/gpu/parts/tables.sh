# Unwind tables of what PyTorch loads: once for a node, and from disk.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

tables() {
	local bench=$root/bench/tables_bench libs
	[ -x "$bench" ] || { echo "left out: no $bench"; return; }
	libs=$(python3 -c 'import torch, os; print(os.path.dirname(torch.__file__) + "/lib")') || return
	for processes in 1 8; do
		"$bench" "$scratch/tables.$processes" $processes "$libs/libtorch_cpu.so" "$libs/libtorch_cuda.so" \
			"$libs/libtorch_python.so"
	done
}
