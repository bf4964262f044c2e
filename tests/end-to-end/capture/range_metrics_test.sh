#!/usr/bin/env bash
# Measured ranges (run --metrics --ranges): what the fake GPU counted for each range is in the table, CSV and JSON under its name
# and the stack of its first call. Ranges take turns, what cannot be measured is counted, and the program is not disturbed.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/metrics_harness.sh"
ranges=$BUILD/tests/fake_ranges

# measure NAME REGEX LAUNCHES METRICS ARGUMENTS..., with $program
program=$ranges
measure() {
	local name=$1 regex=$2 launches=$3 metrics=$4
	shift 4
	profile "$name" --metrics "$metrics" --ranges "$regex" --launches "$launches" -- "$program" "$@"
	same "$name: all kernels are there" "kernels $("$flamegrid" report "$scratch/$name" -f folded --weight count | grep '\[GPU[0-9]*_Kernel\]' |
		sum_folded)" "$(cat "$scratch/$name.out")"
}

# Ranges take turns: two rounds for the outer one, two for the inner one, and none for others.
measure nested '^(outer|inner)$' 2 sol nested 7
same "nested: two of each" "$(measured nested)" "$(printf '%s\n' 'inner 2 1 2' 'outer 2 1 4')"
same "nested: values" "$(values nested outer=r0+r1+r2+r0 inner=r1+r2)" ok
same "nested: the ranges" "$(sort "$scratch/nested.ranges" | uniq -c | awk '{ print $1, $2, $3, $4 }')" \
	"$(printf '%s\n' '2 0 1 r0+r1+r2+r0' '2 0 1 r1+r2')"
same "nested: the ledger" "$(ledger nested)" "4 0 0 0"
same "nested: a range lasts as long as its kernels at least" "$(python3 -c 'import json, sys
least = {"outer": 7000, "inner": 5000}
rows = json.load(open(sys.argv[1]))["kernel_metrics"]
print(all(row["measured_ns"] >= 2 * least[row["kernel"]] and row["ns"] == row["measured_ns"] for row in rows), sum(row["launches"] for row in rows))' \
	"$scratch/nested.json")" "True 12"
same "nested: stacks have the ranges" "$(python3 -c 'import json, sys
print(*sorted("%s: %s" % (row["kernel"], ";".join(frame for frame in row["stack"].split(";") if frame.startswith("[NVTX]"))) for row in json.load(open(sys.argv[1]))["kernel_metrics"]))' \
	"$scratch/nested.json")" "inner: [NVTX]outer;[NVTX]inner outer: [NVTX]outer"
"$flamegrid" report "$scratch/nested" --metrics >"$scratch/nested.table"
contains "nested: the table" "$scratch/nested.table" "Measured ranges"
contains "nested: the table names the range" "$scratch/nested.table" "[range] outer, launched by"
valid_report "$scratch/nested"

# Steps of flamegrid.h are ranges, too.
measure steps '^step$' 3 sol steps 5
same "steps: three" "$(measured steps)" "step 3 1 2"
same "steps: values" "$(values steps step=r0+r1)" ok

# A set of three passes: each measurement takes three ranges of the same name, and none is the first.
measure passes '^outer$' 2 sm__throughput.avg.pct_of_peak_sustained_elapsed nested 9
same "passes: two measurements" "$(measured passes)" "outer 2 3 4"
same "passes: values" "$(values passes outer=r0+r1+r2+r0)" ok
same "passes: of three ranges each" "$(ledger passes)" "6 0 0 0"
"$flamegrid" report "$scratch/passes" --metrics >"$scratch/passes.table"
contains "passes: they are marked" "$scratch/passes.table" \
	"* a measurement takes up to 3 launches or ranges, each of which counts a part."

# Merged with ranges of one pass and with kernels: 2 * 4 and 2 * 3 * 4 kernels of the outer range, and 2 * 2 of the inner one.
profile kernels --metrics sol --kernels '^r0$' -- "$ranges" nested 2
"$flamegrid" merge -o "$scratch/all" "$scratch/nested" "$scratch/passes" "$scratch/kernels" >"$scratch/out" 2>&1
"$flamegrid" report "$scratch/all" -f json -o "$scratch/all.json"
same "merge: kernels of measured ranges" "$(python3 -c 'import json, sys
print(*sorted((row["kernel"], row["launches"]) for row in json.load(open(sys.argv[1]))["kernel_metrics"] if row["range"]))' "$scratch/all.json")" \
	"('inner', 4) ('outer', 32)"
"$flamegrid" report "$scratch/all" --metrics >"$scratch/all.table"
contains "merge: the heading names both" "$scratch/all.table" "Measured kernels and ranges"

# Neither in a capture nor around one, but around a graph's launch.
measure graphs '' 4 sol graphs
same "graphs: the one around its launch" "$(measured graphs)" "graph 1 1 3"
same "graphs: values" "$(values graphs graph=r1+r2+r0)" ok
same "graphs: the others are refused" "$(ledger graphs)" "1 0 0 2"

