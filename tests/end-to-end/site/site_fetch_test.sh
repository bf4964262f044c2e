#!/usr/bin/env bash
# `flamegrid fetch`: users list and copy the profiles of their jobs at a site's aggregator, and nobody else's. All jobs are this user's; the other user
# is one by the keys, and by marks of copied jobs.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/site_harness.sh"
client=''
at_end() { kill -9 $service $silent $client ${rank_pid[*]} 2>/dev/null; }

"$flamegrid" keygen --user "$user" keys >/dev/null
"$flamegrid" keygen --user other keys >/dev/null
mine=(--connect "$at" --keys "keys/users/$user.keys")
others=(--connect "$at" --keys keys/users/other.keys --user other)
fetch() { "$flamegrid" fetch "$@" >out 2>err 7<&-; }
refused() { # WHAT REASON OPTION...: the fetch fails so, and leaves nothing.
	local what=$1 reason=$2
	shift 2
	fetch "$@" -o none
	same "$what" $? 1
	contains "$what: says why" err "$reason"
	same "$what: leaves nothing" "$(ls -d none* 2>/dev/null)" ""
}
# complete JOB COMMAND...: runs a job of two ranks on two nodes.
complete() {
	local job=$1 r
	shift
	for r in 0 1; do rank $job $r 2 $r "${site[@]}" -- "$@"; done
	for r in 0 1; do await $job $r 0; done
}
same_profile() { # WHAT DIRECTORY JOB
	same_lines "$1: the same stacks" "$2/gpu.ns.folded" "jobs/$3/gpu.ns.folded"
	check "$1: the same file" cmp "$2/profile.db" "jobs/$3/profile.db"
	same "$1: what is there" "$(ls "$2" | tr '\n' ' ')" "flame.html gpu.ns.folded profile.db "
}

# ---- a list, and a copy
start_service --wait-nodes 4 --user-keys keys/users.keys
fetch "${mine[@]}"
same "a list of nothing" $? 0
contains "says so" err "user $user has no job there"
complete red $work --launches 500
check "it is complete" says "jobs/$user-red is complete"
fetch "${mine[@]}"
same "a list of one" "$(awk 'NR > 1 { print $1, $2 }' out)" "$user-red complete"
fetch red "${mine[@]}" -o prof
same "a copy" $? 0
same_profile "a copy" prof "$user-red"
contains "its summary" err "prof/flame.html"
same "for its user alone" "$(stat -c %a prof prof/profile.db | tr '\n' ' ')" "700 600 "
same "its ns" "$(total_ns prof)" "$(truth_sum valid_ns red.truth.?)"
fetch "$user-red" "${mine[@]}" -o prof
same "a copy by the directory's name" $? 0
contains "the earlier one is kept" err "the earlier profile is now prof.2"
same_profile "the earlier one" prof.2 "$user-red"
printf 'aggregator %s\nkeys %s/keys/users/%%u.keys\n' "$at" "$scratch" >"$FLAMEGRID_CONFIG"
fetch red
same "a copy by the configuration" $? 0
same_profile "its place has the job's name" "$user-red" "$user-red"
: >"$FLAMEGRID_CONFIG"
refused "no aggregator" "fetch needs a site's aggregator" red
fetch red "${mine[@]}" --output ''
same "no name for the output" $? 2
fetch "${mine[@]}" -o none
same "an output for a list" $? 2

# ---- whose it is
refused "another user's job" "user other has no such job there" "$user-red" "${others[@]}"
refused "another user's job in that user's name" "these keys are user other's" red "${others[@]}" --user "$user"
fetch "${others[@]}"
same "another user's list is empty" "$?$(cat out)" 0
cp -a "jobs/$user-red" jobs/other-red
sed -i 's/^user .*/user other/' jobs/other-red/job.complete
cp -a jobs/other-red "jobs/$user-others" # as if this user's name were the begin of the other's
fetch "${others[@]}"
same "another user's list" "$(awk 'NR > 1 { print $1 }' out)" other-red
fetch "${mine[@]}"
same "this user's list" "$(awk 'NR > 1 { print $1 }' out)" "$user-red"
refused "this user's name for it" "user $user has no such job there" "$user-others" "${mine[@]}"
fetch other-red "${others[@]}" -o others.prof
same "another user's copy" $? 0
fetch red --connect "$at" --keys keys/agent.keys --user other -o agents.prof
same "the agents' keys read for every user" $? 0
same_profile "that copy" agents.prof other-red
began=$SECONDS
refused "wrong keys" "the keys do not fit" red --connect "$at" --keys others/agent.keys
check "ends within seconds" [ $((SECONDS - began)) -lt 8 ]
refused "no keys" "the aggregator" red --connect "$at"
cp -a "jobs/$user-red" "jobs/$user-old"
rm "jobs/$user-old/job.complete"
refused "an older version's" "an older version kept this profile" "$user-old" "${mine[@]}"
rm -r "jobs/$user-old" "jobs/$user-others" jobs/other-red

