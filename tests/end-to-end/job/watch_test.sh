#!/usr/bin/env bash
# Who is late while a job runs: eight ranks on fake NCCL, of which one becomes late on the GPU and recovers, then a host of
# two, then one that stops and goes on, and dies; the verb, the run's messages and the command that runs for each event say the same.
. "$(dirname "$0")/../support/harness.sh"
here=$(realpath "$(dirname "$0")")
ranks=$BUILD/tests/fake_ranks
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda
list=$(devices 8)
steps=(--ranks 8 --steps 100000000 --gpu 20000-20400)

# field EVENT PYTHON-EXPRESSION: of the event e, a line of JSON.
field() { python3 -c 'import json, sys; e = json.loads(sys.argv[1]); print(eval(sys.argv[2]))' "$@"; }
# compared PROFILE: how many collectives of all ranks its report has by now.
compared() {
	"$flamegrid" report "$1" --straggler -f json 2>"$scratch/report.err" |
		python3 -c 'import json, sys; print(sum(c["compared"] for c in json.load(sys.stdin)["communicators"]))' 2>/dev/null || echo 0
}
await_steps() { until [ "$(compared "$1")" -ge "$2" ]; do nap; done; }
await_store() { until [ -s "$1/profile.db" ]; do nap; done; }
# next_event: the next line of the watch that is no stall, which a busy machine may have at any time.
next_event() {
	while IFS= read -rt 240 event <&"$events"; do
		[ "$(field "$event" 'e["event"]')" = stalled ] || return 0
	done
	event='{"event": "none"}'
}

# ---- a rank ----
cat >"$scratch/hook.sh" <<'END'
printf '%s|%s|%s|' "$FLAMEGRID_WATCH_EVENT" "$FLAMEGRID_WATCH_NAME" "$FLAMEGRID_WATCH_PROFILE" >>hook.out
cat >>hook.out
END
cd "$scratch" || exit 1
"$flamegrid" run --watch "sh hook.sh" --devices "$list" -o job -- "$ranks" "${steps[@]}" --late-gpu 5:30000 --late-while late \
	--until until >job.out 2>job.err &
run=$!
await_store job
exec {events}< <("$flamegrid" watch -f json job 2>watch.err; echo "status $?")
"$flamegrid" watch --exec 'exit 3' job >text.out 2>text.err &
text=$!
await_steps job 150
: >late
next_event
same "rank: the first event" "$(field "$event" '(e["event"], e["name"].split(" on ")[0], e["ranks"], e["group"])')" "('late', 'rank 5', [5], False)"
printf '%s\n' "$event" >event.json
check "rank: JSON as its schema says" env PATH="/usr/bin:$PATH" python3 "$here/../support/valid_report.py" "$here/../../../docs/report.schema.json" event.json
same "rank: in whose collectives" "$(field "$event" '(e["communicator"], e["ground"] in ("frequency", "cost", "phase"))')" "('all ranks', True)"
same "rank: a step is a collective" "$(field "$event" 'e["step_collectives"]')" 1
same "rank: without it a step is shorter" "$(field "$event" '0.5 < e["step_without_ns"] / e["step_ns"] < 0.98')" True
same "rank: why" "$(field "$event" '(e["cause"].split(",")[0], e["cause_share"] > 0.5)')" "('slower GPU kernels (fake_compute', True)"
rm late
next_event
same "rank: recovery" "$(field "$event" '(e["event"], e["name"].split(" on ")[0])')" "('recovered', 'rank 5')"
: >until
wait $run
same "rank: the job's status" $? 0
IFS= read -ru "$events" event
while [[ $event == {* ]] && IFS= read -ru "$events" event; do :; done
same "rank: the watch ends with the job" "$event" "status 0"
wait $text
same "rank: a watch whose command fails" $? 0
same "rank: nobody else in text" "$(grep -oE '(late since [0-9:]*|no longer late): rank [0-9]+' text.out | sed 's/since [0-9:]*/since/' | tr '\n' ',')" \
	"late since rank 5,no longer late: rank 5,"
contains "rank: a step without it, in words" text.out "; without it a step takes "
contains "rank: why, in words" text.out "; slower GPU kernels (fake_compute"
contains "rank: the command's failure" text.err "the command ended with status 3"
same "rank: the command of the run had both" "$(grep -oE '^(late|recovered)\|rank [0-9]+' hook.out | tr '\n' ',')" "late|rank 5,recovered|rank 5,"
same "rank: with the event on its input" "$(grep -m1 '^late' hook.out | sed 's/^[^{]*//' |
	python3 -c 'import json, sys; e = json.load(sys.stdin); print(e["event"], e["ranks"])')" "late [5]"
