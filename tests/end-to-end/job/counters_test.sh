#!/usr/bin/env bash
# Samples of GPUs' counters: a fake CUPTI's values are exact in the store, kernels of a loop are told apart by them, and what prevents them is said and
# stops nothing.
. "$(dirname "$0")/../support/harness.sh"
fake_power=$BUILD/tests/fake_power
program=$fake_power
library=$BUILD/lib/fake-nvml:$LD_LIBRARY_PATH
list=$(devices 1)
export FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13 FAKE_CUDA_DEVICES=1 XDG_RUNTIME_DIR=$scratch/runtime FAKE_NVML_LOG=$scratch/log
mkdir -m 700 "$XDG_RUNTIME_DIR"

run() { # NAME PHASE...: a run with samples, and the options
	local name=$1
	shift
	LD_LIBRARY_PATH=$library timeout 120 "$flamegrid" run --devices "$list" --sample-counters 500/s "${options[@]}" -o "$scratch/$name" -- \
		"$program" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	same "$name: no process is left" "$(pgrep -f -- "^$flamegrid --sample-counters-for-agent 2000000")" ""
}
options=()
state() { sql "$scratch/$1" "select $2 from counter_states" | tr '\t' ' '; }
table() { "$flamegrid" report "$scratch/$1" -f table >"$scratch/table" 2>&1; }
# launched NAME: the rest of the profile is there, and GPM with it.
launched() {
	same "$1: the rest is there" "$("$flamegrid" report "$scratch/$1" --strict -f json 2>/dev/null | python3 -c 'import json, sys
device, = json.load(sys.stdin)["devices"]
print(device["records"] > 0, device["telemetry"]["gpm"]["refusal"], device["telemetry"]["gpm"]["known_ns"] > 0)')" "True none True"
}

# ---- values
# exact NAME: each sample as the fake has it, none lost, and each begins where the one before ended
exact() {
	check "$1: samples" [ "$(sql "$scratch/$1" 'select count(*) from counter_samples')" -gt 100 ]
	same "$1: their values" "$(sql "$scratch/$1" 'select distinct end_ns - begin_ns, known, sm, occupancy, tensor, dram, dram_bytes, nvlink_bytes, pcie_bytes
		from counter_samples' | tr '\t' ' ')" "2000000 95 600000 300000 200000 400000 6000000 0 96000"
	same "$1: one after the other" "$(sql "$scratch/$1" 'select count(distinct device), max(end_ns) - min(begin_ns) - 2000000 * count(*)
		from counter_samples' | tr '\t' ' ')" "1 0"
	same "$1: all are told" "$(state "$1" "refusal, interval_ns, samples - (select count(*) from counter_samples), kept - samples, unsent, dropped, overflows,
		last_ns - (select max(end_ns) from counter_samples)")" "0 2000000 0 0 0 1 0 0"
}
readers=$(cd "$(dirname "$0")/../readers" && pwd)
options=(--timeline all)
run values hot:6
options=()
exact values
# Where there are samples, they stand in place of GPM's rows of a second, which tell of the time in which the GPU computed.
"$flamegrid" timeline "$scratch/values" -o "$scratch/t.perfetto" 2>"$scratch/err"
python3 "$readers/read_gauges.py" "$scratch/t.perfetto" >"$scratch/gauges" 2>&1
same "values: the timeline's counters" "$(grep -v clock "$scratch/gauges" | tr '\n' ' ')" \
	"GPU 0 DRAM 40 50 GPU 0 SM_active 60 75 GPU 0 power 500 500 GPU 0 tensor 20 25 "
valid_report "$scratch/values"
same "values: JSON" "$(python3 -c 'import json, sys
row, = (device["counters"] for device in json.load(open(sys.argv[1]))["devices"])
print(row["refusal"], row["interval_ns"], row["samples"] == row["kept"] > 100, row["unsent"], row["dropped"], row["overflows"],
    row["covered_ns"] == 2000000 * row["samples"], row["asked_ns"] > 0, row["invalid"])' "$scratch/valid.json")" \
	"none 2000000 True 0 1 0 True True 0"
table values
same "values: the table has nothing to say of them" "$(grep -c "samples of its counters" "$scratch/table")" 0
"$flamegrid" merge -o "$scratch/merged" "$scratch/values" "$scratch/values" 2>/dev/null
exact merged
options=(--aggregate node --node-name node0)
run node hot:6
options=()
await_keepers
exact node

# NVLink's counters are asked for, and are there where the GPU has them.
FAKE_CUPTI_PM_NVLINK=1 run nvlink hot:4
same "nvlink: its bytes" "$(sql "$scratch/nvlink" 'select distinct known, nvlink_bytes from counter_samples' | tr '\t' ' ')" "127 288000"

