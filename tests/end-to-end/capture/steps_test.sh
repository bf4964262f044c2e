#!/usr/bin/env bash
# One step in every so many, on fake CUDA: four ranks on two nodes, each at a pace of its own, capture the same steps, all of them and nothing else.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
node_devices 1 0 1
declare -A rank_pid
at_end() { kill -9 ${rank_pid[*]} 2>/dev/null; }

# ranks NAME COMMAND-OF-RANK: four ranks; OPTIONS are run's.
ranks() {
	local name=$1 r
	shift
	for r in 0 1 2 3; do
		env PMIX_NAMESPACE="$name" OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=$((r % 2)) \
			FAKE_CUDA_HOST_SEED=$((r / 2 + 1)) FAKE_CUDA_DEVICES=1 timeout 120 \
			"$flamegrid" run --node-name "node$((r / 2))" --devices "$scratch/devices.$((r / 2))" -o "$scratch/$name" "${options[@]}" -- \
			$(command_of $r) >"$scratch/$name.out.$r" 2>"$scratch/$name.err.$r" &
		rank_pid[$r]=$!
	done
	for r in 0 1 2 3; do
		wait ${rank_pid[$r]}
		same "$name: rank $r: status" $? 0
	done
	rank_pid=()
	"$flamegrid" report "$scratch/$name" --strict --by rank --weight count >"$scratch/$name.folded" 2>"$scratch/$name.report"
	same "$name: nothing lost (--strict)" $? 0
}
# kernels NAME RANK: "kernel count" lines of what was captured.
kernels() {
	grep "^rank$2;" "$scratch/$1.folded" | sed -E 's/.*_Kernel\]([^;]*) ([0-9]+)$/\1 \2/' |
		awk '{ n[$1] += $2 } END { for (k in n) printf "%s %.0f\n", k, n[k] }' | sort -V | paste -sd, -
}

# cudaProfilerStart to cudaProfilerStop; ranks launch more or less between, and wait in different ways.
options=(--every-steps 7)
waits=(device stream event device)
command_of() { echo "$BUILD/tests/fake_windows --steps --rounds 30 --inside $((10 + $1)) --outside $((5 + 40 * $1)) --wait ${waits[$1]} --threads $(($1 % 2 + 1))"; }
ranks pairs
for r in 0 1 2 3; do
	n=$((10 + r))
	same "pairs: rank $r: what was captured but others" "$(kernels pairs $r | tr ',' '\n' | grep -v '^other ' | paste -sd, -)" \
		"step7 $n,step14 $n,step21 $n,step28 $n"
done
# Said after the window, by a thread that looks now and then: the program ends when it has been.
FAKE_CUDA_DEVICES=1 "$flamegrid" run --devices "$scratch/devices.0" --every-steps 300 -o "$scratch/long" -- \
	"$BUILD/tests/fake_windows" --steps --until "$scratch/over" >"$scratch/long.out" 2>&1 &
rank_pid[long]=$!
mkfifo "$scratch/nothing"
until grep -q 'CUPTI stays' "$scratch/long.out" || ! kill -0 ${rank_pid[long]}; do read -r -t 0.05 _ <>"$scratch/nothing"; done
touch "$scratch/over"
wait ${rank_pid[long]}
same "long: status" $? 0
rank_pid=()
"$flamegrid" report "$scratch/long" --format table >"$scratch/pairs.table"
contains "pairs: says why CUPTI stays" "$scratch/pairs.table" "it tells when the program calls cudaProfilerStart"

# NVTX ranges, from the very first: what ran before CUDA started counts, too.
if [ -x "$BUILD/tests/nvtx_program" ]; then
	options=(--step-range step --every-steps 5)
	command_of() { echo "$BUILD/tests/nvtx_program training $((23 + $1))"; }
	ranks nvtx
	for r in 0 1; do
		same "nvtx: rank $r: what was captured" "$(kernels nvtx $r)" "in_step_5 1,in_step_10 1,in_step_15 1,in_step_20 1"
	done
	for r in 2 3; do
		same "nvtx: rank $r: what was captured" "$(kernels nvtx $r)" "in_step_5 1,in_step_10 1,in_step_15 1,in_step_20 1,in_step_25 1"
	done
fi

for wrong in "--every-steps 0" "--every-steps x" "--every-steps -3" "--step-range=" "--capture-range control --every-steps 2" \
	"--every-steps 2 --capture-range control"; do
	"$flamegrid" run $wrong -- true 2>"$scratch/err"
	same "run $wrong" $? 125
done