same "rank: the run's messages" "$(grep -oE '(late since [0-9:]*|no longer late): rank [0-9]+' job.err | sed 's/since [0-9:]*/since/' | tr '\n' ',')" \
	"late since rank 5,no longer late: rank 5,"
same "rank: nothing is left beside the store" "$(find job -name '*.wanted' | wc -l)" 0
exec {events}<&-

# ---- a host, with a profile on each ----
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
rm -f until until.step
node() { # NODE
	FAKE_CUDA_HOST_SEED=$(($1 + 1)) FAKE_CUDA_DEVICES=4 "$BUILD/bin/fake-cuda-devices" >"devices.node$1"
	env PMIX_NAMESPACE=watch OMPI_COMM_WORLD_RANK="$1" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 FAKE_CUDA_HOST_SEED=$(($1 + 1)) \
		"$flamegrid" run --aggregate node --spool "$scratch" --watch log --node-name "node$1" --devices "devices.node$1" -o nodes -- \
		env -u PMIX_NAMESPACE -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE "$ranks" "${steps[@]}" --here $(($1 * 4)):4 --job "$scratch" \
		--late-gpu 4-7:30000 --until until >"node.out.$1" 2>"node.err.$1"
}
node 0 &
first=$!
node 1 &
second=$!
await_store nodes
exec {events}< <("$flamegrid" watch -f json nodes 2>watch.err)
next_event
same "host: the first event" "$(field "$event" '(e["event"], e["name"], e["ranks"], e["group"])')" "('late', 'node1 (4 ranks: 4-7)', [4, 5, 6, 7], True)"
: >until
wait $first
same "host: status of the first" $? 0
wait $second
same "host: status of the second" $? 0
same "host: no node's directory is left" "$(find "$scratch" -maxdepth 1 -name 'flamegrid-node-*' | wc -l)" 0
exec {events}<&-

# ---- a rank that does not come ----
# rank_pid PID RANK: the process of that rank among those below a process.
rank_pid() {
	local child
	for child in $(pgrep -P "$1"); do
		tr '\0' '\n' <"/proc/$child/environ" 2>/dev/null | grep -qx "RANK=$2" && echo "$child" && return 0
		rank_pid "$child" "$2" && return 0
	done
	return 1
}
rm -f until until.step
"$flamegrid" run --watch log --devices "$list" -o stopped -- "$ranks" "${steps[@]}" --until until >stopped.out 2>stopped.err &
run=$!
await_store stopped
exec {events}< <("$flamegrid" watch -f json stopped 2>watch.err)
await_steps stopped 50
stopped=$(rank_pid $run 5)
kill -STOP "$stopped"
next_event
same "missing: the event" "$(field "$event" '(e["event"], e["name"].split(" on ")[0], e["ranks"], e["waiting"], e["ground"])')" "('missing', 'rank 5', [5], 7, None)"
printf '%s\n' "$event" >event.json
check "missing: JSON as its schema says" env PATH="/usr/bin:$PATH" python3 "$here/../support/valid_report.py" "$here/../../../docs/report.schema.json" event.json
"$flamegrid" report stopped --straggler >live.table 2>&1
contains "missing: a report of the running job" live.table "never came to collective "
contains "missing: for how long" live.table "; 7 ranks wait for it, for "
kill -CONT "$stopped"
next_event
same "missing: it has come" "$(field "$event" '(e["event"], e["name"].split(" on ")[0])')" "('came', 'rank 5')"
kill -KILL "$stopped"
next_event
same "missing: its process has ended" "$(field "$event" '(e["event"], e["ranks"], "; its process has ended; 7 ranks wait for it" in e["text"])')" "('missing', [5], True)"
until "$flamegrid" report stopped --straggler 2>/dev/null | grep -q ' never came to '; do nap; done
for rank in 0 1 2 3 4 6 7; do kill -TERM "$(rank_pid $run $rank)"; done
wait $run
check "missing: the job has failed" [ $? -ne 0 ]
same "missing: the run's messages" "$(grep -oE '(missing since [0-9:]*|no longer missing): rank [0-9]+' stopped.err | sed 's/since [0-9:]*/since/' | tr '\n' ',')" \
	"missing since rank 5,no longer missing: rank 5,missing since rank 5,"
