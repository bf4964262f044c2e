#!/usr/bin/env bash
# NVTX ranges as frames: every launch under exactly the ranges that were open in its thread.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
program=$BUILD/tests/nvtx_program
export FAKE_CUDA_DEVICES=1
# run NAME PROGRAM-ARGUMENTS OPTION...: profiles the program; leaves folded counts, sorted.
run() {
	local name=$1 arguments=$2
	shift 2
	"$flamegrid" run "$@" -o "$scratch/$name" --devices "$list" -- "$program" $arguments >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" --weight count | LC_ALL=C sort >"$scratch/$name.folded"
}
# line PATH KERNEL [COUNT]: a folded line, without stacks.
line() { printf '%scuLaunchKernel;[GPU0_Kernel]%s %d\n' "${1:+$1;}" "$2" "${3:-1}"; }
expect() { LC_ALL=C sort >"$scratch/want"; same_lines "$1" "$scratch/$2.folded" "$scratch/want"; }

run ranges ranges --nvtx --stacks none
overlong=$(printf 'x%.0s' $(seq 189))...
{
	line '[NVTX]setup' in_setup
	line '[NVTX]epoch 3;[NVTX]forward' in_epoch_3_forward
	line '[NVTX]epoch 3' in_epoch_3
	line '' in_nothing 2
	line '[NVTX]after pops' in_after_pops
	line '[NVTX]step;[NVTX]library:registered op' in_step_library_op
	line '[NVTX]library:registered op' in_library_op
	line '[NVTX]Bücherei:ascii op' in_wide_domain
	line '[NVTX]größe λ 🚀' in_unicode
	line '[NVTX]wide' in_wide
	line '[NVTX]category 7' in_category
	line "[NVTX]$overlong" in_overlong
	line '[NVTX]semi\x3bcolon_line' in_separators
	line '[NVTX]started;[NVTX]pushed;[NVTX]inner' in_started_pushed_inner
	line '[NVTX]pushed;[NVTX]inner' in_pushed_inner
	line '[NVTX]pushed' in_pushed
	line '' in_ending_thread
} | expect "ranges: each launch under its ranges" ranges
contains "levels are NVTX's" "$scratch/ranges.out" "levels 0 1 1 0"
contains "pops of nothing are errors" "$scratch/ranges.out" "unbalanced -2 -2"
same "nothing lost" "$(ledger "$scratch/ranges" nvtx_name_lost)" 0

# Ranges in the table, with what runs in the ranges inside.
"$flamegrid" report "$scratch/ranges" --format table >"$scratch/ranges.table"
contains "table: a range with another inside" "$scratch/ranges.table" "2.000 us  11.11%              2  epoch 3"
contains "table: the range inside" "$scratch/ranges.table" "1.000 us   5.56%              1  epoch 3 > forward"
contains "table: three deep" "$scratch/ranges.table" "started > pushed > inner"

run native ranges --nvtx --stacks native
same "native: below the thread's root" "$(grep -c '^\[NVTX\]epoch 3;\[NVTX\]forward;.*main;.*launch_on;cudaLaunchKernel;\[GPU0_Kernel\]in_epoch_3_forward 1$' "$scratch/native.folded")" 1

run threads "threads 4" --nvtx --stacks none
{
	line '[NVTX]setup' in_setup
	for i in 0 1 2 3; do line "[NVTX]thread $i;[NVTX]inner" in_thread_$i 100; done
	line '[NVTX]main' in_main
} | expect "threads: each its own ranges" threads

# XLA's operations stand next to the work, under their lines. Their numbers do not count as variants.
run xla "xla 300" --nvtx --stacks none
operation() { printf 'cuLaunchKernel;[XLA] jit_step;%s[GPU0_Kernel]%s\n' "$@"; }
same "xla: operations under their lines" "$(grep -cF "$(operation 'train.py:layer:110, train.py:loss:9;[HLO] fusion.0;' in_operation) 1" "$scratch/xla.folded")" 1
same "xla: one within another" "$(grep -cF "$(operation 'train.py:layer:399, train.py:loss:9;[HLO] fusion.1;train.py:layer:399, train.py:loss:9;[HLO] fusion.1;' in_both) 1" "$scratch/xla.folded")" 1
same "xla: each operation has its own lines" "$(grep -c 'train.py:layer:[0-9]*, train.py:loss:9;\[HLO\] fusion.[01];\[GPU0_Kernel\]in_operation 1$' "$scratch/xla.folded")" 299
same "xla: an operation without lines" "$(grep -cF "$(operation '[HLO] fusion.1;' in_operation) 1" "$scratch/xla.folded")" 1
same "xla: a title that is not registered" "$(grep -cF "$(operation '[HLO] copy.1;' in_copy) 1" "$scratch/xla.folded")" 1
same "xla: the module alone" "$(grep -cF "$(operation '' in_module) 1" "$scratch/xla.folded")" 1
same "xla: nothing lost" "$(ledger "$scratch/xla" nvtx_name_lost)" 0

run depth depth --record nvtx --stacks none
path=
for i in $(seq 0 63); do
	path="$path;[NVTX]level $(printf "\\x$(printf %x $((97 + i / 10)))\\x$(printf %x $((97 + i % 10)))")"
done
{
	line '[NVTX]setup' in_setup
	line "${path#;};[NVTX]..." in_depth_70
	line "${path#;}" in_depth_64
	line '[NVTX]level aa' in_depth_1
} | expect "depth: what goes too deep is one frame" depth
same "depth: and is counted" "$(ledger "$scratch/depth" nvtx_name_lost)" 1

