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
# What a step takes is measured alone, after that.
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
	backward_cost
	backward_ranks
}

# What origins cost in a training step, A/B/A/B. The guest always has them, and cannot switch them in a process. A
# library of libtorch's name without its functions makes the guest refuse them in a whole process.
backward_cost() {
	local none=$scratch/libtorch_cpu.so.none kind preload
	gcc -shared -x c /dev/null -o "$none" 2>"$out/backward_cost.log" ||
		{ not_ok "backward_cost: $out/backward_cost.log"; return; }
	for _ in 1 2; do
		for kind in without with; do
			preload=
			[ $kind = with ] || preload=$none
			"$flamegrid" run -q -o "$scratch/cost_$kind" -- \
				env LD_PRELOAD="$preload" python3 "$here/programs/tiny_train.py" 2>>"$out/backward_cost.log" |
				sed -n 's/^ *us.step://p' | tr ' ' '\n' | grep -v '^$' | tail -n +2 |
				tee -a "$scratch/cost.$kind" | median >>"$out/backward_cost.$kind.rounds"
		done
	done
	same "backward_cost: without origins no node is known" \
		"$("$flamegrid" report "$scratch/cost_without" | grep -c '\[backward\]')" 0
	at_least "backward_cost: with origins" "$("$flamegrid" report "$scratch/cost_with" | grep -c '\[backward\]')" 1
	for kind in without with; do
		printf 'backward_cost: %s origins, median of each round: %s us\n' $kind \
			"$(tr '\n' ' ' <"$out/backward_cost.$kind.rounds")"
	done
	awk -v without="$(median <"$scratch/cost.without")" -v with="$(median <"$scratch/cost.with")" 'BEGIN {
		printf "backward_cost: a step without origins %.1f us, with %.1f us: %+.2f %%\n", without, with, 100 * (with / without - 1) }'
}

# The same on all GPUs: DDP and FSDP.
backward_ranks() {
	[ "$gpus" -ge 2 ] || { echo "left out: one GPU"; return; }
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