# A GPU without GPM has its use by samples alone, and stacks have theirs. At the begin and the end of a row they are some samples off.
FAKE_NVML='*:gpm=3' run no_gpm hot:12
exact no_gpm
same "no_gpm: use of the GPU" "$(sql "$scratch/no_gpm" 'select distinct gpm_refusal, sm_known_ns > 0, abs(sm_ns - sm_known_ns / 10 * 6) < 10,
	abs(tensor_ns - sm_known_ns / 5) < 10, abs(dram_bytes - sm_known_ns * 3) < 100, computing_known_ns, pcie_sent_known_ns
	from device_telemetry where begin_ns > (select min(begin_ns) from device_telemetry)' | tr '\t' ' ')" "5 1 1 1 1 0 0"
same "no_gpm: use of stacks" "$("$flamegrid" report "$scratch/no_gpm" --planes use -f json 2>/dev/null | python3 -c 'import json, sys
row, = json.load(sys.stdin)["resources"]
print(row["sm"]["sample_ns"], row["sm"]["amount"] > 0, row["sm"]["amount"] == row["sm"]["idle"] + row["sm"]["work"] + row["sm"]["rest"], "pcie" in row)')" \
	"2000000 True True False"

# ---- kernels of a loop, which always run in the same proportion
export FAKE_CUDA_POWER=$scratch/power FAKE_CUDA_POWER_MW=hot=300000,cold=100000
# loop NAME: the use of tensor cores and of memory by each kernel, how sure it is, and what it was fitted over; all parts sum to what GPM counted
loop() {
	valid_report "$scratch/$1" --planes use
	same "$1: use of kernels" "$(python3 -c 'import json, sys
profile = json.load(open(sys.argv[1]))
row, = profile["resources"]
kernels = {kernel["kernel"]: kernel for kernel in row["kernels"]}
peak = 2619e6 * 2 * 5120 / 8
def near(value, truth): return abs(value - truth) < 0.02 * truth
print([(near(kernels[name]["tensor"]["added_per_second"] / 1e9, use), near(kernels[name]["dram"]["added_per_second"] / peak, use),
        kernels[name]["tensor"]["confidence"]) for name, use in (("hot", 0.3), ("cold", 0.1))],
    row["tensor"]["sample_ns"], row["tensor"]["error"] < 0.02, row["tensor"]["intervals"] > 100,
    [meter for meter, member in (("sm", "sm_ns"), ("tensor", "tensor_ns"), ("dram", "dram_bytes"), ("pcie", "pcie_bytes"))
        if not row[meter]["idle"] + row[meter]["work"] + row[meter]["rest"] == row[meter]["amount"] == sum(leaf[member] for leaf in profile["leaves"])])' \
		"$scratch/valid.json")" "[(True, True, 'high'), (True, True, 'high')] 2000000 True True []"
}
run loop hot+cold:12 idle:4 hot+cold:8
loop loop
"$flamegrid" report "$scratch/loop" --planes use -f table >"$scratch/table" 2>&1
contains "loop: the table says what was fitted" "$scratch/table" "fitted over samples of counters: SM active, occupancy, tensor cores, DRAM, PCIe; one is 2.000 ms long"
options=(--timeline all)
run timeline hot+cold:12 idle:4 hot+cold:8
options=()
loop timeline
# GPM has half of the multiprocessors' use that samples have: one of them is wrong. The others' values stay sure.
FAKE_NVML='*:active=30000' run differs hot+cold:12 idle:4 hot+cold:8
valid_report "$scratch/differs" --planes use
same "differs: confidence of kernels" "$(python3 -c 'import json, sys
row, = json.load(open(sys.argv[1]))["resources"]
print([({kernel[meter]["confidence"] for kernel in row["kernels"] if kernel["kernel"] in ("hot", "cold")}, row[meter]["sample_mismatch"] > 0.2)
    for meter in ("sm", "tensor")])' "$scratch/valid.json")" "[({'low'}, True), ({'high'}, False)]"
"$flamegrid" report "$scratch/differs" --planes use -f table >"$scratch/table" 2>&1
contains "differs: the table says so" "$scratch/table" "SM active: samples and NVML's readings differ by "
unset FAKE_CUDA_POWER FAKE_CUDA_POWER_MW

