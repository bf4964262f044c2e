#!/usr/bin/env bash
# kill -9 of the job at random points: what was written to the ring before is in the profile, and the end is said to be
# unclean. The job's status is that of the kill.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
seed=${KILL_SEED:-20261121}
RANDOM=$seed
rounds=$(rounds 8 100)
printf '# seed %s\n' "$seed"

# Kills the child of `run` after it has said on its pipe that it made so many launches.
for ((round = 1; round <= rounds; round++)); do
	after=$((RANDOM % 15 + 1))
	mkfifo "$scratch/progress"
	FAKE_CUDA_DEVICES=2 "$flamegrid" run -o "$scratch/killed" --devices "$list" -- "$fake_launches" --devices 2 \
		--streams 4 --threads 2 --forever --progress "$scratch/progress" >"$scratch/out" 2>"$scratch/err" &
	run=$!
	exec 3<"$scratch/progress"
	launched=0 pid=
	while ((after-- > 0)) && read -r pid launched <&3; do :; done
	kill -9 "$pid"
	wait $run 2>/dev/null
	same "round $round: status" $? 137
	exec 3<&-
	rm -f "$scratch/progress"
	same "round $round: unclean end" "$(ledger "$scratch/killed" unclean_end)" 1
	"$flamegrid" report "$scratch/killed" --format json >"$scratch/json"
	seen=$(tr -d ' \n' <"$scratch/json" | grep -o '"launches":[0-9]*' | head -n 1 | grep -o '[0-9]*')
	check "round $round: $seen launches seen of at least $launched" [ "${seen:-0}" -ge "$launched" ]
	full=$(ledger "$scratch/killed" launch_ring_full)
	same "round $round: launches lost" "$full" 0
done
