# What the tests of run --metrics share; sourced after harness.sh.
list=$(devices 2)
export FAKE_CUDA_DEVICES=2 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13

# profile NAME OPTIONS... -- PROGRAM ARGUMENTS...
profile() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	FAKE_CUDA_METRICS=$scratch/$name.ranges "$flamegrid" run "${options[@]}" -o "$scratch/$name" --devices "$list" -- \
		"$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" -f json -o "$scratch/$name.json"
}

# counted NAME REASON...: the ledger's count of each reason.
counted() {
	python3 -c 'import sqlite3, sys
rows = dict(sqlite3.connect(sys.argv[1]).execute("select reason, sum(count) from ledger group by reason"))
print(*(rows.get(int(reason), 0) for reason in sys.argv[2:]))' "$scratch/$1/profile.db" "${@:2}"
}
# ledger NAME: measured, shared, lost, refused.
ledger() { counted "$1" 80 81 82 87; }

# measured NAME: "KERNEL MEASURED PASSES" of each row of a kernel, and "RANGE MEASURED PASSES KERNELS" of each one of a range, sorted.
measured() {
	python3 -c 'import json, sys
for row in json.load(open(sys.argv[1])).get("kernel_metrics", []):
    kernels = [metric["mean"] for metric in row["metrics"] if metric["name"] == "range__kernels.sum" and row["range"]]
    print(row["kernel"], row["measured"], row["passes"], *("%g" % mean for mean in kernels))' \
		"$scratch/$1.json" | LC_ALL=C sort
}

# values NAME [RANGE=KERNEL+KERNEL...]: compares each value in the CSV, which has these ranges alone, or else kernels alone, with the
# sum of the kernels' values (range_profiler.h). Metrics without a value count for kernels alone. "ok", or what is wrong.
values() {
	"$flamegrid" report "$scratch/$1" --metrics -f csv | python3 -c '
import csv, sys
def unit(metric, kernel):
    value = 0xcbf29ce484222325
    for byte in (metric + ":" + kernel).encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return 1 + value % 1000000
ranges = {name: of.split("+") for name, of in (word.split("=") for word in sys.argv[1:])}
seen = set()
for row in csv.DictReader(sys.stdin):
    if row["count"] == "0" and not ranges: continue
    of = ranges[row["kernel"]] if ranges else [row["kernel"]]
    truth = len(of) if row["metric"] == "range__kernels.sum" else sum(unit(row["metric"], kernel) for kernel in of)
    if {float(row[key]) for key in ("mean", "min", "max")} != {truth} or row["range"] != "01"[bool(ranges)]:
        sys.exit(print("wrong:", row, truth))
    seen.add(row["kernel"])
print("ok" if seen and seen >= set(ranges) else "missing: %s" % (sorted(set(ranges) - seen) or "all"))' "${@:2}"
}
