#!/usr/bin/env bash
# `flamegrid run --aggregator --aggregate node`: nodes fold their own profiles and send these to the site's aggregator. Jobs are exact, also when the
# service is killed in their middle; and while nobody is there, the nodes keep what they have.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/site_harness.sh"

mkdir -m 700 "$scratch/spool"
folded=("${site[@]}" --aggregate node --spool "$scratch/spool")
whole() { # JOB TRUTH...: the job's profile is complete, and has what the nodes' GPUs did.
	local job=$1 profile=$scratch/jobs/$user-$1
	shift
	check "$job: is complete" says "$profile is complete"
	same "$job: ns" "$(total_ns "$profile")" "$(truth_sum valid_ns "$@")"
	same "$job: its nodes" "$(groups "$profile" host)" "node0 node1"
	check "$job: nothing lost" "$flamegrid" report "$profile" --strict -o /dev/null
	same "$job: what is there" "$(ls "$profile" | tr '\n' ' ')" "flame.html gpu.ns.folded job.complete profile.db "
	same "$job: who can read it" "$(stat -c %a "$profile"/* | sort -u)" 640
}
# The service has that much of the job: each of its agents has sent its first part.
has_ns() { [ "$(total_ns "$scratch/jobs/$user-$1" 2>/dev/null)" = "$2" ]; }

# ---- two jobs at once, beside one whose agents send events
start_service --wait-nodes 4
for r in 0 1 2 3; do
	rank red $r 4 $((r / 2)) "${folded[@]}" -- $work --launches $((1000 * (r + 1)))
	rank blue $r 4 $((r / 2)) "${folded[@]}" -- $work --launches $((700 * (r + 1)))
	rank raw $r 4 $((r / 2)) "${site[@]}" -- $work --launches $((300 * (r + 1)))
done
for job in red blue raw; do
	for r in 0 1 2 3; do await $job $r 0; done
	whole $job "$scratch/$job".truth.?
	for r in 0 1 2 3; do same "$job: rank $r: ns" "$(rank_ns "$scratch/jobs/$user-$job" $r)" "$(truth_sum valid_ns "$scratch/$job.truth.$r")"; done
	says_place "$job: rank 0 says where it is" "$scratch/jobs/$user-$job" "$scratch/$job".err.[01]
done
same "what is left in the spool" "$(ls "$scratch/spool")" ""

# ---- the service is killed in the middle, and comes again; a command reaches the nodes by it
for r in 0 1; do rank held $r 2 $r "${folded[@]}" -- sh -c "$held"; done
await_up 2
check "the first part is there" until_so has_ns held "$(truth_sum valid_ns "$scratch"/held.truth.?)"
"$flamegrid" control start --job held --connect "$at" --keys "$scratch/keys/agent.keys" >"$scratch/taken"
same "a command reaches both nodes" "$(awk '$1 == "yes" { print $NF }' "$scratch/taken" | LC_ALL=C sort | paste -sd' ')" "node0 node1"
check "reports of it are written meanwhile" "$flamegrid" report "$scratch/jobs/$user-held" --files 2>"$scratch/err"
contains "they say that it runs" "$scratch/err" "live: "
kill -KILL $service
wait $service 2>/dev/null
contains "a mark is left" "$scratch/jobs/$user-held/job.open" "key held"
start_service --wait-nodes 4
let_go 2
for r in 0 1; do await held $r 0; done
whole held "$scratch"/held.truth.? "$scratch"/held.truth.?.2
same "one profile" "$(ls -d "$scratch/jobs/$user-held"* | wc -l)" 1

# ---- the service is killed while reports are made: the next one makes them
end_service
mv "$scratch/jobs/$user-held/job.complete" "$scratch/jobs/$user-held/job.closed"
rm "$scratch/jobs/$user-held/flame.html"
start_service --wait-nodes 4
whole held "$scratch"/held.truth.? "$scratch"/held.truth.?.2

# ---- nobody is there at the end: the nodes keep their profiles, and say where
for r in 0 1; do rank kept $r 2 $r "${folded[@]}" -- sh -c "$held"; done
await_up 2
check "the first part is there" until_so has_ns kept "$(truth_sum valid_ns "$scratch"/kept.truth.?)"
end_service
let_go 2
for r in 0 1; do
	await kept $r 0
	contains "node$r says where it is" "$scratch/kept.err.$r" "it stays there in $scratch/spool/flamegrid-node-"
done
start_service --wait-silent 1 --wait-nodes 1
check "the job is complete all the same" says "$scratch/jobs/$user-kept is complete"
"$flamegrid" report "$scratch/jobs/$user-kept" --strict -o /dev/null 2>"$scratch/err"
same "--strict says that it is not whole" $? 3
contains "and how much is missing" "$scratch/err" "2 of 2 agents did not say goodbye"
"$flamegrid" merge "$scratch/jobs/$user-kept" "$scratch"/spool/flamegrid-node-* -o "$scratch/all"
same "with what the nodes kept: ns" "$(total_ns "$scratch/all")" "$(truth_sum valid_ns "$scratch"/kept.truth.? "$scratch"/kept.truth.?.2)"
check "with what the nodes kept: nothing lost" "$flamegrid" report "$scratch/all" --strict -o /dev/null
end_service