# ---- what prevents them is said
for refusal in 35:no_right 7:taken 33:virtual 27:not_supported 999:failed; do
	name=${refusal#*:}
	FAKE_CUPTI_PM_REFUSED=${refusal%:*} run $name hot:4
	launched $name
	same "$name: JSON" "$("$flamegrid" report "$scratch/$name" -f json 2>/dev/null | python3 -c 'import json, sys
print([(device["counters"]["refusal"], device["counters"]["samples"]) for device in json.load(sys.stdin)["devices"]])')" "[('$name', 0)]"
	table $name
	contains "$name: the table says so" "$scratch/table" "; samples of its counters: "
	"$flamegrid" report "$scratch/$name" --planes use -f table >"$scratch/table" 2>&1
	contains "$name: the table of use says so" "$scratch/table" "GPU0; samples of its counters: "
	same "$name: the run says so as soon as it is known, and at its end" \
		"$(grep -c "counters of CUDA device 0 are not sampled: " "$scratch/$name.err")" 2
	for format in folded csv; do
		"$flamegrid" report "$scratch/$name" --planes use -f $format 2>"$scratch/err" >/dev/null
		contains "$name: $format of use says so" "$scratch/err" "report: --planes use: counters of CUDA device 0 are not sampled: "
	done
done
FAKE_NVML='*:gpm=3' FAKE_CUPTI_PM_REFUSED=35 run no_use hot:4
"$flamegrid" report "$scratch/no_use" --planes use -f table >"$scratch/table" 2>&1
contains "no_use: the table of use has nothing" "$scratch/table" "nothing of use is here"
contains "no_use: and says why" "$scratch/table" "GPU0; samples of its counters: not permitted"

# Without samples there are intervals of a second. Of so many kernels, in so large a job, too few are kept one by one to
# tell what ran in them.
program=$fake_launches
FAKE_CUPTI_PM_REFUSED=35 RANK=0 WORLD_SIZE=1024 run many --launches 1000000 --kernels 2 --sync-every 100
program=$fake_power
"$flamegrid" report "$scratch/many" --planes use -f table >"$scratch/table" 2>&1
contains "many: why all work counts alike" "$scratch/table" "because too little of it is kept one by one (run --timeline all)"

FAKE_CUPTI_PM_OVERFLOW=3 run overflow hot:8
launched overflow
same "overflow: it is counted, and sampling goes on" "$(state overflow "refusal, overflows > 1, dropped >= overflows, samples > 100,
	samples - (select count(*) from counter_samples)")" "0 1 1 1 0"
table overflow
contains "overflow: the table says so" "$scratch/table" "; samples of its counters are missing: overflowed "

FAKE_CUPTI_PM_DIES=4 run died hot:8
launched died
same "died: its samples are there" "$(state died "refusal, samples > 0, samples - (select count(*) from counter_samples)")" "9 1 0"
table died
contains "died: the run says so" "$scratch/died.err" "counters of CUDA device 0 are no longer sampled: the process that sampled them has died"
contains "died: the table says so" "$scratch/table" "; samples of its counters: the process that sampled them has died"

# A process that never returns ends with the run, and the time without samples is told.
FAKE_CUPTI_PM_HANGS=2 run hangs hot:30
launched hangs
same "hangs: most time has no samples" "$(state hangs "refusal, asked_ns > 2 * covered_ns, asked_ns > 1000000000")" "0 1 1"
table hangs
contains "hangs: the table says so" "$scratch/table" "; samples of its counters: none for "

# What a library prints is no word of the process.
FAKE_CUPTI_PM_WRONG=4 run prints hot:6
exact prints

FAKE_CUPTI_PM_WRONG=1 run values_wrong hot:6
same "values_wrong: they are not known" "$(sql "$scratch/values_wrong" 'select distinct known, sm, dram_bytes from counter_samples' | tr '\t' ' ')" "0 0 0"
same "values_wrong: all are told" "$(state values_wrong "refusal, samples > 100, invalid - samples, samples - (select count(*) from counter_samples)")" "0 1 0 0"
table values_wrong
contains "values_wrong: the table says so" "$scratch/table" " samples of its counters had impossible values"

# Times of an hour ahead, and those that repeat.
for wrong in 2 3; do
	FAKE_CUPTI_PM_WRONG=$wrong run times$wrong hot:8
	same "times$wrong: they are dropped, and the others are there" "$(state times$wrong "refusal, dropped > 5, samples > 10 * dropped,
		samples - (select count(*) from counter_samples), last_ns - (select max(end_ns) from counter_samples)")" "0 1 1 0 0"
	"$flamegrid" report "$scratch/times$wrong" --planes use -f json >"$scratch/json" 2>"$scratch/err"
	same "times$wrong: report" $? 0
done

# A store that has a sample without time is read.
python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE counter_samples SET end_ns = begin_ns - 1 WHERE begin_ns = (SELECT min(begin_ns) FROM counter_samples)")
db.commit()' "$scratch/values/profile.db"
"$flamegrid" report "$scratch/values" --planes use -f json >"$scratch/json" 2>"$scratch/err"
same "a sample without time: report" $? 0

# ---- options
for wrong in 5/s 20000/s often; do
	LD_LIBRARY_PATH=$library "$flamegrid" run --sample-counters $wrong -o "$scratch/wrong" -- true >"$scratch/usage" 2>&1
	same "$wrong: status" $? 125
	contains "$wrong: is refused" "$scratch/usage" "--sample-counters $wrong: not a number of samples from 10/s to 10000/s"
	"$BUILD/bin/flamegrid-agent" --connect ipc://nowhere --socket "$scratch/socket" --sample-counters $wrong >"$scratch/usage" 2>&1
	same "$wrong: the agent's status" $? 2
done
