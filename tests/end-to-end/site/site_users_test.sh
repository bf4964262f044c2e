#!/usr/bin/env bash
# Users of a site's aggregator with keys of their own: each sends to and commands that user's jobs alone. All jobs here are root's; the other
# user is one by the keys only.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime FLAMEGRID_CONFIG=$scratch/site.conf
mkdir -m 700 "$XDG_RUNTIME_DIR"
cd "$scratch" || exit 1
list=$(devices 1)
export FAKE_CUDA_DEVICES=1
me=$(id -un)
service='' job=''
at_end() { kill -9 $service $job 2>/dev/null; }

# ---- keys
"$flamegrid" keygen --user "$me" keys >out 2>err
same "a user without a site's keys" $? 1
contains "names the file that is missing" err "keys/agent.keys: No such file"
"$flamegrid" keygen keys >/dev/null
"$flamegrid" keygen --user "$me" keys >out
same "a user's key" $? 0
same "its files" "$(cat out)" "keys/users/$me.keys"$'\n'keys/users.keys
same "nobody else reads the secret" "$(stat -c %a "keys/users/$me.keys")" 600
same "everybody may read the list" "$(stat -c %a keys/users.keys)" 644
"$flamegrid" keygen --user "$me" keys >out 2>err
same "a second key" $? 1
"$flamegrid" keygen --user other keys >out
for bad in '' ../x '*' .x; do
	"$flamegrid" keygen --user "$bad" keys >out 2>err
	same "the user '$bad'" $? 1
done
same "the users" "$(grep -v '^#' keys/users.keys | cut -d ' ' -f 1 | sort | tr '\n' ' ')" "$(printf '%s\n' "$me" other | sort | tr '\n' ' ')"

# ---- jobs
mkfifo news
exec 7<>news
says() { until grep -qF -- "$1" service.log; do read -r -t 60 _ <&7 || return 1; done; }
at=ipc://$scratch/aggregator
"$flamegrid" aggregate --keys keys/aggregator.keys --listen "$at" --store own.db --jobs jobs 2>err --user-keys none
same "a list that is not there" $? 1
contains "is named" err "none: No such file"
"$flamegrid" aggregate --listen "$at" --store own.db --jobs jobs --user-keys keys/users.keys 2>err
same "users without keys" $? 2
"$flamegrid" aggregate --keys keys/aggregator.keys --user-keys keys/users.keys --listen "$at" --store own.db --jobs jobs 2> >(tee -p news >>service.log) 7<&- &
service=$!
check "the service is there" says "listening on $at"
run() { # KEYS NAME COMMAND...
	local keys=$1 name=$2
	shift 2
	FAKE_CUDA_TRUTH=$scratch/$name.truth "$flamegrid" run --devices "$list" --aggregator "$at" --keys "$keys" -- "$@" >"$name.out" 2>"$name.err"
}
jobs() { find jobs -mindepth 2 -name profile.db | wc -l; }
run "keys/users/$me.keys" own $fake_launches --launches 200
same "a job with its user's keys" $? 0
same "has a profile" "$(jobs)" 1
compare_with_truth "$(find jobs -name profile.db)" own.truth "its profile"
run keys/users/other.keys other $fake_launches --launches 200
same "a job with another user's keys has its own result" $? 0
same "and no profile" "$(jobs)" 1
contains "it is told why" other.err "these keys are user other's, for that user's jobs alone"
TORCHELASTIC_RUN_ID=refused MASTER_ADDR=node0 MASTER_PORT=1 RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 run keys/users/other.keys rank $fake_launches --launches 200
same "a rank with another user's keys has its own result" $? 0
contains "it is told that nothing was recorded" rank.err "the aggregator has refused this node, as said before: nothing of it is in a profile"
check "and not that the end is missing" test "$(grep -c 'may be missing' rank.err)" = 0
run keys/agent.keys agents $fake_launches --launches 200
same "the agents' keys send for every user" "$(jobs)" 2

# ---- a site's configuration: %u is the user
printf 'aggregator %s\nkeys %s/keys/users/%%u.keys\n' "$at" "$scratch" >"$FLAMEGRID_CONFIG"
"$flamegrid" run --devices "$list" -- $fake_launches --launches 200 >out 2>configured.err
same "a job by the configuration" $? 0
same "has its profile" "$(jobs)" 3

# ---- commands
mkfifo go
exec 8<>go
"$flamegrid" run --devices "$list" --capture-range control -- sh -c "read -r _ <&8; $fake_launches --launches 200" >out 2>commanded.err &
job=$!
check "the job is known" says "jobs/$me-$(hostname).$job."
key=$(sed -n "s|.*jobs/$me-\(.*\) begins$|\1|p" service.log | tail -n 1)
"$flamegrid" control start --job "$key" --keys keys/users/other.keys --connect "$at" >out 2>err
same "a command for another user's job" $? 1
contains "is refused" err "these keys are user other's"
"$flamegrid" control start --job "$key" --keys keys/users/other.keys --connect "$at" --user other >out 2>err
same "a command for a job that the user lacks" $? 1
contains "finds none" err "no such job of this user"
"$flamegrid" control start --job "$key" >out 2>err
same "a command for one's own" $? 0
echo >&8
wait $job
same "the commanded job" $? 0
job=''

# ---- a user who is taken off the list
grep -v "^$me " keys/users.keys >list && mv list keys/users.keys
# The list is looked at once a second, when a connection comes.
for _ in $(seq 1000); do
	run "keys/users/$me.keys" revoked true
	grep -q 'keys' revoked.err && break
done
contains "is turned away" revoked.err "keys"
kill -TERM $service
wait $service
same "the service's status" $? 0
service=''
