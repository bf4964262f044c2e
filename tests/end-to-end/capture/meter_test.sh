#!/usr/bin/env bash
# The meter of profiling's own cost, on fake CUDA: numbers of metered launches are exact, parts are the whole, and text and JSON agree.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
export FAKE_CUDA_DEVICES=1
work="--threads 2 --launches 6400 --kernels 3"

profile() { # NAME OPTIONS...
	local name=$1
	shift
	# Tables that an earlier run left on disk are not built again.
	"$flamegrid" run "$@" --symbol-cache "$scratch/$name.cache" -o "$scratch/$name" --devices "$list" -- "$fake_launches" $work >"$scratch/out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" --format json >"$scratch/$name.json"
	"$flamegrid" report "$scratch/$name" --format table >"$scratch/$name.table"
}

# cost NAME EXPRESSION: of the JSON's member, as Python reads it.
cost() { python3 -c 'import json, sys; c = json.load(open(sys.argv[1]))["cost"]; print(eval(sys.argv[2]))' "$scratch/$1.json" "$2"; }

# The line of the run and that of a report are one, and have the figures of the JSON.
agree() { # NAME
	same "$1: lines at the end of the run" "$(grep -c 'profiling cost: ' "$scratch/$1.err")" 1
	same "$1: the run says what the report says" "$(sed -n 's/.*\(profiling cost: \)/\1/p' "$scratch/$1.err")" \
		"$(grep '^profiling cost: ' "$scratch/$1.table")"
	contains "$1: launches" "$scratch/$1.table" "$(cost "$1" 'format(c["launches"], ",")') launches of "
	contains "$1: share" "$scratch/$1.table" \
		"cost: $(cost "$1" '"%d.%02d" % divmod(c["guest_ns"] * 10000 // c["threads_ns"], 100)') % of the launching"
	same "$1: the parts are the whole" "$(cost "$1" 'c["entry_ns"] + c["native_ns"] + c["python_ns"] + c["intern_ns"] + c["exit_ns"]')" \
		"$(cost "$1" 'c["launches_ns"]')"
	same "$1: the guest's time" "$(cost "$1" 'c["launches_ns"] + c["stacks_ns"]')" "$(cost "$1" 'c["guest_ns"]')"
	contains "$1: share of the thread that paid most" "$scratch/$1.table" \
		", $(cost "$1" '"%d.%02d" % divmod(c["busiest_ns"] * 10000 // c["busiest_thread_ns"], 100)') % of that of the thread which paid most (guest"
	same "$1: it is one of two" "$(cost "$1" 'c["guest_ns"] <= 2 * c["busiest_ns"] <= 2 * c["guest_ns"]')" True
	same "$1: it has calls and time of its own" \
		"$(cost "$1" 'c["busiest_launches"] < c["launches"] and c["busiest_thread_ns"] < c["threads_ns"]')" True
	same "$1: processes" "$(cost "$1" 'c["processes"]')" 1
	same "$1: no thread is longer than the process" "$(cost "$1" 'c["busiest_thread_ns"] <= c["processes_ns"]')" True
	same "$1: threads" "$(cost "$1" 'c["threads"]')" 2
	same "$1: agents" "$(cost "$1" 'c["agents"]')" 1
	same "$1: all is measured" "$(cost "$1" 'min(c[k] for k in ("launches_ns", "threads_ns", "tables_ns", "table_bytes", "flushes", "buffers", "buffers_ns", "agents_cpu_ns", "agents_run_ns", "agent_peak_bytes")) > 0')" True
	same "$1: windows" "$(cost "$1" 'c["windows"]')" 0
	same "$1: no cost is a note" "$(grep -c 'noted:.*meter' "$scratch/$1.table")" 0
}

# An interrupted launch is counted apart, and the next one takes its place.
profile sampled
agree sampled
same "sampled: one of 64" "$(cost sampled 'c["launches"] - 64 * c["metered"]')" 0
same "sampled: 100 blocks on each thread" "$(cost sampled '198 <= c["metered"] <= 200')" True
same "sampled: it is an estimate" "$(cost sampled 'c["estimated"]')" True

profile full --meter full
agree full
same "full: every launch" "$(cost full 'c["metered"] + c["outliers"]')" 12800
same "full: it is no estimate" "$(cost full 'c["estimated"]')" False
same "full: each stands for itself" "$(cost full 'c["launches"] - c["metered"]')" 0

# Processes add up when profiles are merged, in any order and however often.
costs() { python3 -c 'import json, sys
for key, *values in zip(*([*json.load(open(path))["cost"].items()] for path in sys.argv[1:])):
	fold = max if key[0] in ("agent_peak_bytes", "estimated") or key[0].startswith("busiest_") else sum
	if key[0] != "busiest_thread_ns" and key[0] != "busiest_launches": # of the process whose thread paid most
		print(key[0], fold(value for _, value in [key, *values]))' "$@"; }
costs "$scratch/sampled.json" "$scratch/full.json" >"$scratch/want"
"$flamegrid" merge -o "$scratch/merged" "$scratch/full" "$scratch/sampled" "$scratch/full" 2>"$scratch/err"
same "merged: status" $? 0
"$flamegrid" report "$scratch/merged" --format json >"$scratch/merged.json"
costs "$scratch/merged.json" >"$scratch/have"
same_lines "merged: each figure is the sum" "$scratch/have" "$scratch/want"

"$flamegrid" run --meter half -- true 2>"$scratch/err"
same "bad value: status" $? 125
contains "bad value: message" "$scratch/err" "--meter half: must be sampled or full"
