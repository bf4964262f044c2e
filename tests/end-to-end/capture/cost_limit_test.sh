#!/usr/bin/env bash
# Launches take less of their stacks while they cost more than --max-cost. The report's counts of them, and the stacks that
# it shows, agree to the launch, whenever the guest steps down.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
program=$(dirname "$0")/python_launches.py
export FAKE_CUDA_DEVICES=1 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13
count=50000
total=$((4 * count + 4))

# profile NAME OPTIONS...
profile() {
	local name=$1
	shift
	"$flamegrid" run "$@" -o "$scratch/$name" --devices "$list" -- python3 "$program" $count 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" --weight count >"$scratch/$name.folded"
	"$flamegrid" report "$scratch/$name" --format json >"$scratch/$name.json"
	same "$name: launches" "$(sum_folded "$scratch/$name.folded")" $total
}
# shown NAME EXPRESSION: launches whose stacks match.
shown() { grep -E -- "$2" "$scratch/$1.folded" | sum_folded; }
# counted NAME REASON: by the report's ledger.
counted() {
	python3 -c 'import json, sys
print(sum(row["count"] for row in json.load(open(sys.argv[1]))["ledger"] if row["reason"] == sys.argv[2]))' \
		"$scratch/$1.json" "$2"
}

# No guest is so cheap. One that meters all launches steps down at each look.
profile less --max-cost 0.001% --meter full
none=$(counted less less_none) leaf=$(counted less less_leaf) python=$(counted less less_python)
same "less: without a stack" "$(shown less '^cuLaunchKernel;')" "$none"
same "less: one frame" "$(shown less '^\[stack truncated\];python_launches.py:launch:[0-9]+;cuLaunchKernel;')" "$leaf"
same "less: Python frames alone" "$(shown less 'py:<module>:.*python_launches.py:launch:[0-9]+;cuLaunchKernel;|py:on_thread:.*python_launches.py:launch:[0-9]+;cuLaunchKernel;')" "$python"
same "less: the others are whole" "$(shown less 'python_launches.py:launch:[0-9]+;.*ffi_call.*;cuLaunchKernel;')" \
	$((total - none - leaf - python))
check "less: something was left out" test $((none + leaf + python)) -gt 0
same "less: one frame is no truncated stack" "$(counted less stack_truncated)" 0
"$flamegrid" report "$scratch/less" --format table >"$scratch/less.table"
contains "less: since when" "$scratch/less.table" "launches take Python frames alone from "
contains "less: what it cost before" "$scratch/less.table" " s on: before, with whole stacks, they cost "
[ "$none" -lt 40000 ] || # it takes a while to know
	contains "less: the limit cannot be kept" "$scratch/less.err" "--max-cost cannot be kept: without a stack launches still cost "

profile enough --max-cost 100
same "enough: every stack is whole" "$(shown enough 'python_launches.py:launch:[0-9]+;.*ffi_call.*;cuLaunchKernel;')" $total
same "enough: nothing is told" "$(grep -c 'launches take' "$scratch/enough.json")" 0

"$flamegrid" diff "$scratch/enough" "$scratch/less" >/dev/null 2>"$scratch/err"
same "diff: says whose stacks were cut" "$(grep -c -- '--max-cost has taken frames' "$scratch/err")" 1
contains "diff: of how many launches" "$scratch/err" "/less: --max-cost has taken frames from the stacks of $((none + leaf + python)) launches"

# Without native frames there is no level of Python frames alone, and no level takes others.
profile python --max-cost 0.001% --meter full --stacks python
same "python: no native frames" "$(shown python 'ffi_call')" 0
same "python: Python frames alone are whole" "$(counted python less_python)" 0
check "python: something was left out" test "$(counted python less_leaf)" -gt 0

# An interpreter that no launching thread has frames of makes no level of Python frames alone.
library=$(python3 -c 'import os, sysconfig
path = os.path.join(*map(sysconfig.get_config_var, ("LIBDIR", "INSTSONAME")))
print(path if path.endswith((".so", ".so.1.0")) and os.path.exists(path) else "")')
if [ -n "$library" ]; then
	"$flamegrid" run --max-cost 0.001% --meter full -o "$scratch/native" --devices "$list" -- \
		env LD_PRELOAD="$library" "$fake_launches" --launches 300000 >/dev/null 2>"$scratch/native.err"
	same "native: status" $? 0
	"$flamegrid" report "$scratch/native" --format table >"$scratch/native.table"
	contains "native: there is an interpreter" "$scratch/native.table" "note: CPython 3."
	contains "native: first one frame" "$scratch/native.table" "launches take one frame from "
	same "native: no notice of Python frames" "$(grep -c 'Python frames alone' "$scratch/native.table")" 0
else
	ok "native: not run: python3 has no shared library"
fi

"$flamegrid" run --stacks none --max-cost 2% -- true 2>"$scratch/err"
same "no stacks: status" $? 125
contains "no stacks: message" "$scratch/err" "--max-cost takes less of stacks, and --stacks none has none"

for value in 0 101 2%% x; do
	"$flamegrid" run --max-cost "$value" -- true 2>"$scratch/err"
	same "bad value $value: status" $? 125
	contains "bad value $value: message" "$scratch/err" \
		"--max-cost $value: not a percentage above 0 and up to 100, such as 2% or 0.5%"
done
