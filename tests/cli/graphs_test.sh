#!/usr/bin/env bash
# CUDA graphs: each node's work under the launch of its graph and the code that captured it, through clones, updates and
# child graphs; whole graphs on request.
. "$(dirname "$0")/harness.sh"
list=$(devices 2)
fake_graphs=$BUILD/tests/fake_graphs
export FAKE_CUDA_DEVICES=2
args="--devices 2 --threads 2 --kernels 8 --replays 50 --rounds 3 --explicit 2 --eager 5"
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
sum() { grep -E -- "$2" "$scratch/$1.folded" | awk '{ s += $NF } END { printf "%d\n", s }'; }
# launched NAME KERNEL: what the program says, over all devices.
launched() { awk -v kernel="$2" '$1 == "launched" && $3 == kernel { s += $4 } END { print s }' "$scratch/$1.out"; }
outside() { grep -F -- "$2" "$scratch/$1.folded" | grep -cvE -- "$3"; }

run nodes
by_stream "$scratch/nodes" --unit ns >"$scratch/have"
truth_by_stream valid_ns "$scratch/nodes.truth" >"$scratch/want"
check "time by GPU, stream and name is the truth" cmp -s "$scratch/have" "$scratch/want"
for kernel in graph_a graph_b graph_c; do
	same "$kernel: all of them" "$(sum nodes "_Kernel\]$kernel ")" "$(launched nodes $kernel)"
done
# CUPTI tells nobody the ids of a child graph's nodes: they stay under the launch alone, and are counted.
captured=';(replay|replay_clone);cudaGraphLaunch;\[captured at\];.*;capture_forward'
child=';replay_explicit;cudaGraphLaunch;\[GPU[01]_'
same "graph_a: captured in layer_a, or launched by it" "$(outside nodes ']graph_a' \
	"$captured;layer_a;cudaLaunchKernel;|$child|;eager_forward;layer_a;cudaLaunchKernel;")" 0
same "graph_b: captured in layer_b" "$(outside nodes ']graph_b' \
	"$captured;layer_b;cudaLaunchKernel;|$child")" 0
same "graph_c: added in add_layer_c" "$(outside nodes ']graph_c' \
	';replay_explicit;cudaGraphLaunch;\[captured at\];.*;explicit_graph;add_layer_c;')" 0
same "copies: captured in copy_input" "$(outside nodes '_Memcpy]' "$captured;copy_input;|$child")" 0
same "copies and memsets: all of them" "$(sum nodes '_Mem(cpy|set)\]')" \
	"$(awk '$1 == "copied" { s += $4 } END { print s }' "$scratch/nodes.out")"
same "memsets: captured in clear_output" "$(outside nodes '_Memset]' "$captured;clear_output;|$child")" 0
same "eager launches: as many as before" "$(sum nodes ';eager_forward;layer_a;')" \
	"$(awk '$1 == "eager" { print $2 }' "$scratch/nodes.out")"
same "clones: their launches" "$(sum nodes ';replay_clone;cudaGraphLaunch;.*_Kernel\]graph_b ')" $((2 * 3 * 51 * 4))
same "child graphs' nodes, and no others, are unknown" "$(sum nodes "$child") $(grep -o 'capture_unknown [0-9,]*' "$scratch/nodes.err")" \
	"3000 capture_unknown 3,000"

run launch --graphs launch
same "whole graphs: one a launch" "$(sum launch '_Graph\] ')" "$(awk '$1 == "graphs" { print $2 }' "$scratch/launch.out")"
same "whole graphs: under their launch" "$(outside launch '_Graph]' ';(replay|replay_clone|replay_explicit);cudaGraphLaunch;\[GPU[01]_Graph\]')" 0
same "whole graphs: no node" "$(grep -c 'captured at' "$scratch/launch.folded")" 0
same "whole graphs: eager kernels stay" "$(sum launch ';eager_forward;layer_a;')" \
	"$(awk '$1 == "eager" { print $2 }' "$scratch/launch.out")"
same "whole graphs: closing line" "$(grep -c ' graphs, ' "$scratch/launch.err")" 1

"$flamegrid" run --graphs all -o "$scratch/bad" -- true 2>"$scratch/err"
same "no such mode: status" $? 125
contains "no such mode" "$scratch/err" "--graphs: all: not nodes or launch"
