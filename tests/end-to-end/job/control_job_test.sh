#!/usr/bin/env bash
# `flamegrid control` of a whole job, on fake CUDA: four ranks on two nodes open the same window; who takes a command, and who does not.
. "$(dirname "$0")/../support/own_tmp.sh"
. "$(dirname "$0")/../support/harness.sh"
fake_windows=$BUILD/tests/fake_windows
export XDG_RUNTIME_DIR=$scratch/runtime
export TMPDIR=$XDG_RUNTIME_DIR # other tests run beside this one
mkdir -m 700 "$XDG_RUNTIME_DIR"
node_devices 2 0 1
declare -A rank_pid
daemons=
at_end() { kill -9 ${rank_pid[*]} $daemons 2>/dev/null; }
mkfifo "$scratch/nothing"
pause() { read -r -t 0.05 _ <>"$scratch/nothing"; }

rank() { # RANK NODE OPTION...
	local r=$1 node=$2
	shift 2
	env PMIX_NAMESPACE=job OMPI_COMM_WORLD_RANK="$r" OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=$((r % 2)) \
		FAKE_CUDA_HOST_SEED=$((node + 1)) FAKE_CUDA_DEVICES=2 timeout 120 \
		"$flamegrid" run --node-name "node$node" --devices "$scratch/devices.$node" "$@" --capture-range control -- \
		"$fake_windows" --until "$scratch/over" >"$scratch/out.$r" 2>"$scratch/err.$r" &
	rank_pid[$r]=$!
}
for r in 0 1 2 3; do rank $r $((r / 2)) -o "$scratch/job"; done
processes() { awk '/node/ { n += $2 } END { printf "%.0f\n", n }' "$scratch/taken"; }
# await CONDITION...: whether it came to hold in a while.
await() {
	for _ in $(seq 200); do
		"$@" && return
		pause
	done
	return 1
}
# A stop that changes nothing counts them: four processes, or two agents.
has_four() { "$flamegrid" control stop "$@" >"$scratch/taken" 2>/dev/null && [ "$(processes)" = 4 ]; }
has_two_agents() { "$flamegrid" control stop "$@" >"$scratch/taken" 2>/dev/null && [ "$(grep -c '^yes ' "$scratch/taken")" = 2 ]; }
has_two_clocks() { "$flamegrid" control stop "$@" >"$scratch/taken" 2>/dev/null && [ "$(grep -c ' us ' "$scratch/taken")" = 2 ]; }
had_one_window() { [ "$(windows)" = "4 off 1" ]; }
# ranks_end WHAT
ranks_end() {
	touch "$scratch/over"
	for r in 0 1 2 3; do
		wait ${rank_pid[$r]}
		same "$1rank $r: status" $? 0
	done
	rank_pid=()
}
await has_four "$scratch/job"
same "nodes that have taken it" "$(awk '/node/ { print $1, $2, $NF }' "$scratch/taken" | LC_ALL=C sort | paste -sd, -)" "yes 2 node0,yes 2 node1"
await has_two_clocks "$scratch/job"
check "clocks were compared" [ "$(grep -c ' us ' "$scratch/taken")" = 2 ]
"$flamegrid" control start "$scratch/job" --at +1s --duration 1s >"$scratch/taken" 2>"$scratch/err"
same "start: status" $? 0
same "start: said to standard error" "$(cat "$scratch/err")" ""
same "start: nodes" "$(grep -c '^yes ' "$scratch/taken")" 2
windows() { "$flamegrid" control status 2>/dev/null | awk '/fake_windows/ { print $2, $3 }' | sort | uniq -c | awk '{ print $1, $2, $3 }' | paste -sd, -; }
await had_one_window
same "each process had one window, and is out of it" "$(windows)" "4 off 1"
"$flamegrid" control start "$scratch/job" --at 1 --duration 1s >"$scratch/taken" 2>"$scratch/err"
same "a time that has passed: status" $? 1
contains "a time that has passed: says so" "$scratch/err" "2 of 2 agents heard of it after its time had come"
ranks_end ""
for r in 0 1 2 3; do
	check "rank $r: has kernels" [ "$("$flamegrid" report "$scratch/job" --by rank --weight count 2>/dev/null |
		awk -v rank="^rank$r;" '$0 ~ rank { n += $NF } END { printf "%.0f\n", n }')" -gt 0 ]
done
"$flamegrid" report "$scratch/job" >"$scratch/folded" 2>"$scratch/err"
contains "four windows in all" "$scratch/err" "in 4 windows, not the run"
"$flamegrid" control start "$scratch/job" 2>"$scratch/err"
same "a job that is over: status" $? 1
contains "a job that is over: says so" "$scratch/err" "no job of several ranks writes there now"

