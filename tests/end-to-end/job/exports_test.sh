#!/usr/bin/env bash
# What report writes for other programs, read by those programs: every sum is the store's, to the last nanosecond.
# Arguments: node_modules with pprof-format and speedscope, node, and chromium. Debian's Python has pandas.
. "$(dirname "$0")/../support/harness.sh"
modules=$1 node=$2 chromium=$3
readers=$(cd "$(dirname "$0")/../readers" && pwd)
list=$(devices 2)
pprof() { "$node" "$readers/read_pprof.mjs" "$modules" "$1" >"$1.json"; }
speedscope() { "$node" "$readers/read_speedscope.mjs" "$modules" "$chromium" "$1" >"$1.json"; }
# get FILE EXPRESSION: of the JSON p in the file.
get() { "$node" -e 'const p = JSON.parse(require("fs").readFileSync(process.argv[1])); console.log(String(eval(process.argv[2])))' "$1" "$2"; }
pandas() { /usr/bin/python3 "$readers/read_csv.py"; }

FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=$scratch/truth RANK=3 LOCAL_RANK=1 "$flamegrid" run -o "$scratch/profile" \
	--devices "$list" --node-name "host a" -- "$fake_launches" --devices 2 --streams 2 --threads 2 --launches 5000 \
	--kernels 3 --copies 50 >/dev/null 2>"$scratch/err"
same "status" $? 0
report() { "$flamegrid" report "$scratch/profile" "$@"; }
ns=$(truth_sum valid_ns "$scratch/truth") count=$(truth_sum valid_count "$scratch/truth") bytes=$(truth_sum bytes "$scratch/truth")

# ---- pprof
report -f pprof -o "$scratch/p.pb.gz" 2>"$scratch/pprof.err"
contains "pprof: the state is said" "$scratch/pprof.err" "nothing lost"
check "pprof-format reads it" pprof "$scratch/p.pb.gz"
same "pprof: GPU time" "$(get "$scratch/p.pb.gz.json" 'p.sums["gpu_time/nanoseconds"]')" "$ns"
same "pprof: launches" "$(get "$scratch/p.pb.gz.json" 'p.sums["launches/count"]')" "$count"
same "pprof: bytes" "$(get "$scratch/p.pb.gz.json" 'p.sums["bytes/bytes"]')" "$bytes"
same "pprof: the type that opens" "$(get "$scratch/p.pb.gz.json" p.default)" gpu_time
same "pprof: labels" "$(get "$scratch/p.pb.gz.json" '["host", "rank", "gpu"].map((key) => key + "=" + p.labels[key])')" \
	"host=host a,rank=3,gpu=0,1"
same "pprof: the program's build id is among its modules" "$(get "$scratch/p.pb.gz.json" \
	"p.build_ids.includes('$(file -L "$fake_launches" | sed -n 's/.*BuildID\[sha1\]=\([0-9a-f]*\).*/\1/p')')")" true
same "pprof: the closing line is a comment" "$(get "$scratch/p.pb.gz.json" 'p.comments.filter((c) => /nothing lost/.test(c)).length')" 1
same "pprof: each path has what folded text says" "$(get "$scratch/p.pb.gz.json" \
	'Object.entries(p.paths).map(([path, ns]) => path + " " + ns).sort().join("\n")')" \
	"$(report --unit ns 2>/dev/null | sed 's/;\[GPU[0-9]_\([A-Za-z]*\]\)/;[\1/' | awk '
		{ ns = $NF; sub(/ [0-9]+$/, ""); sum[$0] += ns } END { for (path in sum) printf "%s %.0f\n", path, sum[path] }' |
		"$node" -e 'console.log(require("fs").readFileSync(0, "utf8").trim().split("\n").sort().join("\n"))')"
