# CUDA graphs of PyTorch.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# captured NAME LINE: every node's record stands under the code that captured it, LINE among it.
captured() {
	local name=$1 line=$2

	python3 - "$scratch/$name/profile.db" "$name" <<'PY' || failed=1
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
unknown = dict(db.execute('select reason, sum(count) from ledger group by 1')).get(25, 0)
print('%s %s: records of graph nodes whose capture is not known: %d' % ('NOT OK ' if unknown else 'ok     ', sys.argv[2], unknown))
sys.exit(unknown != 0)
PY
	echo "$name: under [captured at]: $(share "$name" ';.captured at.;')"
	echo "$name: captured by $line: $(share "$name" ";.captured at.;.*$line")"
	if grep -q "captured at.;.*$line" "$out/$name.count.folded"; then ok "$name: the captured line is there"; else
		not_ok "$name: nothing was captured by $line"; fi
}

graph() {
	have_torch || { echo "left out: no PyTorch"; return; }
	profile graph python3 "$here/programs/graph.py"
	whole graph
	captured graph graph.py:forward
	echo "graph: under replay(): $(share graph '^graph.py:<module>:[0-9]+;graph.py:replay:[0-9]+;')"
	profile graph_train python3 "$here/programs/graph_train.py"
	whole graph_train
	captured graph_train graph_train.py:forward
	cat "$out/graph_train.stdout"
	"$flamegrid" report "$scratch/graph_train" --format folded --demangle simple --weight count >"$out/graph_train.simple.folded" 2>/dev/null
	FLAMEGRID_GRAPHS=launch profile graph_launch python3 "$here/programs/graph_train.py"
	same "graph_launch: one record a replay" "$(leaf_sum "$out/graph_launch.count.folded" '_Graph\]')" 2500
	cat "$out/graph_launch.stdout"
}

# A long replay: device memory stays, no record comes without times. Argument by environment: SOAK_REPLAYS.
soak() {
	have_torch || { echo "left out: no PyTorch"; return; }
	profile soak python3 "$here/programs/graph_train.py" "${SOAK_REPLAYS:-8000}"
	captured soak graph_train.py:forward
	cat "$out/soak.stdout"
	tail -n 3 "$out/soak.table"
}

# Graphs within graphs: every run of every node under its launch and its capture.
inner() {
	local folded=$out/inner_graphs.count.folded kernel at=';cudaGraphLaunch;\[captured at\];.*'

	nvcc -O2 -g -arch=native -cudart shared -Xcompiler -fno-omit-frame-pointer "$here/programs/inner_graphs.cu" \
		-o "$scratch/inner_graphs" 2>"$out/nvcc-inner.log" || { not_ok "nvcc: $out/nvcc-inner.log"; return; }
	"$flamegrid" run -o "$scratch/inner" -- "$scratch/inner_graphs" 200 >"$out/inner_graphs.stdout" 2>"$out/inner_graphs.stderr"
	same "inner_graphs: exit status" $? 0
	"$flamegrid" report "$scratch/inner" --weight count --strict >"$folded" 2>"$out/inner_graphs.report"
	same "inner_graphs: nothing lost" $? 0
	for kernel in in_child in_parent in_branch in_loop; do
		same "inner_graphs: $kernel" "$(leaf_sum "$folded" "_Kernel\\]$kernel")" \
			"$(awk -v kernel="$kernel" '$2 == kernel { print $3 }' "$out/inner_graphs.stdout")"
	done
	same "in_child: captured in capture_child" "$(grep ']in_child' "$folded" | grep -cvE ";replay_nested.*$at;capture_child")" 0
	same "in_parent: added in nest" "$(grep ']in_parent' "$folded" | grep -cvE ";replay_nested.*$at;nest.*;add_in")" 0
	same "in_branch: added in branch_body" \
		"$(grep ']in_branch' "$folded" | grep -cvE ";replay_.*$at;decide.*;branch_body.*;add_in")" 0
	same "in_loop: captured in loop_body" "$(grep ']in_loop' "$folded" | grep -cvE ";replay_.*$at;decide.*;loop_body")" 0
	same "copies and memsets: captured in capture_child" \
		"$(grep -E '_Mem(cpy|set)\]' "$folded" | grep -cvE ";replay_nested.*$at;capture_child")" 0
	same "no node is unknown" "$(grep -c capture_unknown "$out/inner_graphs.stderr")" 0
}
