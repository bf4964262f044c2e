#!/usr/bin/env bash
# CUDA graphs: each node's work under the launch of its graph and the code that captured it, through clones, updates,
# child graphs and the bodies of conditional nodes; whole graphs on request.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
fake_graphs=$BUILD/tests/fake_graphs
export FAKE_CUDA_DEVICES=2
args="--devices 2 --threads 2 --kernels 8 --replays 50 --rounds 3 --explicit 2 --eager 5 --inner 20"
# run NAME OPTION...: profiles the program; leaves folded counts.
run() {
	local name=$1
	shift
	FAKE_CUDA_TRUTH=$scratch/$name.truth "$flamegrid" run "$@" -o "$scratch/$name" --devices "$list" -- \
		"$fake_graphs" $args >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" --weight count --strict >"$scratch/$name.folded" 2>/dev/null
	same "$name: nothing lost" $? 0
}
# sum NAME EXPRESSION: of the lines that match.
sum() { grep -E -- "$2" "$scratch/$1.folded" | sum_folded; }
# launched NAME KERNEL: what the program says, over all devices.
launched() { awk -v kernel="$2" '$1 == "launched" && $3 == kernel { s += $4 } END { printf "%.0f\n", s }' "$scratch/$1.out"; }
outside() { grep -F -- "$2" "$scratch/$1.folded" | grep -cvE -- "$3"; }

run nodes
by_stream "$scratch/nodes" --unit ns >"$scratch/have"
truth_by_stream valid_ns "$scratch/nodes.truth" >"$scratch/want"
check "time by GPU, stream and name is the truth" cmp -s "$scratch/have" "$scratch/want"
for kernel in graph_a graph_b graph_c graph_d; do
	same "$kernel: all of them" "$(sum nodes "_Kernel\]$kernel ")" "$(launched nodes $kernel)"
done
captured=';(replay|replay_clone|replay_explicit|replay_nested);cudaGraphLaunch;\[captured at\];.*;capture_forward'
at=';cudaGraphLaunch;\[captured at\];.*'
same "graph_a: captured in layer_a, or launched by it" "$(outside nodes ']graph_a' \
	"$captured;layer_a;cudaLaunchKernel;|;replay_conditional$at;loop_body;layer_a;cudaLaunchKernel;|;eager_forward;layer_a;cudaLaunchKernel;")" 0
same "graph_b: captured in layer_b" "$(outside nodes ']graph_b' "$captured;layer_b;cudaLaunchKernel;")" 0
same "graph_c: added in add_layer_c" "$(outside nodes ']graph_c' \
	"(;replay_explicit$at;explicit_graph|;replay_nested$at;nested_graph|;replay_conditional$at;conditional_graph);add_layer_c;")" 0
same "graph_d: added in add_layer_d" "$(outside nodes ']graph_d' ";replay_conditional$at;conditional_graph;branch_body;add_layer_d;")" 0
same "child graphs: at two levels, and twice" "$(sum nodes ";replay_nested$at;capture_forward;layer_b;.*]graph_b ")" $((2 * 3 * 20 * 3 * 4))
same "loops: each turn" "$(sum nodes ";replay_conditional$at;loop_body;.*]graph_a ")" $((2 * 3 * 20 * 2))
same "copies: captured in copy_input" "$(outside nodes '_Memcpy]' "$captured;copy_input;")" 0
same "copies and memsets: all of them" "$(sum nodes '_Mem(cpy|set)\]')" \
	"$(awk '$1 == "copied" { s += $4 } END { printf "%.0f\n", s }' "$scratch/nodes.out")"
same "memsets: captured in clear_output" "$(outside nodes '_Memset]' "$captured;clear_output;")" 0
same "eager launches: as many as before" "$(sum nodes ';eager_forward;layer_a;')" \
	"$(awk '$1 == "eager" { print $2 }' "$scratch/nodes.out")"
same "clones: their launches" "$(sum nodes ';replay_clone;cudaGraphLaunch;.*_Kernel\]graph_b ')" $((2 * 3 * 51 * 4))
same "no node is unknown" "$(sum nodes ';cudaGraphLaunch;\[GPU[01]_') $(grep -o 'capture_unknown]: [0-9,]*' "$scratch/nodes.err")" "0 "

run launch --graphs launch
same "whole graphs: one a launch" "$(sum launch '_Graph\] ')" "$(awk '$1 == "graphs" { print $2 }' "$scratch/launch.out")"
same "whole graphs: under their launch" "$(outside launch '_Graph]' ';(replay|replay_clone|replay_explicit|replay_nested|replay_conditional);cudaGraphLaunch;\[GPU[01]_Graph\]')" 0
same "whole graphs: no node" "$(grep -c 'captured at' "$scratch/launch.folded")" 0
same "whole graphs: eager kernels stay" "$(sum launch ';eager_forward;layer_a;')" \
	"$(awk '$1 == "eager" { print $2 }' "$scratch/launch.out")"
same "whole graphs: closing line" "$(grep -c ' graphs, ' "$scratch/launch.err")" 1

"$flamegrid" run --graphs all -o "$scratch/bad" -- true 2>"$scratch/err"
same "no such mode: status" $? 125
contains "no such mode" "$scratch/err" "--graphs all: must be nodes or launch"