# Daemons; one of them is stopped and can't hear.
endpoint=ipc://$scratch/aggregator
mkfifo "$scratch/ready"
start() { # COMMAND...: until it says that it listens; $!
	"$@" 2> >(tee -p "$scratch/ready" >/dev/null) &
	started=$!
	daemons="$daemons $started"
	grep -m1 -q 'listening on' "$scratch/ready"
}
start "$BUILD/bin/flamegrid-aggregator" --listen "$endpoint" --store "$scratch/profile.db"
for node in 0 1; do
	start "$BUILD/bin/flamegrid-agent" --connect "$endpoint" --socket "$scratch/agent.$node" --devices "$scratch/devices.$node" --node-name "node$node"
done
await has_two_agents --connect "$endpoint"
same "daemons: both have taken it" "$(grep -c '^yes ' "$scratch/taken")" 2
kill -STOP $started
"$flamegrid" control start --connect "$endpoint" >"$scratch/taken" 2>"$scratch/err"
same "one is stopped: status" $? 1
contains "one is stopped: says how many" "$scratch/err" "1 of 2 agents did not take the command in time"
same "one is stopped: which" "$(awk '$1 == "no" { print $NF }' "$scratch/taken")" "node1"
kill -CONT $started

# A job at a site's aggregator, by its name.
endpoint=ipc://$scratch/site
rm "$scratch/over"
start "$BUILD/bin/flamegrid" aggregate --listen "$endpoint" --store "$scratch/own.db" --jobs "$scratch/jobs"
for r in 0 1 2 3; do rank $r $((r / 2)) --aggregator "$endpoint"; done
await has_four --job job --connect "$endpoint"
same "a site's job: nodes that have taken it" "$(awk '/node/ { print $1, $2, $NF }' "$scratch/taken" | LC_ALL=C sort | paste -sd, -)" "yes 2 node0,yes 2 node1"
printf 'aggregator %s\n' "$endpoint" >"$scratch/site.conf"
FLAMEGRID_CONFIG=$scratch/site.conf "$flamegrid" control start --job job --at +500ms --duration 300ms >"$scratch/taken" 2>"$scratch/err"
same "a site's job, by the configuration: status" $? 0
same "a site's job, by the configuration: nodes" "$(grep -c '^yes ' "$scratch/taken")" 2
await had_one_window
same "a site's job: each process had one window" "$(windows)" "4 off 1"
"$flamegrid" control start --job other --connect "$endpoint" >"$scratch/taken" 2>"$scratch/err"
same "no such job: status" $? 1
contains "no such job: says so" "$scratch/err" "flamegrid: control: other: no such job of this user has a profile that is open"
"$flamegrid" control start --job job --user nobody --connect "$endpoint" >"$scratch/taken" 2>"$scratch/err"
same "another user's: status" $? 1
: >"$scratch/empty.conf"
FLAMEGRID_CONFIG=$scratch/empty.conf "$flamegrid" control start --job job >"$scratch/taken" 2>"$scratch/err"
same "no aggregator is known: status" $? 1
contains "no aggregator is known: says so" "$scratch/err" "--job job needs a site's aggregator"
"$flamegrid" control start --job job --connect tcp://localhost:1 >"$scratch/taken" 2>"$scratch/err"
same "nobody is there: status" $? 1
contains "nobody is there: says so" "$scratch/err" "tcp://localhost:1: the aggregator cannot be reached"
"$flamegrid" control start --job job --connect tcp://localhost >"$scratch/taken" 2>"$scratch/err"
same "no endpoint: status" $? 1
contains "no endpoint: says so" "$scratch/err" "tcp://localhost: must be like tcp://HOST:PORT"
ranks_end "a site's job: "
profile=$(sed -n 's/^flamegrid: run: the profile is [^:]*://p' "$scratch/err.0")
is_complete() { [ -s "$profile/flame.html" ] && [ ! -e "$profile/job.open" ] && [ ! -e "$profile/job.closed" ]; }
check "a site's job: its profile is complete" await is_complete
"$flamegrid" report "$profile" >"$scratch/folded" 2>"$scratch/err"
contains "a site's job: four windows in all" "$scratch/err" "in 4 windows, not the run"

for wrong in "status $scratch/job" "start $scratch/job --pid 1" "start $scratch/job --no-wait" "start $scratch/job --connect $endpoint" \
	"start --keys x" "start --user x" "start $scratch/job --job x" "start --job x --pid 1" "status --job x" "start $scratch/job --at yesterday" "start $scratch/job more"; do
	"$flamegrid" control $wrong >/dev/null 2>"$scratch/err"
	same "control ${wrong//$scratch\//}" $? 2
done