# Two threads' ranges at once: the second is refused. On the same device its kernel was counted with the first.
measure threads '' 4 sol threads 0
same "threads: none" "$(measured threads)" ""
same "threads: the ledger" "$(ledger threads)" "1 1 0 1"
measure devices '' 4 sol threads 1
same "devices: the first" "$(measured devices)" "first 1 1 2"
same "devices: values" "$(values devices first=r0+r1)" ok
same "devices: the second is refused" "$(ledger devices)" "1 0 0 1"

# What another thread launches without a range belongs to the range, as PyTorch's backward pass does.
measure helper '' 4 sol helper 0
same "helper: the range" "$(measured helper)" "first 1 1 3"
same "helper: values" "$(values helper first=r0+r2+r1)" ok
same "helper: the ledger" "$(ledger helper)" "1 0 0 0"
measure elsewhere '' 4 sol helper 1
same "elsewhere: the range" "$(measured elsewhere)" "first 1 1 2"
same "elsewhere: values" "$(values elsewhere first=r0+r1)" ok

# Ranges that never end are told, and disturb no others.
measure left '' 4 sol left
same "left: the one behind" "$(measured left)" "after 1 1 1"
same "left: values" "$(values left after=r1)" ok
same "left: two are refused" "$(ledger left)" "1 0 0 2"
contains "left: told" "$scratch/left.err" "a range left is not measured: it never ended"
measure last '^last$' 4 sol left
same "last: none" "$(measured last)$(ledger last)" "0 0 0 1"
contains "last: told" "$scratch/last.err" "a range last is not measured: it never ended"
measure reset '' 4 sol reset
contains "reset: told" "$scratch/reset.err" "a range reset is not measured: its context was destroyed within it"

# A kernel of NCCL's may wait for what comes later: its range is given up, and others until its record has come. If that came at
# once, the range behind it is measured.
measure collective '' 4 sol collective
same "collective: none" "$(echo "$(measured collective)$(ledger collective)" | sed 's/^behind 1 1 11 0 0 1$/0 0 0 2/')" "0 0 0 2"
measure cooperative '' 4 sol cooperative
same "cooperative: none" "$(measured cooperative)$(ledger cooperative)" "0 0 0 1"

# Neither a capture nor a launch of NCCL's waits for the GPU's work, before, in or at the end of a range (fake_captures.c). The range
# is given up, and the next one is measured.
program=$BUILD/tests/fake_captures
for case in behind open long; do
	measure "held-$case" '^range$' 1 sol range $case
	same "held $case: the next range" "$(measured "held-$case")" "range 1 1 1"
	same "held $case: values" "$(values "held-$case" range=c1)" ok
	same "held $case: the ledger" "$(ledger "held-$case")" "1 0 0 1"
done
measure held-nccl '^range$' 1 sol range nccl
# The next one is measured if the record of NCCL's kernel has come.
same "held nccl: the ledger" "$(ledger held-nccl | sed 's/^1 0 0 1$/0 0 0 2/')" "0 0 0 2"
[ -z "$(measured held-nccl)" ] || same "held nccl: values" "$(values held-nccl range=c1)" ok
program=$ranges

# A launch that fails has no record to wait for, and a range without a kernel is none.
measure failed '' 4 sol failed
same "failed: the kernels that ran" "$(measured failed)" "$(printf '%s\n' 'failed 1 1 2' 'later 1 1 1')"
same "failed: values" "$(values failed failed=r0+r1 later=r1)" ok
same "failed: the ledger" "$(ledger failed)" "2 0 0 0"

# A merged profile has the rows of both.
"$flamegrid" merge -o "$scratch/both" "$scratch/nested" "$scratch/steps" >"$scratch/out" 2>&1
"$flamegrid" report "$scratch/both" -f json -o "$scratch/both.json"
same "merge: rows" "$(measured both)" "$(printf '%s\n' 'inner 2 1 2' 'outer 2 1 4' 'step 3 1 2')"
same "merge: values" "$(values both outer=r0+r1+r2+r0 inner=r1+r2 step=r0+r1)" ok

# A refusal costs the metrics alone.
FAKE_CUPTI_METRICS_REFUSED=35 measure refused '' 4 sol nested 3
contains "refused: the reason" "$scratch/refused.err" "ranges of CUDA device 0 are not measured (CUPTI's error 35): it needs CAP_SYS_ADMIN"
same "refused: counted" "$(ledger refused)" "0 0 0 9"

# Kernels of a range that matches nothing are as ever, and options that make no sense are refused.
measure nothing '^none$' 4 sol nested 3
same "nothing: no row" "$(measured nothing)$(ledger nothing)" "0 0 0 0"
"$flamegrid" run --metrics sol --kernels a --ranges b -- true 2>"$scratch/err"
contains "options: both" "$scratch/err" "choose one of --kernels and --ranges"
"$flamegrid" run --metrics sol --ranges '(' -- true 2>"$scratch/err"
contains "options: no expression" "$scratch/err" "--ranges (: not a regular expression"