"$flamegrid" report stopped --straggler >table 2>&1
contains "missing: the report" table "late: rank 5 on "
contains "missing: who waited" table "; 7 ranks waited for it"
contains "missing: its end" table ", until their end; its process ended at 20"
"$flamegrid" report stopped --straggler -f json >stopped.json
same "missing: JSON" "$(python3 -c 'import json; m = json.load(open("stopped.json"))["missing"]; print([(x["ranks"], x["waiting"], x["ended"]) for x in m])')" "[([5], 7, True)]"
valid_report stopped --straggler
exec {events}<&-

# ---- a watch that is killed ----
# watch_of DIRECTORY: the watch's process of the run there. Its parent waits for it.
watch_of() {
	local process
	for process in $(pgrep -x flamegrid-watch); do
		[ "$(readlink "/proc/$process/cwd")" = "$1" ] || continue
		[ "$(cat "/proc/$(ps -o ppid= -p "$process" | tr -d ' ')/comm")" = flamegrid-watch ] && echo "$process"
	done
}
rm -f until until.step
mkdir killed && cd killed || exit 1
"$flamegrid" run --watch log --devices "$list" -o job -- "$ranks" --ranks 2 --steps 100000000 --until until >job.out 2>job.err &
run=$!
await_store job
kill -KILL "$(watch_of "$scratch/killed")"
until grep -q 'the watch was ended' job.err; do nap; done
same "killed: said once" "$(grep -c 'the watch was ended by signal 9 (Killed): nobody says who is late any more; the job goes on' job.err)" 1
: >until
wait $run
same "killed: the job's status" $? 0
cd "$scratch" || exit 1

# ---- nobody ----
"$flamegrid" run --watch 'cat >>clean.hook' --devices "$list" -o clean -- "$ranks" --ranks 8 --steps 700 --gpu 18000-22000 >clean.out 2>clean.err
same "clean: status" $? 0
same "clean: who is late" "$(grep -c ' late' clean.err)" 0
check "clean: no event" [ ! -e clean.hook ]
same "clean: collectives were looked at" "$(grep -c 'no collective of all ranks was seen' clean.err)" 0

# ---- what cannot be ----
"$flamegrid" watch "$scratch/nowhere" 2>err
same "no profile: status" $? 1
contains "no profile: said" err "$scratch/nowhere: No such file or directory"
"$flamegrid" watch 2>err
same "no operand: status" $? 2
"$flamegrid" watch job >out 2>err
same "a job that has ended: status" $? 0
same "a job that has ended: events" "$(wc -l <out)" 0
contains "a job that has ended: where to look" err "job: the job has ended: \`flamegrid report job --straggler\` has it all"
"$flamegrid" run -o off --collectives off --watch log --devices "$list" -- "$ranks" --ranks 2 --steps 5 >off.out 2>off.err
same "without collectives: status" $? 0
contains "without collectives: said" off.err "nobody can be seen to be late, because --collectives is off"
