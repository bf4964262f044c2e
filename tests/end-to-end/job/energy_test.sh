#!/usr/bin/env bash
# Energy and use of GPUs by the stacks whose work took it. A fake NVML tells what a fake CUDA's kernels take: all parts sum to the counter's difference, in one
# place, merged, and folded on nodes, and each kernel has its own power.
. "$(dirname "$0")/../support/harness.sh"
fake_power=$BUILD/tests/fake_power
library=$BUILD/lib/fake-nvml:$LD_LIBRARY_PATH
list=$(devices 1)
export FAKE_CUDA_DEVICES=1 XDG_RUNTIME_DIR=$scratch/runtime FAKE_CUDA_POWER=$scratch/power FAKE_NVML_LOG=$scratch/log
export FAKE_CUDA_POWER_MW=hot=300000,cold=100000 FAKE_NVML='*:idle=70000,delay=90'
mkdir -m 700 "$XDG_RUNTIME_DIR"

run() { # NAME COMMAND...: a run of it
	local name=$1
	shift
	LD_LIBRARY_PATH=$library timeout 120 "$flamegrid" run --devices "$list" "${options[@]}" -o "$scratch/$name" -- "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
}
options=()
counted() { sql "$scratch/$1" 'select coalesce(sum(energy_mj), 0) from device_telemetry'; }
folded() { "$flamegrid" report "$scratch/$1" --planes energy -f folded 2>"$scratch/$1.notice" | awk '{ sum += $NF } END { printf "%.0f\n", sum }'; }
exact() { # NAME: the stacks sum to the counter's difference
	check "$1: there is energy" [ "$(counted "$1")" -gt 0 ]
	same "$1: all stacks sum to the counter" "$(folded "$1")" "$(counted "$1")"
}
# powers NAME: of each kernel and of none, whether they are as FAKE_CUDA_POWER_MW and FAKE_NVML say, and how sure that is. A busy machine reads the
# counter a little before or after the time that it notes.
powers() {
	valid_report "$scratch/$1" --planes energy
	same "$1: powers" "$(python3 -c 'import json, sys
profile = json.load(open(sys.argv[1]))
row, = profile["resources"]
energy, power = row["energy"], {kernel["kernel"]: kernel["energy"]["added_per_second"] for kernel in row["kernels"]}
def near(value, truth): return abs(value - truth) < 0.2 * truth
print(energy["idle_kind"], near(energy["idle_per_second"], 70000), near(power["hot"], 300000), near(power["cold"], 100000), energy["error"] < 0.1,
    energy["unfitted"], energy["idle"] + energy["work"] + energy["rest"] == energy["amount"] == sum(leaf["energy_mj"] for leaf in profile["leaves"]))' "$scratch/valid.json")" \
		"measured True True True True none True"
}

# uses NAME: the use of tensor cores and of memory by each kernel, of 1 kW that its power is, and by nothing; all parts sum to what GPM counted
uses() {
	valid_report "$scratch/$1" --planes use
	same "$1: use of kernels" "$(python3 -c 'import json, sys
profile = json.load(open(sys.argv[1]))
row, = profile["resources"]
kernels = {kernel["kernel"]: kernel for kernel in row["kernels"]}
peak = 2619e6 * 2 * 5120 / 8
def near(value, truth): return abs(value - truth) < 0.2 * truth
print([near(kernels[name]["tensor"]["added_per_second"] / 1e9, use) and near(kernels[name]["dram"]["added_per_second"] / peak, use)
           for name, use in (("hot", 0.3), ("cold", 0.1))],
    row["tensor"]["idle_kind"], row["tensor"]["idle_per_second"] < 0.01e9, row["tensor"]["error"] < 0.1,
    [meter for meter, member in (("sm", "sm_ns"), ("occupancy", "occupancy_ns"), ("tensor", "tensor_ns"), ("dram", "dram_bytes"), ("nvlink", "nvlink_bytes"),
                                 ("pcie", "pcie_bytes"))
        if not row[meter]["idle"] + row[meter]["work"] + row[meter]["rest"] == row[meter]["amount"] == sum(leaf[member] for leaf in profile["leaves"])])' \
		"$scratch/valid.json")" "[True, True] measured True True []"
}

# ---- one GPU, two kernels, and a pause that shows what the GPU takes without work
run one "$fake_power" hot:6 idle:10 cold:6 hot:6
exact one
powers one
uses one
"$flamegrid" report "$scratch/one" --planes energy -f folded 2>/dev/null >"$scratch/folded"
contains "one: what the GPU takes without work" "$scratch/folded" "[GPU0_Idle] "
contains "one: a kernel under its stack" "$scratch/folded" ";cudaLaunchKernel;[GPU0_Kernel]hot "
"$flamegrid" report "$scratch/one" --planes energy -f table 2>&1 | tr -s ' ' >"$scratch/table"
contains "one: the table" "$scratch/table" " W measured "
contains "one: the closing line" "$scratch/table" "energy of GPUs: "
same "one: CSV" "$("$flamegrid" report "$scratch/one" --planes energy -f csv 2>/dev/null | python3 -c 'import csv, sys
print(sum(int(row["energy_mj"]) for row in csv.DictReader(sys.stdin)))')" "$(counted one)"
"$flamegrid" report "$scratch/one" --planes energy -f html -o "$scratch/page"
same "one: the page opens by energy, and has all of it" "$(page_data "$scratch/page" | python3 -c 'import json, sys
head, _, columns = sys.stdin.buffer.read().partition(b"\0")
page, at = json.loads(head), 0
def number():
    global at
    value = shift = 0
    while True:
        at += 1
        value |= (columns[at - 1] & 127) << shift
        shift += 7
        if columns[at - 1] < 128:
            return value
