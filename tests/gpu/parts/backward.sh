# PyTorch's backward kernels under the lines of their forward operations.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

backward() {
	have_torch || { echo "left out: no PyTorch"; return; }
	local model
	for model in parts gpt resnet50 accumulate ddp compiled graph; do
		profile "backward_$model" python3 "$here/programs/backward_train.py" "$model" 30 "$scratch/$model.truth"
		cat "$out/backward_$model.stdout"
		if python3 "$here/programs/backward_check.py" "$model" "$out/backward_$model.ns.folded" "$scratch/$model.truth"; then
			ok "backward_$model: no line is wrong"
		else
			not_ok "backward_$model: lines that made other nodes"
		fi
		cp "$scratch/$model.truth" "$scratch/backward_$model/flame.html" "$out/" 2>/dev/null && mv "$out/flame.html" "$out/backward_$model.html"
	done
}
