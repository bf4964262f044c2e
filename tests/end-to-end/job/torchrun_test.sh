#!/usr/bin/env bash
# Workers of torchrun, each under its own `flamegrid run` (torchrun --no-python flamegrid run ... -- python3 train.py), without Slurm: one profile of all
# nodes, and of two jobs at once each its own. The environment is torchrun's; nodes are names.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
node_devices 2 0 1
declare -A worker_pid

# worker JOB PORT RANK COMMAND...: one of four, on two nodes; in the background.
worker() {
	local job=$1 port=$2 rank=$3 node=$(($3 / 2))
	shift 3
	env TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0 MASTER_ADDR=node0 MASTER_PORT="$port" RANK="$rank" LOCAL_RANK=$((rank % 2)) WORLD_SIZE=4 \
		LOCAL_WORLD_SIZE=2 GROUP_RANK=$node GROUP_WORLD_SIZE=2 FAKE_CUDA_HOST_SEED=$((node + 1)) FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH="$scratch/$job.truth.$rank" \
		"$flamegrid" run --node-name "node$node" --devices "$scratch/devices.$node" -o "$scratch/$job" -- "$@" >"$scratch/out" 2>"$scratch/$job.err.$rank" &
	worker_pid[$job.$rank]=$!
}
check_job() {
	local job=$1 rank
	for rank in 0 1 2 3; do
		wait "${worker_pid[$job.$rank]}"
		same "$job: rank $rank's status" $? 0
	done
	for rank in 0 1 2 3; do
		same "$job: rank $rank: ns" "$(rank_ns "$scratch/$job" $rank)" \
			"$(truth_sum valid_ns "$scratch/$job.truth.$rank")"
	done
	same "$job: its nodes" "$(groups "$scratch/$job" host)" "node0 node1"
	check "$job: nothing lost" "$flamegrid" report "$scratch/$job" --strict -o /dev/null
	contains "$job: rank 0 says how it went" "$scratch/$job.err.0" "nothing lost; $scratch/$job/"
}
for rank in 0 1 2 3; do
	worker one 29400 $rank "$fake_launches" --launches $((1000 * (rank + 1))) --kernels 3
	worker other 29500 $rank "$fake_launches" --launches $((700 * (rank + 1))) --kernels 2
done
check_job one
check_job other

# One of them fails, so torchrun ends the others, and starts all of them again by the same id and address.
for rank in 0 1 2; do worker again 29600 $rank sh -c "$fake_launches --launches 300; kill -TERM \$\$"; done
worker again 29600 3 sh -c 'exit 1'
for rank in 0 1 2; do
	wait "${worker_pid[again.$rank]}"
	same "again: rank $rank is ended" $? 143
done
wait "${worker_pid[again.3]}"
same "again: rank 3 fails" $? 1
for rank in 0 1 2 3; do worker again 29600 $rank "$fake_launches" --launches $((400 * (rank + 1))) --kernels 2; done
check_job again
check "again: the first attempt is kept" test -s "$scratch/again.2/profile.db"
same "what is left on the nodes" "$(ls "$XDG_RUNTIME_DIR")" ""
