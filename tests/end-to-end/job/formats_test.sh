#!/usr/bin/env bash
# One profile in every format: all of them have the same sums, and each is what its readers expect.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=$scratch/truth RANK=3 LOCAL_RANK=1 "$flamegrid" run -o "$scratch/profile" \
	--devices "$list" --node-name "host a" -- "$fake_launches" --devices 2 --streams 2 --threads 2 --launches 5000 \
	--kernels 3 --copies 50 >/dev/null 2>"$scratch/err"
same "status" $? 0
for file in profile.db gpu.ns.folded flame.html; do check "$file" [ -s "$scratch/profile/$file" ]; done
same "nobody else can read it" "$(cd "$scratch" && stat -c '%a %n' profile profile/{profile.db,gpu.ns.folded,flame.html} | tr '\n' ' ')" \
	"700 profile 600 profile/profile.db 600 profile/gpu.ns.folded 600 profile/flame.html "
chmod 640 "$scratch/profile/profile.db" && "$flamegrid" report --files "$scratch/profile" >/dev/null 2>&1
same "who may read the store may read what is made of it" "$(stat -c %a "$scratch/profile/flame.html")" 640
report() { "$flamegrid" report "$scratch/profile" "$@"; }

total=$(truth_sum valid_ns "$scratch/truth")
same "folded in ns" "$(report --unit ns | sum_folded)" "$total"
same "folded lines: text, space, number" "$(report | grep -cvE '^[^ ].*;\[GPU[0-9]_(Kernel|Memcpy|Memset)\][^;]* [0-9]+$')" 0
same "folded by everything" "$(report --by host,rank,gpu,stream,thread --unit ns | sum_folded)" "$total"
same "its root frames" "$(report --by host,rank,gpu | cut -d';' -f1-3 | sort -u | tr '\n' ' ')" \
	"host a;rank3;GPU0 host a;rank3;GPU1 "
same "counts" "$(report --weight count | sum_folded)" "$(truth_sum valid_count "$scratch/truth")"
same "bytes" "$(report --weight bytes | sum_folded)" "$(truth_sum bytes "$scratch/truth")"
same "nanoseconds are the default" "$(report | sum_folded)" "$total"
microseconds=$(report --unit us | sum_folded)
check "microseconds: $microseconds" [ $((microseconds - total / 1000)) -lt 200 -a $((total / 1000 - microseconds)) -lt 200 ]
for format in folded html csv; do
	report --planes gpu,idle --format $format -o "$scratch/planes" 2>"$scratch/planes.err"
	same "a plane without records, $format: said once, with what records it" "$(grep -c \
		'^flamegrid: report: --planes idle: the profile has nothing of it; `flamegrid run --cpu-hz 99 --off-cpu 1ms` records it$' \
		"$scratch/planes.err")" 1
done
report --planes all >"$scratch/planes" 2>"$scratch/planes.err"
same "all planes: none is missed" "$(grep -c 'nothing of it' "$scratch/planes.err")" 0
report --format json >"$scratch/json"
valid_report "$scratch/profile"
same "JSON's leaves" "$(node -e '
	const p = JSON.parse(require("fs").readFileSync(process.argv[1]))
	console.log(p.leaves.reduce((sum, leaf) => sum + leaf.ns, 0))' "$scratch/json")" "$total"
report --format csv >"$scratch/csv"
same "CSV: one header, rows of equal width" "$(node -e '
	const rows = require("fs").readFileSync(process.argv[1], "utf8").trim().split(/\r?\n/)
	const cells = (row) => row.match(/("([^"]|"")*"|[^,]*)(,|$)/g).filter((c, i, all) => i < all.length - 1 || c).length
	console.log(new Set(rows.map(cells)).size)' "$scratch/csv")" 1
same "JSON: each histogram has all durations, and its percentiles are buckets of it" "$(report --format json | node -e '
	const { durations, totals } = JSON.parse(require("fs").readFileSync(0, "utf8"))
	const sum = (numbers) => numbers.reduce((a, b) => a + b, 0)
	const has = (buckets, [first, last]) => buckets.some((bucket) => bucket[0] === first && bucket[1] === last)
	console.log(durations.length > 0 && durations.every((row) => sum(row.buckets.map((bucket) => bucket[2])) === row.count &&
		has(row.buckets, row.p50_ns) && has(row.buckets, row.p90_ns) && has(row.buckets, row.p99_ns)),
		sum(durations.filter((row) => row.kind === "kernel").map((row) => row.count)) === totals.kernels)')" "true true"
same "CSV: a row for each of them" "$(report --format csv --rows times | wc -l)" \
	"$(report --format json | node -e 'console.log(JSON.parse(require("fs").readFileSync(0, "utf8")).durations.length + 1)')"
report --format table >"$scratch/table"
contains "table: kernels" "$scratch/table" k0
contains "table: nothing lost" "$scratch/table" "nothing lost"
report --format html >"$scratch/html"
contains "HTML: policy" "$scratch/html" "default-src 'none'"
same "HTML: nothing from elsewhere" "$(grep -cE '(src|href)="?https?:' "$scratch/html")" 0
report --format folded -o "$scratch/file"
same "to a file" "$(cat "$scratch/file")" "$(report)"
"$flamegrid" report "$scratch/profile" -f json -o "$scratch/profile/profile.db" 2>"$scratch/refused"
same "a report does not replace its profile: status" $? 1
contains "a report does not replace its profile" "$scratch/refused" "the profile itself"
same "and the profile is as it was" "$(report)" "$(cat "$scratch/file")"
"$flamegrid" report "$scratch/profile" --top N >/dev/null 2>"$scratch/refused"
same "the name of a number is no number" $? 2
for asked in --help --version "report --help" "doctor --json"; do
	"$flamegrid" $asked >/dev/full 2>"$scratch/refused"
	same "$asked that cannot be printed: status" $? 1
	contains "$asked that cannot be printed" "$scratch/refused" "standard output: "
done
same "without lines: the same sum" "$(report --lines off --unit ns | sum_folded)" "$total"
same "every stack ends in the call" "$(report | grep -cvE ';cu(da)?[A-Z][A-Za-z0-9]*;\[GPU[^;]*$')" 0
same "JSON's notices" "$(node -e '
	const p = JSON.parse(require("fs").readFileSync(process.argv[1]))
	console.log(p.notices.filter((notice) => notice.processes === 1 && /libcupti/.test(notice.text)).length)' "$scratch/json")" 1
contains "notices under the table" "$scratch/table" "note: "
same "by path of the store" "$("$flamegrid" report "$scratch/profile/profile.db")" "$(report)"
same "closing line" "$(grep -c '^flamegrid: .* kernels, .* of GPU time, 100.00 % matched; nothing lost; ' "$scratch/err")" 1

FAKE_CUDA_DEVICES=2 "$flamegrid" run -o "$scratch/demo" --devices "$list" -- "$BUILD/bin/flamegrid-demo-train" 20 >/dev/null 2>&1
same "the demo: status" $? 0
valid_report "$scratch/demo"
