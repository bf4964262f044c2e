#!/usr/bin/env bash
# Five nodes in blocks of one (--fan-in 1). The names of the files by which three blocks would meet are taken: each of their
# nodes says what is in the way, takes the job's aggregator, and loses nothing, however short the job is.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$scratch/spool"
nodes="0 1 2 3 4"
for node in $nodes; do
	FAKE_CUDA_HOST_SEED=$((node + 1)) FAKE_CUDA_DEVICES=1 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.$node"
done
# file_of STEP BLOCK: what a block's file is called (job_step_hash).
file_of() {
	python3 -c 'import sys
name = 0xcbf29ce484222325
for byte in sys.argv[1].encode() + b"\xff":
	name = (name ^ byte) * 0x100000001b3 % 2**64
print(f"{sys.argv[2]}.{name:016x}-{sys.argv[3]}.rendezvous")' "$1.node0.1" "$scratch/$1" "$2"
}

# job STEP LAUNCHES: all nodes, from their beginning to their end
job() {
	local step=$1 r

	for r in $nodes; do
		env TORCHELASTIC_RUN_ID="$step" MASTER_ADDR=node0 MASTER_PORT=1 RANK="$r" LOCAL_RANK=0 WORLD_SIZE=5 LOCAL_WORLD_SIZE=1 \
			GROUP_RANK="$r" GROUP_WORLD_SIZE=5 FAKE_CUDA_HOST_SEED=$((r + 1)) FAKE_CUDA_DEVICES=1 \
			FAKE_CUDA_TRUTH="$scratch/truth.$r" \
			"$flamegrid" run --aggregate node --fan-in 1 --node-name "node$r" --devices "$scratch/devices.$r" \
			--spool "$scratch/spool" -o "$scratch/$step" -- \
			"$fake_launches" --streams 2 --threads 2 --kernels 3 --launches "$2" >"$scratch/out.$r" 2>"$scratch/err.$r" &
	done
	wait
	await_keepers # a node that is shorter than its search sends after its end
}

for step in short long; do
	mkfifo "$(file_of $step 1)"
	mkdir "$(file_of $step 2)"
	echo "mine" >"$(file_of $step 3)"
	chmod 600 "$(file_of $step 3)"
done
launches=50
for step in short long; do
	job $step $launches
	same "$step: ns" "$(total_ns "$scratch/$step")" "$(truth_sum valid_ns "$scratch"/truth.?)"
	same "$step: hosts" "$(groups "$scratch/$step" host)" "node0 node1 node2 node3 node4"
	check "$step: nothing lost" "$flamegrid" report "$scratch/$step" --strict -o /dev/null
	same "$step: nothing stays on the nodes" "$(ls "$scratch/spool")" ""
	same "$step: what is in the way stays" "$(ls -d "$scratch/$step".*.rendezvous | wc -l)" 3
	launches=8000
done
# A job that is shorter than its nodes' search has never missed the files.
contains "a FIFO is named" "$scratch/err.1" "$(file_of long 1): not a regular file: so the nodes of this block cannot meet there"
contains "a directory is named" "$scratch/err.2" "$(file_of long 2): not a regular file: so the nodes of this block cannot meet there"
contains "another file is named" "$scratch/err.3" "$(file_of long 3): line 1: not \`NAME VALUE\`: so the nodes of this block"
same "each says it once" "$(cat "$scratch"/err.? | grep -c "cannot meet there")" 3