# ---- a job that runs
for r in 0 1; do rank held $r 2 $r "${site[@]}" -- sh -c "$held"; done
await_up 2
# Its ranks may run before its nodes have come to the aggregator.
until fetch "${mine[@]}" && grep -q running out; do nap; done
refused "a running job" "$user-held: the job is still running, since 20" held "${mine[@]}"
fetch "${mine[@]}"
contains "is in the list" out "running"
let_go 2
for r in 0 1; do await held $r 0; done
check "it is complete" says "jobs/$user-held is complete"
fetch held "${mine[@]}"
same "its copy" $? 0
same_profile "its copy" "$user-held" "$user-held"

# ---- several of one name
complete red $work --launches 100
check "the second is complete" says "jobs/$user-red.2 is complete"
refused "a name of two jobs" "several jobs are called so" red "${mine[@]}"
fetch "$user-red.2" "${mine[@]}" -o second
same "the second of that name" $? 0
same_profile "the second of that name" second "$user-red.2"

# ---- profiles of nodes that the site could not put into the store
for r in 0 1; do rank nodes $r 2 $r "${site[@]}" --aggregate node -- sh -c "$held"; done
await_up 2
check "the job has begun" says "jobs/$user-nodes begins"
mkdir -p "jobs/$user-nodes/profile.db.whole/full"
let_go 2
for r in 0 1; do await nodes $r 0; done
check "it is complete" says "jobs/$user-nodes is complete"
check "the nodes' profiles lie beside the store" [ -s "jobs/$user-nodes/profile.db.nodes" ]
fetch nodes "${mine[@]}"
same "a copy of both" $? 0
same "its ns" "$(total_ns "$user-nodes")" "$(truth_sum valid_ns nodes.truth.? nodes.truth.?.2)"
same "is one file" "$(ls "$user-nodes" | tr '\n' ' ')" "flame.html gpu.ns.folded profile.db "

# ---- what ends in the middle leaves nothing, and keeps the earlier profile. The large profile ends in a gigabyte of nothing.
large() {
	cp -a "jobs/$user-red" "jobs/$user-large"
	sed -i 's/^key .*/key large/' "jobs/$user-large/job.complete"
	truncate -s +1G "jobs/$user-large/profile.db"
}
has_part() { [ "$(stat -c %s prof/profile.db.tmp 2>/dev/null || echo 0)" -gt 4000000 ]; }
begin() {
	"$flamegrid" fetch large "${mine[@]}" -o prof >out 2>err 7<&- &
	client=$!
	check "a part is there" until_so has_part
}
ends() { # WHAT STATUS REASON
	wait $client
	same "$1" $? "$2"
	client=
	contains "$1: says why" err "$3"
	same_profile "$1: the earlier profile" prof "$user-red"
	same "$1: nothing is left" "$(ls -d prof* | tr '\n' ' ')" "prof prof.2 "
}
large
begin
kill -TERM $client
ends "a signal" 1 "ended by a signal"
begin
rm -r "jobs/$user-large"
ends "a job that is deleted" 1 "$user-large: the profile was deleted there while it was fetched"
large
begin
touch "jobs/$user-large/profile.db"
ends "a profile that is written" 1 "changed while it was"
begin
kill -KILL $service
wait $service 2>/dev/null
ends "an aggregator that goes" 1 "cannot be reached any more"
start_service --user-keys keys/users.keys
(trap '' XFSZ; ulimit -f 2000; exec "$flamegrid" fetch large "${mine[@]}" -o prof >out 2>err 7<&-) &
client=$!
ends "a full disk" 1 "the profile cannot be written: File too large"

# ---- an aggregator that comes again
truncate -s -800M "jobs/$user-large/profile.db"
begin
kill -STOP $service
kill -KILL $service
wait $service 2>/dev/null
start_service --user-keys keys/users.keys
wait $client
same "a copy from two aggregators" $? 0
client=
check "is whole" cmp prof/profile.db "jobs/$user-large/profile.db"

# ---- aggregators from which nobody reads
end_service
start_service
refused "one without users' keys" "this aggregator lets nobody read" red --connect "$at" --keys keys/agent.keys
end_service
rm -r jobs
: >"$log"
"$flamegrid" aggregate --keys keys/aggregator.keys --listen "$at" --store own.db 2> >(tee -p news >>"$log") 7<&- &
service=$!
check "the service is there" says "listening on $at"
refused "one without jobs" "keeps no profiles of jobs" red --connect "$at" --keys keys/agent.keys
end_service
refused "none" "the aggregator cannot be reached" red --connect "$at" --keys keys/agent.keys