same "pprof: equal profiles are equal bytes" "$(report -f pprof 2>/dev/null | cmp - "$scratch/p.pb.gz" && echo yes)" yes
report -f pprof --by thread -o "$scratch/threads.pb.gz" 2>/dev/null && pprof "$scratch/threads.pb.gz"
same "pprof --by thread: its labels" "$(get "$scratch/threads.pb.gz.json" 'Object.keys(p.labels)')" thread
same "pprof --by thread: two of them" "$(get "$scratch/threads.pb.gz.json" 'p.labels.thread.length')" 2
same "pprof --by thread: GPU time" "$(get "$scratch/threads.pb.gz.json" 'p.sums["gpu_time/nanoseconds"]')" "$ns"
FAKE_CUDA_DEVICES=2 "$flamegrid" run --record sync,overhead,memory --api all -o "$scratch/planes" --devices "$list" -- \
	"$BUILD/tests/fake_timeline" --rounds 30 --device 1 >/dev/null 2>&1
same "a run with other planes: status" $? 0
planes() { "$flamegrid" report "$scratch/planes" "$@" 2>/dev/null; }
planes -f pprof --planes all -o "$scratch/all.pb.gz" && pprof "$scratch/all.pb.gz"
planes -f json --planes all >"$scratch/all.json"
same "pprof of all planes: each has its own sums" "$(get "$scratch/all.pb.gz.json" '["gpu_time", "sync_time", "overhead_time"].map((name) =>
	p.sums[name + "/nanoseconds"])')" "$(get "$scratch/all.json" '["gpu", "sync", "overhead"].map((name) =>
	p.planes.find(({ plane }) => plane === name).ns)')"
check "and there is something in them" [ "$(get "$scratch/all.pb.gz.json" 'p.sums["sync_time/nanoseconds"] * p.sums["overhead_time/nanoseconds"]')" -gt 0 ]
planes -f pprof --memory allocs -o "$scratch/memory.pb.gz" && pprof "$scratch/memory.pb.gz"
same "pprof of memory: bytes" "$(get "$scratch/memory.pb.gz.json" 'p.sums["memory_bytes/bytes"]')" \
	"$(planes --memory allocs | sum_folded)"
same "pprof of memory: what opens" "$(get "$scratch/memory.pb.gz.json" p.default)" memory_bytes
script -qec "$flamegrid report $scratch/profile -f pprof" /dev/null >"$scratch/terminal"
contains "pprof: not to a terminal" "$scratch/terminal" "no text for a terminal"

# ---- speedscope
report -f speedscope -o "$scratch/s.speedscope.json" 2>/dev/null
check "speedscope opens it" speedscope "$scratch/s.speedscope.json"
same "speedscope: a profile for each GPU" "$(get "$scratch/s.speedscope.json.json" 'p.profiles.map((profile) => profile.name)')" \
	"host a GPU0,host a GPU1"
same "speedscope: GPU time" "$(get "$scratch/s.speedscope.json.json" 'p.profiles.reduce((sum, profile) => sum + profile.sum, 0)')" "$ns"
same "speedscope: its unit" "$(get "$scratch/s.speedscope.json.json" 'new Set(p.profiles.map(({ unit }) => unit)).size + p.profiles[0].unit')" \
	1nanoseconds
same "speedscope: names of kernels" "$(get "$scratch/s.speedscope.json.json" 'p.leaves.includes("[Kernel]k0")')" true
same "speedscope: as its schema says" "$(/usr/bin/python3 -c '
import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))
print("valid")' "$scratch/s.speedscope.json" "$modules/speedscope/dist/release/file-format-schema.json")" valid
report -f speedscope --by rank --weight count -o "$scratch/c.speedscope.json" 2>/dev/null && speedscope "$scratch/c.speedscope.json"
same "speedscope --by rank --weight count" "$(get "$scratch/c.speedscope.json.json" \
	'p.profiles.map(({ name, unit, sum }) => [name, unit, sum])')" "rank3,none,$count"
check "speedscope opens pprof's file" speedscope "$scratch/p.pb.gz"
same "speedscope, pprof's file: GPU time" "$(get "$scratch/p.pb.gz.json" 'p.profiles.reduce((sum, profile) => sum + profile.sum, 0)')" "$ns"