def column(length): # a zero is followed by the number of further ones
    values = []
    while len(values) < length:
        value = number()
        values += [value] if value else [0] * (1 + number())
    return values
nodes, leaves = page["nodes"], page["leaves"]
for length in (nodes, nodes, 9 * page["dimensions"], *[leaves] * 6):
    column(length)
print(page["weight"], sum(column(leaves)), [plane[4] for plane in page["planes"] if plane[0] == "energy"][0])')" "energy $(counted one) $(counted one)"
"$flamegrid" report "$scratch/one" --planes use --weight dram 2>/dev/null >"$scratch/folded"
contains "one: memory of a kernel under its stack" "$scratch/folded" ";cudaLaunchKernel;[GPU0_Kernel]hot"
same "one: bytes of memory" "$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$scratch/folded")" "$(sql "$scratch/one" 'select sum(dram_bytes) from device_telemetry')"
"$flamegrid" report "$scratch/one" --weight dram 2>"$scratch/usage"
same "weight of another plane: status" $? 2
contains "weight of another plane: is refused" "$scratch/usage" "--weight energy is for --planes energy"
for plane in energy use stalls sync; do
	"$flamegrid" report "$scratch/one" --planes $plane --weight bytes >"$scratch/usage" 2>&1
	same "bytes of $plane: status" $? 2
	contains "bytes of $plane: they are refused" "$scratch/usage" "--weight bytes is for --planes gpu and um, and for --memory"
done
"$flamegrid" diff "$scratch/one" "$scratch/one" --planes stalls -f folded --weight bytes >"$scratch/usage" 2>&1
same "bytes of stalls in a difference: status" $? 2
contains "bytes of stalls in a difference: they are refused" "$scratch/usage" "--weight bytes is for --planes gpu and um"
"$flamegrid" report "$scratch/one" --planes gpu,sync --weight bytes >/dev/null 2>&1
same "bytes of GPU work beside waits: status" $? 0
for plane in energy use; do
	"$flamegrid" report "$scratch/one" --planes $plane -f folded --unit us >"$scratch/usage" 2>&1
	same "unit of $plane: status" $? 2
	contains "unit of $plane: is refused" "$scratch/usage" "--unit is for time: --planes energy and use have units of their own"
done
same "one: other planes have none" "$("$flamegrid" report "$scratch/one" --planes all -f csv 2>/dev/null | grep -c energy)" 0

# ---- from the timeline, which has each piece of work
options=(--timeline all)
run timeline "$fake_power" hot:6 idle:10 cold:6 hot:6
options=()
exact timeline
powers timeline
uses timeline

# ---- two processes share a GPU and its counter
run two sh -c "'$fake_power' hot:4 idle:4 & '$fake_power' cold:6 & wait"
exact two

# ---- merged: two times add up, and a copy counts once
"$flamegrid" merge -o "$scratch/merged" "$scratch/one" "$scratch/two" "$scratch/one" 2>/dev/null
exact merged
"$flamegrid" merge -o "$scratch/half" "$scratch/timeline" "$scratch/one" 2>/dev/null
exact half
powers half
intervals() { "$flamegrid" report "$scratch/$1" --planes energy -f json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["resources"][0]["energy"]["intervals"])'; }
check "half: a run with a timeline and one without are both fitted over" [ "$(intervals half)" -gt "$(intervals one)" -a "$(intervals half)" -gt "$(intervals timeline)" ]
same "merged: the sum of both" "$(counted merged)" $(($(counted one) + $(counted two)))

# ---- nodes fold their own profiles
options=(--aggregate node --node-name node0)
run node "$fake_power" hot:4 cold:4
options=()
await_keepers
exact node

# ---- a counter that begins anew is told, and takes nothing away
unset FAKE_CUDA_POWER
FAKE_NVML='*:resets=3' run resets "$fake_power" hot:10
exact resets
check "resets: the time is told" [ "$("$flamegrid" report "$scratch/resets" --planes energy -f json 2>/dev/null | python3 -c 'import json, sys
print(json.load(sys.stdin)["resources"][0]["energy"]["lost_ns"])')" -gt 0 ]
"$flamegrid" report "$scratch/resets" --planes energy -f table >"$scratch/table" 2>&1
contains "resets: the table says so" "$scratch/table" "its counter was not known, or began anew, for "

# ---- without a counter one line says so
FAKE_NVML='*:result=3' run refused "$fake_power" hot:2
same "refused: nothing is claimed" "$(folded refused)" 0
contains "refused: a line says so" "$scratch/refused.notice" "--planes energy: the profile has nothing of it: fewer than two readings of NVML's have it"
check "refused: the rest is there" [ "$("$flamegrid" report "$scratch/refused" -f folded 2>/dev/null | grep -c hot)" -gt 0 ]

# ---- what has no energy says so
"$flamegrid" report "$scratch/one" --planes energy -f pprof -o "$scratch/page" 2>"$scratch/usage"
same "pprof: status" $? 2
contains "pprof: is refused" "$scratch/usage" "--planes energy and use are folded, html, a table, json or csv"
"$flamegrid" report "$scratch/one" --planes energy,gpu 2>"$scratch/usage"
same "with others: status" $? 2
contains "with others: is refused" "$scratch/usage" "energy and use are no time, so each stands by itself"
"$flamegrid" diff "$scratch/one" "$scratch/two" --planes energy 2>"$scratch/usage"
same "diff: status" $? 2
contains "diff: is refused" "$scratch/usage" "--planes energy, use: their parts are fitted anew in each profile"
