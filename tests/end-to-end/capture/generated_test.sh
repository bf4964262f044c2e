#!/usr/bin/env bash
# Kernels of a compiled model under the model's lines, with and without what PyTorch keeps of them.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
program=$(dirname "$0")/generated_launches.py
export FAKE_CUDA_DEVICES=1 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13
steps=20
# run WHAT [OPTION]...: leaves WHAT.folded, of counts.
run() {
	local what=$1
	shift
	"$flamegrid" run "$@" -o "$scratch/$what" --devices "$list" -- \
		python3 "$program" "$scratch/torchinductor_$what" "$what" $steps 2>"$scratch/$what.err"
	same "$what: status" $? 0
	"$flamegrid" report "$scratch/$what" --weight count >"$scratch/$what.folded"
	same "$what: all launches" "$(sum_folded "$scratch/$what.folded")" $((steps * 3))
}
# count FILE EXPRESSION: the sum of the lines that match.
count() { grep -E -- "$2" "$scratch/$1" | sum_folded; }
# line TEXT [SECOND]: the number of the first, or second, line with this text in the generated file.
line() { awk -v text="$1" -v wanted="${2:-1}" '/^CODE = / { begin = NR; inside = 1 } inside && index($0, text) && ++found == wanted { print NR - begin + 1; exit }' "$program"; }

file='c[a-z2-7]+\.py:call'
product="$file:$(line 'extern_kernels.mm(')"
fused="$file:$(line 'fused_0.run(')"
again="$file:$(line 'fused_0.run(' 2)"

run graph
same "graph: a product" "$(count graph.folded ";$product;model.py:forward:57;.*\]product ")" $steps
same "graph: a fused kernel names both lines" \
	"$(count graph.folded ";$fused;model.py:forward:58, model.py:loss:60;.*\]fused ")" $steps
same "graph: an equal kernel has a mark" \
	"$(count graph.folded ";$again;model.py:forward:58, model.py:loss:60 ≈;.*\]fused ")" $steps
same "graph: no line of other graphs" "$(count graph.folded 'other.py')" 0

"$flamegrid" report "$scratch/graph" --weight count --lines off >"$scratch/graph.off"
same "without lines" "$(count graph.off ";c[a-z2-7]+\.py:call;model.py:forward, model.py:loss;.*\]fused ")" $steps
"$flamegrid" report "$scratch/graph" --weight count --frames user >"$scratch/graph.user"
same "the user's frames" "$(count graph.user ";\[inductor\];model.py:forward:57;.*\]product ")" $steps

run traces
same "traces: a product" "$(count traces.folded ";$product;model.py:forward:67;.*\]product ")" $steps
same "traces: a fused kernel names both lines" \
	"$(count traces.folded ";$fused;model.py:forward:68, model.py:loss:70;.*\]fused ")" $steps
same "traces: an equal kernel has its own" "$(count traces.folded ";$again;model.py:loss:71;.*\]fused ")" $steps

# Only root can give a file to another user.
spoilt="none missing huge rewritten"
[ "$(id -u)" -ne 0 ] || spoilt="$spoilt foreign"
for what in $spoilt; do
	run "$what"
	same "$what: no lines" "$(count "$what.folded" 'model.py')" 0
	same "$what: the file's own frames stay" "$(count "$what.folded" ";$product;.*\]product ")" $steps
done
