# Steps of an inference server by kind, beside what CUDA's events say of each.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# serve_check: reads serve.{folded,json,stdout} of the output folder.
serve_check() {
	python3 - "$out/serve" <<'PY'
import collections, json, sys
base = sys.argv[1]
good = True

def verdict(what, holds):
    global good
    good &= bool(holds)
    print('%s serve: %s' % ('ok     ' if holds else 'NOT OK ', what))

parts, captured = collections.Counter(), collections.Counter()
for line in open(base + '.folded'):
    frames, _, ns = line.rstrip('\n').rpartition(' ')
    kind = frames.split(';')[0].replace('[step] ', '').replace(' ', '_')
    parts[kind] += int(ns)
    if '[captured at]' in frames:
        captured[kind] += int(ns)
said = {}
for line in open(base + '.stdout'):
    words = line.split()
    if words[:1] == ['kind']:
        said[words[1]] = int(words[2])
totals = json.load(open(base + '.json'))['totals']
device = totals['kernel_ns'] + totals['copy_ns'] + totals['graph_ns']
print('parts:', dict(parts))
total = sum(parts.values())
verdict('parts sum to the device\'s time: %d ns of %d' % (total, device), device and total == device)
verdict('kinds that the program names: %d' % len(said), len(said) == 6)
for kind, want in sorted(said.items()):
    have = parts[kind]
    verdict('%s: %.3f ms, events say %.3f' % (kind, have / 1e6, want / 1e6), abs(have - want) < 0.05 * want)
# Warming up replays each graph once, outside of any step.
graphs = {kind for kind in captured if kind.startswith('graph')}
verdict('graphs outside of steps: %s' % sorted(graphs), graphs == {'graph_1', 'graph_8', 'graph_32'})
others = set(parts) - set(said) - graphs
verdict('other kinds: %s' % sorted(others), others == {'other'})
sys.exit(not good)
PY
}

serve() {
	have_torch || { echo "left out: no PyTorch"; return; }
	local base=$out/serve
	timeout 300 "$flamegrid" run --nvtx -o "$scratch/serve" -- \
		python3 "$here/programs/serve_loop.py" 20 >"$base.stdout" 2>"$base.stderr"
	same "serve: exit status" $? 0
	grep '^flamegrid:' "$base.stderr"
	"$flamegrid" report "$scratch/serve" --by step-kind -f table | tee "$base.txt"
	"$flamegrid" report "$scratch/serve" --by step-kind -u ns >"$base.folded" 2>/dev/null
	"$flamegrid" report "$scratch/serve" -f json >"$base.json"
	serve_check || failed=1
}
