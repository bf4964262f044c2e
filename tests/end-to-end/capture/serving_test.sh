#!/usr/bin/env bash
# An inference server's steps by kind: engine and workers in one profile, each kind to the nanosecond.
. "$(dirname "$0")/../support/harness.sh"
server=$(dirname "$0")/serving/server.py
gpus=2
rounds=40 # so many prompts that numbers are masked after a while
list=$(devices $gpus)
export FAKE_CUDA_DEVICES=$gpus PYTHONDONTWRITEBYTECODE=1

# run NAME OPTION...: profiles the server; leaves the truth by kind.
run() {
	local name=$1
	shift
	"$flamegrid" run "$@" -o "$scratch/$name" --devices "$list" -- \
		python3 "$server" "$BUILD/tests/libserving.so" $gpus $rounds >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	same "$name: processes" "$(grep -c '^worker ' "$scratch/$name.out")" $gpus
}
# kinds: of folded lines, the sum of each kind, sorted.
kinds() {
	sed -E 's/.*\[step\] ([^;]*);.* /\1;/' |
		awk -F';' '{ sum[$1] += $2 } END { for (kind in sum) printf "%s %.0f\n", kind, sum[kind] }' | LC_ALL=C sort
}
# have NAME: from the report.
by() { "$flamegrid" report "$scratch/$1" --by "$2" --unit ns 2>/dev/null; }
have() { by "$1" step-kind | kinds >"$scratch/$1.have"; }
# want NAME [SED]: from what the program says, after its kinds have been changed.
want() {
	sed -n 's/^truth //p' "$scratch/$1.out" | sed -E "${2:-}; s/ /;/; s/_/ /g" | sed 's/^/[step] /; s/;/; /' |
		kinds >"$scratch/$1.want"
}
same_kinds() {
	if [ -s "$scratch/$1.want" ] && cmp -s "$scratch/$1.have" "$scratch/$1.want"; then ok "$2: $(tr '\n' ',' <"$scratch/$1.have")"; else
		not_ok "$2"
		diff "$scratch/$1.have" "$scratch/$1.want"
	fi
}
sum() { awk '{ s += $NF } END { printf "%.0f\n", s }' "$@"; }
total() {
	"$flamegrid" report "$scratch/$1" -f json | python3 -c '
import json, sys
totals = json.load(sys.stdin)["totals"]
print(totals["kernel_ns"] + totals["copy_ns"] + totals["graph_ns"])'
}

# Ranges around steps and captures tell everything.
run ranges --nvtx
have ranges
want ranges
same_kinds ranges "ranges: each kind, and the batch"
check "ranges: numbers are masked after a while" \
	grep -qF '[NVTX]execute_context_+(+)_generation_0(0);' "$scratch/ranges/gpu.ns.folded"
same "ranges: the parts sum to the device's time" "$(sum "$scratch/ranges.have")" "$(total ranges)"
same "ranges: no kernel under another kind" "$(by ranges step-kind |
	sed -E 's/\[step\] ([a-z]+)[^;]*;.*_Kernel\](load|[a-z]+).*/\1 \2/' | LC_ALL=C sort -u | paste -sd,)" \
	"decode decode,dummy dummy,mixed mixed,other load,prefill prefill,sampling sampling"
in_order=$(by ranges gpu,step-kind | cut -d';' -f1,2 | grep -c '^GPU[01];\[step\] ')
check "ranges: keys in their order" [ "$in_order" -gt 0 ]
same "ranges: keys in the other order" \
	"$(by ranges step-kind,gpu | cut -d';' -f1,2 | grep -c '^\[step\] .*;GPU[01]$')" "$in_order"
