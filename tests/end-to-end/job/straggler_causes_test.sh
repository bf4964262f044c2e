#!/usr/bin/env bash
# Why a rank is late, of a training in Python whose late rank has slower imports, too: the planted function is named, and neither its module nor the
# imports. A rank that waits for its own GPU is late because of the GPU's work. Needs root.
. "$(dirname "$0")/../support/harness.sh"
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
here=$(dirname "$0") list=$(devices 3)
field() { python3 -c 'import json, sys; f = json.load(open(sys.argv[1]))["ranks"][0]; print(eval(sys.argv[2]))' "$scratch/json" "$1"; }

# planted PLANT CAUSE: the first cause of its plane, but for the time without a CPU, which may be longer on a busy machine. If the GPU idles for that,
# the times before its late collectives do not explain all, and the time from the first collective to the last one stands in for them.
planted() {
	"$flamegrid" run --devices "$list" --cpu-hz 499 --off-cpu 1ms -o "$scratch/$1" -- python3 "$here/straggler_causes.py" 3 300 1 "$1" \
		>"$scratch/out" 2>"$scratch/err"
	same "$1: status" $? 0
	"$flamegrid" report "$scratch/$1" --straggler -f json >"$scratch/json"
	same "$1: who is late" "$(field '(f["rank"], f["late"])')" "(1, True)"
	same "$1: why" "$(field "[c['cause'] for c in f['causes'] if c['plane'] == '$2' and c['what'] != 'run queue'][0]")" "$3"
	same "$1: nothing outside of its collectives" "$(field '{c["interval"] for c in f["causes"]} <= {"late", "collectives"}')" True
	same "$1: causes outside the steps, or in a wait for the GPU" \
		"$(field '[c["cause"] for c in f["causes"] if c["plane"] in ("cpu", "offcpu") and any(n in c["cause"] for n in ("module>", "import_", "wait_for_gpu"))]')" "[]"
}
planted tokens cpu "host code (straggler_causes.py:tokenize_batch)"
planted shard offcpu "waits (sleep, straggler_causes.py:load_shard)"
planted kernels gpu "slower GPU kernels (forward_kernel, straggler_causes.py:train_step)"
