# PyTorch's backward kernels under the lines of their forward operations.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# compared NAME TRUTH [SHARE]: the lines of a profile against autograd's own word.
compared() {
	python3 "$here/programs/backward_check.py" "$1" "$out/$1.ns.folded" "$2" "${3:-0}"
	case $? in
	0) ok "$1: no line is wrong" ;;
	2) echo "left out: $1: the lines were not compared with autograd" ;;
	*) not_ok "$1: lines that made other nodes, or less than ${3:-0} % without a mark" ;;
	esac
}

backward_of() {
	local model=$1 wanted=0
	case $model in parts | reentrant) wanted=97 ;; esac
	profile "backward_$model" python3 "$here/programs/backward_train.py" "$model" 30 "$scratch/$model.truth"
	cat "$out/backward_$model.stdout"
	compared "backward_$model" "$scratch/$model.truth" $wanted
	cp "$scratch/$model.truth" "$out/" 2>/dev/null
	cp "$scratch/backward_$model/flame.html" "$out/backward_$model.html"
}

# BACKWARD_OF: which models; all of them if it is not set. Compiling takes longest, and goes on beside the other models.
backward() {
	have_torch || { echo "left out: no PyTorch"; return; }
	local model models=${BACKWARD_OF:-parts reentrant gpt resnet50 accumulate ddp fsdp compiled autotuned graph} beside=()
	for model in $models; do
		case $model in compiled | autotuned)
			backward_of "$model" >"$out/backward_$model.log" 2>&1 &
			beside+=("$model") ;;
		esac
	done
	for model in $models; do
		case $model in compiled | autotuned) ;; *) backward_of "$model" ;; esac
	done
	wait
	for model in "${beside[@]}"; do
		cat "$out/backward_$model.log"
		! grep -q '^NOT OK' "$out/backward_$model.log" || failed=1
	done
}

# What origins cost in a training step, in turns within one process.
backwardcost() {
	have_torch || { echo "left out: no PyTorch"; return; }
	profile backward_cost python3 "$here/programs/origin_cost.py" "$root/lib/libflamegrid_inject.so" 50
	cat "$out/backward_cost.stdout"
	same "backward_cost: models that were measured" "$(grep -c 'median' "$out/backward_cost.stdout")" 2
}

# The same on all GPUs: DDP and FSDP.
backwardranks() {
	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	local model
	for model in ddp fsdp; do
		profile "ranks_$model" torchrun --nproc_per_node="$gpus" "$here/programs/backward_train.py" "$model" 60 \
			"$scratch/ranks_$model.truth"
		cat "$out/ranks_$model.stdout"
		compared "ranks_$model" "$scratch/ranks_$model.truth"
		"$flamegrid" report "$scratch/ranks_$model" --ranks
		cp "$scratch/ranks_$model/flame.html" "$out/ranks_$model.html"
		# As it was without forward lines and without the split.
		"$flamegrid" report "$scratch/ranks_$model" --backward thread --nccl whole -f html -o "$out/ranks_$model.thread.html"
	done
}
