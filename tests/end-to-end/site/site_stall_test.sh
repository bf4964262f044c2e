#!/usr/bin/env bash
# The disk of one job of a site stalls: other jobs begin, are acknowledged and end meanwhile, and all profiles are exact. Nodes are names.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/site_harness.sh"

gate=$scratch/gate
LD_PRELOAD=$BUILD/lib/libgated_disk.so GATED_DISK=$scratch/jobs/$user-slow/ DISK_GATE=$gate start_service

# ---- two jobs run, and a third begins while the first one's disk stalls
for job in slow early; do
	for r in 0 1; do rank $job $r 2 $r "${site[@]}" -- sh -c "$held"; done
	await_up 2
	check "$job has begun" says "$scratch/jobs/$user-$job begins"
done
mkfifo "$gate"
let_go 4
check "the disk stalls" says "the disk stalls"
for r in 0 1; do rank late $r 2 $r "${site[@]}" -- $work --launches 700; done
for job in early late; do
	for r in 0 1; do await $job $r 0; done
	check "$job is complete" says "$scratch/jobs/$user-$job is complete"
done
for r in 0 1; do await slow $r 0; done # its ranks wait for no disk
check "the slow job is still open" [ -e "$scratch/jobs/$user-slow/job.open" ]

# ---- the disk works again
exec 6<>"$gate"
rm "$gate"
check "slow is complete" says "$scratch/jobs/$user-slow is complete"
for job in slow early late; do
	same "$job: ns" "$(total_ns "$scratch/jobs/$user-$job")" "$(truth_sum valid_ns "$scratch/$job".truth.*)"
	check "$job: nothing lost" "$flamegrid" report "$scratch/jobs/$user-$job" --strict -o /dev/null
done
same "nothing was dropped" "$(grep -c 'there is no room' "$log")" 0
end_service