"$flamegrid" report "$scratch/ranges" --unit ns >"$scratch/plain" 2>/dev/null
by ranges step-kind | sed 's/^\[step\] [^;]*;//' | LC_ALL=C sort >"$scratch/cut"
check "ranges: a report without the key" [ -s "$scratch/plain" ]
check "ranges: without the key nothing changes" cmp -s "$scratch/plain" "$scratch/cut"
for gpu in 0 1; do
	same "ranges: GPU$gpu's work" "$(by ranges gpu,step-kind | grep "^GPU$gpu;" | sum)" $(($(total ranges) / 2))
done

# The other formats.
"$flamegrid" report "$scratch/ranges" --by step-kind -f table >"$scratch/table"
contains "table: a line for a kind" "$scratch/table" "[step] decode 17-32"
same "table: not without the key" "$("$flamegrid" report "$scratch/ranges" -f table | grep -c '\[step\]')" 0
for format in json csv; do
	"$flamegrid" report "$scratch/ranges" --by step-kind -f $format >"$scratch/$format"
done
python3 - "$scratch" >"$scratch/formats" <<'PY'
import collections, csv, json, sys
sums = collections.Counter()
for leaf in json.load(open(sys.argv[1] + "/json"))["leaves"]:
    sums["json", leaf["step_kind"]] += leaf["ns"]
for row in csv.DictReader(line for line in open(sys.argv[1] + "/csv") if not line.startswith("#")):
    sums["csv", row["step_kind"]] += int(row["ns"])
for (form, kind), ns in sorted(sums.items()):
    print(form, kind.replace("[step] ", ""), ns)
PY
for format in json csv; do
	grep "^$format " "$scratch/formats" | cut -d' ' -f2- | LC_ALL=C sort | cmp -s - "$scratch/ranges.want"
	same "$format: each kind" $? 0
done
here=$(dirname "$0")
check "json: valid" python3 "$here/../support/valid_report.py" "$here/../../../docs/report.schema.json" "$scratch/json"
for format in json csv; do
	same "$format: not without the key" "$("$flamegrid" report "$scratch/ranges" -f $format | grep -c step_kind)" 0
done
"$flamegrid" report "$scratch/ranges" --by rank,step-kind -f html -o "$scratch/page.html"
contains "page: opens by kind" <(page_data "$scratch/page.html") '"split":["rank","step-kind"]'
contains "page: names the kinds" <(page_data "$scratch/page.html") '"[step] dummy run"'

# Masked numbers leave the kind alone.
run masked --nvtx --nvtx-digits mask
have masked
want masked 's/^decode_\S+/decode/'
same_kinds masked "masked: each kind"

# Without ranges Python's functions tell less, and graphs tell that they were captured for steps.
run frames
have frames
want frames 's/^decode_[1248] /graph /; s/^(prefill|mixed|decode\S*) /not_known /'
same_kinds frames "functions: what they tell"

# The API server is in the same profile, by samples of its threads. That takes rights.
if "$flamegrid" run --strict --cpu-hz 99 -o "$scratch/rights" -- true 2>/dev/null; then
	run host --nvtx --cpu-hz 497
	have host
	want host
	same_kinds host "host: each kind, beside samples"
	"$flamegrid" report "$scratch/host" --planes cpu --by step-kind 2>/dev/null >"$scratch/samples"
	check "host: the API server's samples" grep -q '^\[step\] other;.*server.py:answer:[0-9]*;\[CPU\] ' "$scratch/samples"
	"$flamegrid" report "$scratch/host" --planes all -f json >"$scratch/host.json"
	for pid in $(sed -nE 's/^(server|worker) //p' "$scratch/host.out"); do
		check "host: process $pid" grep -qF "\"pid\":$pid," "$scratch/host.json"
	done
else
	echo "left out: host threads, which take rights that are missing here"
fi

# No stacks: nothing tells anything.
run none --stacks none
have none
same "no stacks: all is other" "$(cat "$scratch/none.have")" "other $(total none)"
"$flamegrid" report "$scratch/ranges" --by steps >"$scratch/bad.out" 2>"$scratch/bad.err"
same "no such key: status" $? 2
contains "no such key" "$scratch/bad.err" "step-kind, each once"