run steps "steps 200" --nvtx --stacks none
{
	line '[NVTX]setup' in_setup
	for i in $(seq 0 63); do line "[NVTX]step $i" in_numbered; done
	line '[NVTX]step #' in_numbered 136
} | expect "steps: numbers are kept for a while" steps
run masked "steps 200" --nvtx --nvtx-digits mask --stacks none
{ line '[NVTX]setup' in_setup; line '[NVTX]step #' in_numbered 200; } | expect "steps: numbers masked" masked
run names "names 17000" --nvtx --nvtx-digits keep --stacks none
same "names: as many as there is room for" "$(grep -c '^\[NVTX\]step [0-9]* of many;' "$scratch/names.folded")" 16383
contains "names: the others are one frame" "$scratch/names.folded" "$(line '[NVTX]...' in_numbered 617)"
same "names: and are counted" "$(ledger "$scratch/names" nvtx_name_lost)" 617

run off ranges --stacks none
same "off: no table of ranges" "$("$flamegrid" report "$scratch/off" --format table | grep -c 'NVTX range')" 0
same "off: no ranges" "$(grep -c NVTX "$scratch/off.folded")" 0
contains "off: NVTX does nothing" "$scratch/off.out" "levels -2 -2 -2 -2"
NVTX_INJECTION64_PATH=/nowhere/other.so run other ranges --nvtx --stacks none
same "another tool's NVTX library: no ranges" "$(grep -c NVTX "$scratch/other.folded")" 0
same "another tool's NVTX library: one line" "$(grep -c 'NVTX_INJECTION64_PATH is already set to /nowhere/other.so and is left alone' "$scratch/other.err")" 1
"$flamegrid" run --nvtx-digits few -o "$scratch/bad" -- true 2>"$scratch/err"
same "no such treatment of digits: status" $? 125
contains "no such treatment of digits" "$scratch/err" "--nvtx-digits few: must be auto, keep or mask"

# Ranges as capture windows: what is launched within, and nothing else, whether or not ranges are frames.
run window "window 500" --capture-range nvtx:measured --stacks none
{ line '' in_measured 2; line '' in_inner 2; } | expect "window: only what is launched within the range" window
run window_frames "window 500" --capture-range nvtx:measured --nvtx --stacks none
{ line '[NVTX]measured' in_measured 2; line '[NVTX]measured;[NVTX]inner' in_inner 2; } | expect "window: with ranges as frames" window_frames
run window_early "window 500" --capture-range nvtx:setup --stacks none
line '' in_setup | expect "window: a range that was open before CUDA started" window_early
run window_never "window 500" --capture-range nvtx:measure --stacks none
same "window: a range that is never opened" "$(wc -l <"$scratch/window_never.folded")" 0
same "window: another profiler is not suspected" "$(ledger "$scratch/window" activity_taken)" 0
NVTX_INJECTION64_PATH=/nowhere/other.so run window_other "window 5" --capture-range nvtx:measured --stacks none
contains "window: another tool's NVTX library" "$scratch/window_other.err" "no NVTX ranges, so nothing is captured"

# Without an agent, and without CUDA.
FLAMEGRID_SOCKET=/nowhere/agent FLAMEGRID_RECORD=nvtx NVTX_INJECTION64_PATH=$BUILD/lib/libflamegrid_inject.so \
	CUDA_INJECTION64_PATH=$BUILD/lib/libflamegrid_inject.so "$program" ranges >"$scratch/alone.out" 2>&1
same "without an agent: the program runs" $? 0
contains "without an agent: ranges are not kept once that is known" "$scratch/alone.out" "levels -2 -2 -2 -2"

# Streams: names and priorities, by the program and by CUPTI.
run streams streams --nvtx --stacks none
"$flamegrid" report "$scratch/streams" --weight count --by stream | LC_ALL=C sort >"$scratch/streams.folded"
{
	line 'stream7;[NVTX]setup' in_setup
	line 'stream7' on_default
	line 'stream13 "größe"' on_plain
	line 'stream14 "prefetch" (priority -1)' on_prefetch
	line 'stream15 (priority -3)' on_urgent
} | expect "streams: names and priorities at the root" streams
"$flamegrid" report "$scratch/streams" --format table >"$scratch/streams.table"
contains "streams: the table's default stream" "$scratch/streams.table" "context 1 stream 7 (default)"
contains "streams: the table's named stream" "$scratch/streams.table" 'context 1 stream 14 "prefetch" (priority -1)'
"$flamegrid" report "$scratch/streams" --format json >"$scratch/streams.json"
contains "streams: JSON's default stream" "$scratch/streams.json" '"stream":7,"stream_name":"","stream_default":true,"stream_priority":null,'
contains "streams: JSON's named stream" "$scratch/streams.json" '"stream":14,"stream_name":"prefetch","stream_default":false,"stream_priority":-1,'
run unnamed streams --stacks none
"$flamegrid" report "$scratch/unnamed" --weight count --by stream | LC_ALL=C sort >"$scratch/unnamed.folded"
{
	line 'stream7' in_setup
	line 'stream7' on_default
	line 'stream13' on_plain
	line 'stream14 (priority -1)' on_prefetch
	line 'stream15 (priority -3)' on_urgent
} | expect "streams: priorities without NVTX" unnamed
