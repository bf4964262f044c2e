# PyTorch's backward kernels under the lines of their forward operations.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

backward() {
	have_torch || { echo "left out: no PyTorch"; return; }
	local model
	for model in parts reentrant gpt resnet50 accumulate ddp compiled graph; do
		profile "backward_$model" python3 "$here/programs/backward_train.py" "$model" 30 "$scratch/$model.truth"
		cat "$out/backward_$model.stdout"
		if python3 "$here/programs/backward_check.py" "$model" "$out/backward_$model.ns.folded" "$scratch/$model.truth"; then
			ok "backward_$model: no line is wrong"
		else
			not_ok "backward_$model: lines that made other nodes"
		fi
		cp "$scratch/$model.truth" "$scratch/backward_$model/flame.html" "$out/" 2>/dev/null && mv "$out/flame.html" "$out/backward_$model.html"
	done
	backward_ranks
}

# The same on all GPUs: DDP and FSDP.
backward_ranks() {
	[ "$gpus" -ge 2 ] || { echo "left out: one GPU"; return; }
	local model
	for model in ddp fsdp; do
		profile "ranks_$model" torchrun --nproc_per_node="$gpus" "$here/programs/backward_train.py" "$model" 60 "$scratch/ranks_$model.truth"
		cat "$out/ranks_$model.stdout"
		python3 "$here/programs/backward_check.py" "ranks_$model" "$out/ranks_$model.ns.folded" "$scratch/ranks_$model.truth"
		"$flamegrid" report "$scratch/ranks_$model" --ranks
		cp "$scratch/ranks_$model/flame.html" "$out/ranks_$model.html"
		# As it was without forward lines and without the split.
		"$flamegrid" report "$scratch/ranks_$model" --backward thread --nccl whole -f html -o "$out/ranks_$model.thread.html"
	done
}