# ---- pandas
report -f csv 2>"$scratch/csv.err" | pandas >"$scratch/csv.json"
contains "csv: the state is said beside it" "$scratch/csv.err" "nothing lost"
same "pandas: whole numbers" "$(get "$scratch/csv.json" \
	'["rank", "pid", "gpu", "context", "stream", "thread", "count", "ns", "bytes"].map((name) => p.columns[name]).filter((type) => type !== "int64")')" ""
same "pandas: sums" "$(get "$scratch/csv.json" '[p.sums.count, p.sums.ns, p.sums.bytes]')" "$count,$ns,$bytes"
for rows in --ranks "--rows calls" "--rows configurations"; do
	planes -f csv $rows | pandas >"$scratch/csv.json"
	check "pandas: $rows has rows" [ "$(get "$scratch/csv.json" p.rows)" -gt 0 ]
	same "pandas: $rows, whole numbers" "$(get "$scratch/csv.json" \
		'Object.entries(p.columns).filter(([name, type]) => /_ns$|^count$|records/.test(name) && type !== "int64")')" ""
done

# ---- where the code stands
FAKE_CUDA_DEVICES=1 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13 "$flamegrid" run --stacks leaf -o "$scratch/python" --devices "$list" \
	-- python3 "$readers/../capture/python_launches.py" 20 2>/dev/null
same "Python: status" $? 0
for format in pprof speedscope; do
	"$flamegrid" report "$scratch/python" -f $format -o "$scratch/python.$format" 2>/dev/null
	check "Python: $format is read" $format "$scratch/python.$format"
	same "Python: $format has the path of the source" "$(get "$scratch/python.$format.json" \
		'p.files.filter((file) => /^\/.*\/capture\/python_launches\.py$/.test(file)).length')" 1
done
check "Python: pprof has lines" [ "$(get "$scratch/python.pprof.json" p.lines)" -gt 5 ]

# ---- names that no reader expects
cp -r "$scratch/profile" "$scratch/odd"
python3 -c 'import sqlite3, sys
profile = sqlite3.connect(sys.argv[1])
odd = b"\"k\\0\x01\xff;,\r#\x7f</script>\xe2\x80\xae"
changed = profile.execute("UPDATE strings SET data = ? WHERE data = ?", (odd, b"k0")).rowcount
changed += profile.execute("UPDATE strings SET data = ? WHERE data = ?", (b"host \"a\", b", b"host a")).rowcount
profile.commit()
sys.exit(changed != 2)' "$scratch/odd/profile.db"
same "names are odd" $? 0
odd() { "$flamegrid" report "$scratch/odd" "$@" 2>/dev/null; }
odd -f pprof -o "$scratch/odd.pb.gz" && pprof "$scratch/odd.pb.gz"
same "odd names, pprof: GPU time" "$(get "$scratch/odd.pb.gz.json" 'p.sums["gpu_time/nanoseconds"]')" "$ns"
same "odd names, pprof: the host" "$(get "$scratch/odd.pb.gz.json" 'p.labels.host')" 'host "a", b'
odd -f speedscope -o "$scratch/odd.speedscope.json" && speedscope "$scratch/odd.speedscope.json"
same "odd names, speedscope: GPU time" "$(get "$scratch/odd.speedscope.json.json" 'p.profiles.reduce((sum, profile) => sum + profile.sum, 0)')" "$ns"
same "odd names, speedscope: the kernel" "$(get "$scratch/odd.speedscope.json.json" 'p.leaves[0]')" \
	"$(printf '[Kernel]"k\\0_\357\277\275;,_#_</script>_')"
odd -f csv | pandas >"$scratch/csv.json"
same "odd names, pandas: sums" "$(get "$scratch/csv.json" '[p.sums.count, p.sums.ns, p.sums.bytes]')" "$count,$ns,$bytes"

# ---- nothing at all
for format in pprof speedscope; do
	report --planes idle -f $format -o "$scratch/nothing.$format" 2>/dev/null
	check "a plane without records: $format is read" $format "$scratch/nothing.$format"
done
same "a plane without records, pandas: rows" "$(report --planes idle -f csv 2>/dev/null | pandas | grep -o '"rows": [0-9]*')" '"rows": 0'
