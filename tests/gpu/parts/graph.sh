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
