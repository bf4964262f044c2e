#!/usr/bin/env bash
# Backward kernels under the forward lines of their operations, with both layouts of autograd's nodes.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
program=$(dirname "$0")/backward_launches.py
export FAKE_CUDA_DEVICES=1 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	echo "python3 is older than 3.11, which has no qualified names; the test needs them"
	not_ok "python3 3.11 or newer"
	exit
fi
steps=20
# PyTorch's own files of these names call a user's function, and wait for the backward pass.
mkdir -p "$scratch/torch/autograd"
cat >"$scratch/torch/autograd/function.py" <<'END'
class Function:
    @classmethod
    def apply(cls, torch, forward):
        torch.fake_torch_function(forward)
END
cat >"$scratch/torch/autograd/graph.py" <<'END'
def _engine_run_backward(torch, leaves, create_graph, hook=None):
    if hook:
        return hook()
    return torch.fake_torch_backward(leaves, create_graph)
def grad(lock):
    lock.acquire()
END
export PYTHONPATH=$scratch
# run NAME LAYOUT [OPTION]...: leaves NAME.folded, of counts, and NAME.thread.
run() {
	local name=$1 layout=$2
	shift 2
	"$flamegrid" run "$@" -o "$scratch/$name" --devices "$list" -- \
		python3 "$program" "$BUILD/lib/fake-torch/$layout/libtorch_cpu.so" $steps 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" --weight count >"$scratch/$name.folded"
	"$flamegrid" report "$scratch/$name" --weight count --backward thread >"$scratch/$name.thread"
	same "$name: all launches" "$(sum_folded "$scratch/$name.folded")" $((steps * 10 + 8))
	same "$name: both views have them" "$(sum_folded "$scratch/$name.thread")" $((steps * 10 + 8))
}
# count FILE EXPRESSION: the sum of the lines that match.
count() { grep -E -- "$2" "$scratch/$1" | sum_folded; }
# line FUNCTION TEXT: the number of the first line with this text in a function of the program.
line() { awk -v function_="def $1(" -v text="$2" 'index($0, function_) { inside = 1 } inside && index($0, text) { print NR; exit }' "$program"; }

f=backward_launches.py
model="$f:train:$(line train model.forward);$f:Model.forward"
linear="$model:$(line forward self.linear);$f:Model.linear:$(line linear fake_torch_addmm)"
scale="$model:$(line forward self.scale);$f:Model.scale:$(line scale fake_torch_mul)"
neighbour="$model:$(line forward fake_torch_fill)"
custom="$model:$(line forward Function.apply)"
waits="$f:train:$(line train 'backward(2');$f:backward:$(line backward run_backward);(torch/autograd/)?graph.py:_engine_run_backward:4"
leaf='([^;[]*;)*cuLaunchKernel;\[GPU0_Kernel\]backward '

for layout in shared intrusive; do
	run $layout $layout
	same "$layout: addmm" "$(count $layout.folded ";$linear;\[backward\] AddmmBackward0;$leaf")" $steps
	same "$layout: mul" "$(count $layout.folded ";$scale;\[backward\] MulBackward0;$leaf")" $steps
	same "$layout: a view has its neighbour's line, and a mark" \
		"$(count $layout.folded ";$neighbour;\[backward\] ViewBackward0 ≈;$leaf")" $steps
	same "$layout: a custom function" "$(count $layout.folded ";$custom;\[backward\] PyNode;$leaf")" $steps
	same "$layout: accumulation is under the call of backward()" \
		"$(count $layout.folded ";$waits;\[backward\] AccumulateGrad;$leaf")" $((2 * steps))
	same "$layout: the node's own frames stay" \
		"$(count $layout.folded 'AddmmBackward0;torch::autograd::generated::AddmmBackward0::apply')" $((steps + 2))
	same "$layout: the engine's are gone" "$(count $layout.folded 'Engine::evaluate_function')" 0
	same "$layout: an operation whose number was taken, too" \
		"$(count $layout.folded ";$f:evicted:[0-9]+;$f:backward:[0-9]+;.*:_engine_run_backward:4;\[backward\] AddmmBackward0;$leaf")" 1
	same "$layout: work of one of two calls of backward() is under neither" \
		"$(count $layout.folded "^\[backward\] AccumulateGrad;$leaf")" 2
	contains "$layout: that is counted" "$scratch/$layout.err" "[origin_unknown]: 1"
	same "$layout: another thread's forward" \
		"$(count $layout.folded "$f:on_thread:[0-9]+;$f:Model.linear:[0-9]+;\[backward\] AddmmBackward0;$leaf")" 1
	same "$layout: by thread" "$(count $layout.thread 'Engine::evaluate_function')" $((steps * 6 + 5))
	same "$layout: by thread, without marks" "$(count $layout.thread '\[backward\]')" 0
done
diff <(sed 's/ [0-9]*$//' "$scratch/shared.folded") <(sed 's/ [0-9]*$//' "$scratch/intrusive.folded") >"$scratch/differences"
same "both layouts give the same lines" "$(wc -l <"$scratch/differences")" 0

run python shared --stacks python
same "python alone: forward lines" "$(count python.folded ";$linear;\[backward\] AddmmBackward0 ≈;cuLaunchKernel;")" $steps

run old old
same "before 2.0: no forward lines" "$(count old.folded '\[backward\]')" 0
"$flamegrid" report "$scratch/old" -f json >"$scratch/old.json"
contains "before 2.0: a notice" "$scratch/old.json" "backward work is not under its forward lines: this PyTorch does not export"

# Cut stacks of backward work are under whole stacks of the call of backward().
steps=20000
run limited shared --max-cost 0.001% --meter full
leaf='_engine_run_backward:4;\[backward\] AccumulateGrad;\[stack truncated\];'
same "limited: one frame, under the whole call" "$(count limited.folded "$leaf")" \
	"$(count limited.folded "^$f:<module>:[0-9]+;.*;$waits;\[backward\] AccumulateGrad;\[stack truncated\];")"
check "limited: there are such stacks" test "$(count limited.folded "$leaf")" -gt 0
same "limited: none is counted as cut" "$(grep -c stack_truncated "$scratch/limited.err")" 0
