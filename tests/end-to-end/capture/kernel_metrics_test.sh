#!/usr/bin/env bash
# Measured launches (run --metrics): what the fake GPU counted for each launch is in the table, CSV and JSON under its kernel and
# stack, N launches of each are measured, and neither captured streams nor refusals disturb the program or the profile.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/metrics_harness.sh"

profile sol --metrics sol --launches 5 -- "$fake_launches" --launches 20000 --kernels 3 --devices 2 --threads 2 --sync-every 100
same "sol: values" "$(values sol)" ok
same "sol: five launches of each kernel and stack on each device" "$(measured sol)" "$(printf 'k%d 10 1\n' 0 1 2)"
same "sol: as many as were counted" "$(sort "$scratch/sol.ranges" | uniq -c | awk '{ print $1, $2, $3, $4 }')" \
	"$(for device in 0 1; do printf "5 $device 1 k%d\n" 0 1 2; done)"
same "sol: the ledger" "$(ledger sol)" "30 0 0 0"
same "sol: all else is there" "$("$flamegrid" report "$scratch/sol" -f folded --weight count | sum_folded)" 40000
same "sol: the rows have the kernels' time" \
	"$(python3 -c 'import json, sys; print(sum(row["ns"] for row in json.load(open(sys.argv[1]))["kernel_metrics"]))' "$scratch/sol.json")" \
	"$("$flamegrid" report "$scratch/sol" -f folded --unit ns | sum_folded)"
"$flamegrid" report "$scratch/sol" --metrics >"$scratch/sol.table"
profile helped --metrics sol --record nvtx --kernels '^r1$' -- "$BUILD/tests/fake_ranges" nested 2
same "helped: rows of one helper are told apart" "$("$flamegrid" report "$scratch/helped" --metrics | grep '^r1' | LC_ALL=C sort | xargs -d'\n' printf '%s|')" \
	"r1, launched by [NVTX]inner > … > launch|r1, launched by [NVTX]other > … > launch|"
same "sol: each metric has values" "$("$flamegrid" report "$scratch/sol" --metrics -f csv | python3 -c '
import csv, sys
print(*sorted({row["metric"] for row in csv.DictReader(sys.stdin) if row["count"] != "0"}))')" \
	"$("$flamegrid" run --metrics sol -o "$scratch/names" --devices "$list" -- printenv FLAMEGRID_METRICS 2>"$scratch/err" |
		cut -d: -f2 | tr , '\n' | LC_ALL=C sort | xargs)"
same "sol: no column without figures" "$(grep -E '^ +time ' "$scratch/sol.table" | tr -s ' ')" \
	" time launches measured DRAM of peak kernel launched by"
contains "sol: the table names the caller" "$scratch/sol.table" "k1, launched by launch_from_k1"
contains "sol: the table marks rates over elapsed time" "$scratch/sol.table" \
	"dram__throughput.avg.pct_of_peak_sustained_elapsed (too low: the measurement's own time is in it)"
same "sol: CSV and JSON mark these" "$("$flamegrid" report "$scratch/sol" --metrics -f csv | python3 -c '
import csv, json, sys
marked = {row["metric"] for row in csv.DictReader(sys.stdin) if row["too_low"] == "1"}
rows = json.load(open(sys.argv[1]))["kernel_metrics"]
names = {metric["name"] for row in rows for metric in row["metrics"]}
print(marked == {name for name in names if name.endswith("_elapsed")} and len(marked) > 1,
      marked == {metric["name"] for row in rows for metric in row["metrics"] if metric["too_low"]})' "$scratch/sol.json")" "True True"
"$flamegrid" report "$scratch/sol" -f table >"$scratch/sol.whole"
contains "sol: the usual table has the rows" "$scratch/sol.whole" "Measured kernels"
contains "sol: the run's end says so" "$scratch/sol.err" "flamegrid: 30 measurements of kernels, in 3 rows (report --metrics)"
valid_report "$scratch/sol"

profile roofline --metrics roofline --launches 2 -- "$fake_launches" --launches 200 --kernels 1 --devices 1
"$flamegrid" report "$scratch/roofline" --metrics >"$scratch/roofline.table"
same "roofline: all columns" "$(grep -E '^ +time ' "$scratch/roofline.table" | tr -s ' ')" \
	" time launches measured DRAM of peak tensor bf16 of peak FLOP/B kernel launched by"

# A set of three passes: each measurement takes three launches.
profile passes --metrics sm__throughput.avg.pct_of_peak_sustained_elapsed --launches 2 -- \
	"$fake_launches" --launches 20000 --kernels 3 --devices 2 --threads 2 --sync-every 100
same "passes: values" "$(values passes)" ok
same "passes: two measurements of each" "$(measured passes)" "$(printf 'k%d 4 3\n' 0 1 2)"
same "passes: of three launches each" "$(ledger passes)" "36 0 0 0"
"$flamegrid" report "$scratch/passes" --metrics >"$scratch/passes.table"
contains "passes: they are marked" "$scratch/passes.table" \
	"* a measurement takes up to 3 launches or ranges, each of which counts a part."

# A merged profile has the rows of both, and a difference compares times as ever.
"$flamegrid" merge -o "$scratch/both" "$scratch/sol" "$scratch/passes" >"$scratch/out" 2>&1
"$flamegrid" report "$scratch/both" -f json -o "$scratch/both.json"
same "merge: values" "$(values both)" ok
same "merge: measurements of both" "$(measured both)" "$(printf 'k%d 14 3\n' 0 1 2)"
# A rate of both is over the mean time of each measurement's launches, of which the second profile takes three.
bytes=dram__bytes_read.sum,dram__bytes_write.sum
profile one --metrics $bytes --launches 3 -- "$fake_launches" --launches 3000 --kernels 1 --devices 1
profile three --metrics $bytes,sm__throughput.avg.pct_of_peak_sustained_elapsed --launches 4 -- \
	"$fake_launches" --launches 3000 --kernels 1 --devices 1
"$flamegrid" merge -o "$scratch/rates" "$scratch/one" "$scratch/three" >"$scratch/out" 2>&1
"$flamegrid" report "$scratch/rates" -f json -o "$scratch/rates.json"
same "merge: one pass and three" "$(measured one) $(measured three) $(measured rates)" "k0 3 1 k0 4 3 k0 7 3"
same "merge: the rate of both" "$(python3 -c 'import json, sys
one, three, both = (json.load(open(name))["kernel_metrics"][0] for name in sys.argv[1:])
bytes_of = lambda row: sum(metric["mean"] for metric in row["metrics"] if metric["name"].startswith("dram__bytes_"))
parts = [bytes_of(row) * row["measured"] for row in (one, three)]
ns = [row["measured_ns"] / row["passes"] for row in (one, three)]
near = lambda a, b: abs(a / b - 1) < 1e-9
print(all(near(row["bytes_per_ns"], part / time) for row, part, time in zip((one, three), parts, ns)),
      near(both["bytes_per_ns"], sum(parts) / sum(ns)))' "$scratch/one.json" "$scratch/three.json" "$scratch/rates.json")" "True True"
check "diff" "$flamegrid" diff "$scratch/sol" "$scratch/passes" -f table -o "$scratch/diff.table"

# Two threads that launch on one device: what is counted together with other launches is dropped.
profile shared --metrics dram__bytes_read.sum --launches 200 -- \
	"$fake_launches" --launches 20000 --kernels 2 --devices 1 --threads 2 --streams 2 --sync-every 20
same "shared: values" "$(values shared)" ok
check "shared: some were counted together" test "$(counted shared 81)" -gt 0
same "shared: the ledger" "$(counted shared 80)" \
	"$(($(measured shared | awk '{ sum += $2 } END { print sum + 0 }') + $(counted shared 81) + $(counted shared 82)))"

# Only some kernels; none of NCCL's, and none beside it.
profile some --metrics dram__bytes_read.sum --kernels '^k[12]$' --launches 3 -- "$fake_launches" --launches 3000 --kernels 3 --devices 1
same "some: kernels that match" "$(measured some)" "$(printf 'k%d 3 1\n' 1 2)"
profile nccl --metrics dram__bytes_read.sum --launches 3 -- "$fake_launches" --launches 3000 --kernels 2 --nccl --devices 1 --sync-every 10
same "nccl: no kernel of NCCL's" "$(measured nccl | grep -c nccl)" 0
check "nccl: it ran" test "$("$flamegrid" report "$scratch/nccl" -f folded --weight count | grep nccl | sum_folded)" -gt 0
check "nccl: others, between them" test "$(measured nccl | awk '{ sum += $2 } END { print sum + 0 }')" -gt 0
same "nccl: values" "$(grep -c nccl "$scratch/nccl.ranges")" 0

# Nobody learns when such a kernel has ended whose record CUPTI dropped.
missing="kernels are no longer measured while the record of a kernel that may wait for other GPUs is missing"
same "nccl: no record is missing" "$(grep -c "$missing" "$scratch/nccl.err")" 0
FAKE_CUPTI_DROP=1 profile dropped --metrics dram__bytes_read.sum -- "$fake_launches" --launches 2000 --kernels 2 --nccl --devices 1
contains "dropped: the reason" "$scratch/dropped.err" "$missing"

# What matches nothing says so, and not that the option is missing.
profile nothing --metrics sol --kernels '^gemm' -- "$fake_launches" --launches 2000 --devices 1
"$flamegrid" report "$scratch/nothing" --metrics >"$scratch/nothing.table"
contains "nothing: the reason" "$scratch/nothing.table" \
	"nothing was measured: --kernels or --ranges matches no name in this run; or its launches are such as are never measured, or too few for the passes (docs/metrics.md); or the program was killed. --kernels takes mangled names (report --demangle none)"
contains "nothing: the run's end says so" "$scratch/nothing.err" "flamegrid: nothing was measured: --kernels or --ranges matches"
same "nothing: the agent's note is no line" "$(cat "$scratch/nothing.table" "$scratch/nothing.err" | grep -c "was to be measured")" 0

# Captured streams: the program's graphs stay whole, although CUPTI would break them.
profile graphs --metrics dram__bytes_read.sum --launches 4 -- "$BUILD/tests/fake_graphs" --eager 40
same "graphs: values" "$(values graphs)" ok
same "graphs: the program saw nothing" "$("$BUILD/tests/fake_graphs" --eager 40 | sed 's/ready .*//')" "$(sed 's/ready .*//' "$scratch/graphs.out")"

# A capture does not wait for the GPU's work, behind, beside or with which a launch of c1 is to be measured (fake_captures.c). That
# launch is given up, and the next one is measured.
for case in behind beside long; do
	profile "held-$case" --metrics dram__bytes_read.sum --kernels '^c1$' --launches 1 -- "$BUILD/tests/fake_captures" $case
	same "held $case: values" "$(values "held-$case")" ok
	same "held $case: the next launch" "$(measured "held-$case")" "c1 1 1"
	same "held $case: measured, shared, lost, refused" \
		"$(ledger "held-$case")" "1 0 0 1"
	same "held $case: all kernels are there" \
		"kernels $("$flamegrid" report "$scratch/held-$case" -f folded --weight count | grep Kernel | sum_folded)" \
		"$(cat "$scratch/held-$case.out")"
done
# The pass that is given up takes those before it along, and the next three launches are the passes.
profile held-pass --metrics sm__throughput.avg.pct_of_peak_sustained_elapsed --kernels '^c1$' --launches 1 -- \
	"$BUILD/tests/fake_captures" later
same "held pass: values" "$(values held-pass)" ok
same "held pass: the passes" "$(measured held-pass)" "c1 1 3"
same "held pass: measured, shared, lost, refused" \
	"$(ledger held-pass)" "3 0 0 1"

# Counted calls do not hide captures, and a window that begins later might begin within one.
profile counted --metrics dram__bytes_read.sum --launches 4 --api all -- "$BUILD/tests/fake_graphs" --eager 40
same "counted calls: values" "$(values counted)" ok
same "counted calls: the program saw nothing" "$(sed 's/ready .*//' "$scratch/counted.out")" "$(sed 's/ready .*//' "$scratch/graphs.out")"
profile window --metrics sol -- env FLAMEGRID_WINDOW=duty=20000000/60000000 "$fake_launches" --launches 20000 --devices 1
contains "window: the reason" "$scratch/window.err" "kernels are not measured: the run has capture windows"
check "window: no range" test ! -s "$scratch/window.ranges"

# A refusal costs the metrics alone.
FAKE_CUPTI_METRICS_REFUSED=35 profile refused --metrics sol -- "$fake_launches" --launches 20000 --devices 1
contains "refused: the reason" "$scratch/refused.err" "kernels of CUDA device 0 are not measured (CUPTI's error 35): it needs CAP_SYS_ADMIN"
same "refused: all else is there" "$("$flamegrid" report "$scratch/refused" -f folded --weight count | sum_folded)" 20000
same "refused: nothing measured" "$(measured refused)$(counted refused 80)" 0
"$flamegrid" report "$scratch/refused" --metrics >"$scratch/refused.table"
contains "refused: the table says why" "$scratch/refused.table" \
	"nothing was measured: kernels of CUDA device 0 are not measured (CUPTI's error 35): it needs CAP_SYS_ADMIN"
"$flamegrid" report "$scratch/refused" --planes stalls >"$scratch/out" 2>&1
same "refused: the plane of stalls: status" $? 0
same "refused: this is no reason of the plane of stalls" "$(grep -c "nothing of it: kernels of" "$scratch/out")" 0
# A process that ends before the last try tells the refusal as well.
FAKE_CUPTI_METRICS_REFUSED=10 profile short --metrics sol -- "$fake_launches" --launches 200 --devices 1
contains "short: the reason" "$scratch/short.err" "kernels of CUDA device 0 are not measured (CUPTI's error 10): "

# Values that are no numbers are left out alone.
FAKE_CUPTI_METRICS_NAN=20 profile odd --metrics dram__bytes_read.sum,lts__t_bytes.sum --launches 10 -- \
	"$fake_launches" --launches 3000 --kernels 3 --devices 1
same "odd: values" "$(values odd)" ok
same "odd: each other value counts" "$("$flamegrid" report "$scratch/odd" --metrics -f csv | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
print(len(rows), sum(int(row["count"]) for row in rows))')" "6 57"
same "odd: all launches count" "$(counted odd 80 82)" "30 0"
"$flamegrid" report "$scratch/odd" --metrics >"$scratch/odd.table"
contains "odd: the table says so" "$scratch/odd.table" "lts__t_bytes.sum (9 of 10 measurements have it)"
# A metric of which no launch has a number stays there.
FAKE_CUPTI_METRICS_NAN=2 profile half --metrics dram__bytes_read.sum,lts__t_bytes.sum --launches 4 -- \
	"$fake_launches" --launches 3000 --kernels 1 --devices 1
"$flamegrid" report "$scratch/half" --metrics >"$scratch/half.table"
same "half: the table has both" "$(grep -o '[^ ]* *[a-z]*__[a-z_.]*.*' "$scratch/half.table" | tr -s ' ' | sed 's/^[0-9]*/N/; s/^N-/-/')" \
	"$(printf '%s\n' "N dram__bytes_read.sum" "- lts__t_bytes.sum (0 of 4 measurements have it)")"
same "half: CSV and JSON" "$("$flamegrid" report "$scratch/half" --metrics -f csv | grep -o 'lts__.*')$(python3 -c 'import json, sys
print(*(metric for metric in json.load(open(sys.argv[1]))["kernel_metrics"][0]["metrics"] if metric["count"] == 0))' "$scratch/half.json")" \
	"lts__t_bytes.sum,0,,,,0{'name': 'lts__t_bytes.sum', 'count': 0, 'mean': None, 'min': None, 'max': None, 'too_low': False}"
valid_report "$scratch/half"
FAKE_CUPTI_METRICS_NAN=1 profile numberless --metrics dram__bytes_read.sum --launches 10 -- "$fake_launches" --launches 3000 --kernels 3 --devices 1
check "numberless: they are lost" test "$(counted numberless 82)" -gt 0
"$flamegrid" report "$scratch/numberless" --metrics >"$scratch/numberless.table"
contains "numberless: the table says why" "$scratch/numberless.table" "nothing was measured: measurements lost: "
same "numberless: all of them" "$(counted numberless 80)" "$(counted numberless 82)"
# CUPTI's own kernel, which has the id of the measured launch, is no measured launch.
FAKE_CUPTI_METRICS_WAITS=1 profile waits --metrics sol --launches 10 -- "$fake_launches" --launches 3000 --kernels 3 --devices 1
same "waits: values" "$(values waits)" ok
same "waits: the program's kernels" "$(measured waits)" "$(printf 'k%d 10 1\n' 0 1 2)"
same "waits: in each kernel's own time" "$(python3 -c 'import json, sys
print(*{row["measured_ns"] < row["ns"] / 50 for row in json.load(open(sys.argv[1]))["kernel_metrics"]})' "$scratch/waits.json")" True
same "waits: CUPTI's kernels are there as well" "$("$flamegrid" report "$scratch/waits" -f folded --weight count | grep 'WaitNs' | sum_folded)" 30
profile unknown --metrics dram__bytes_read.sum,sm__no_such.sum -- "$fake_launches" --launches 2000 --devices 1
contains "unknown: the metric" "$scratch/unknown.err" "kernels of CUDA device 0 are not measured by sm__no_such.sum: CUPTI knows no such metric for it (flamegrid metrics lists them)"
same "unknown: the other one is there" "$(values unknown)" ok

# Options that make no sense.
for option in --kernels --ranges --launches; do
	"$flamegrid" run $option 3 -- true 2>"$scratch/err"
	contains "options: $option alone" "$scratch/err" "--kernels, --ranges and --launches go with --metrics"
done
"$flamegrid" run --metrics 'sol,a b' -- true 2>"$scratch/err"
contains "options: no metric" "$scratch/err" "--metrics: sol,a b: not sol, roofline, or names of metrics"
"$flamegrid" run --metrics roofline, -- true 2>"$scratch/err"
contains "options: a comma" "$scratch/err" "--metrics: roofline,: a name is missing: sol, roofline, or names"
"$flamegrid" run --metrics sol,sm__cycles_active -- touch "$scratch/begun" 2>"$scratch/err"
same "options: no ending: status" $? 125
contains "options: no ending" "$scratch/err" \
	"--metrics: sm__cycles_active: neither sol nor roofline, and no metric with an ending such as .sum (flamegrid metrics --chip NAME names them)"
check "options: no ending: no program" test ! -e "$scratch/begun"
for option in --kernels --ranges; do
	"$flamegrid" run --metrics sol $option '((a{1,255}){1,255}){1,255}' -- true 2>"$scratch/err"
	same "options: $option: too many repetitions: status" $? 125
	contains "options: $option: too many repetitions" "$scratch/err" "its repetitions, such as {1,255}, take more than 10,000 characters"
done
"$flamegrid" run --metrics sol --kernels '(' -- true 2>"$scratch/err"
contains "options: no expression" "$scratch/err" "--kernels: (: not a regular expression"
"$flamegrid" run --metrics sol --record stalls -- true 2>"$scratch/err"
contains "options: with stalls" "$scratch/err" "--metrics and --record stalls need the same counters"
for other in "--metrics sol" "--metrics sol --ranges x"; do
	"$flamegrid" run $other --sample-gpu 1000/s -- true 2>"$scratch/err"
	same "options: $other with exact windows: status" $? 125
	contains "options: $other with exact windows" "$scratch/err" "--metrics and --sample-gpu need the same counters"
done
for other in "--metrics sol" "--record stalls" "--sample-gpu 100/s"; do
	"$flamegrid" run $other --host-calls on -- true 2>"$scratch/err"
	same "options: $other without a guest: status" $? 125
	contains "options: $other without a guest" "$scratch/err" " needs the guest in the program, and --host-calls on records without it"
done
for other in "--record stalls" "--sample-gpu 100/s"; do
	"$flamegrid" run $other --graphs launch -- true 2>"$scratch/err"
	same "options: $other without kernels of graphs: status" $? 125
	contains "options: $other without kernels of graphs" "$scratch/err" " needs records of a graph's kernels, which --graphs launch leaves out"
done
for window in "--delay 1s" "--duration 1s" "--duty 1s/5s" "--capture-range profiler" --dormant; do
	"$flamegrid" run --metrics sol $window -- true 2>"$scratch/err"
	same "options: $window: status" $? 125
	contains "options: $window" "$scratch/err" "--metrics measures nothing in a run with capture windows"
done
"$flamegrid" run --sample-gpu 1000/s --record stalls -- true 2>"$scratch/err"
same "options: both ways of sampling: status" $? 125
contains "options: both ways of sampling" "$scratch/err" "--sample-gpu and --record stalls are two ways of sampling"
FLAMEGRID_METRICS=3:dram__bytes_read.sum: "$flamegrid" attach --pid $$ --record stalls 2>"$scratch/err"
same "options: attach: status" $? 2
contains "options: attach" "$scratch/err" "--metrics and --record stalls need the same counters"

# Whichever reads the environment last: the guest samples kernels and says that it measures none.
profile sampled --record stalls -- env FLAMEGRID_METRICS=3:dram__bytes_read.sum: "$fake_launches" --launches 2000 --devices 1
contains "sampled: the reason" "$scratch/sampled.err" "kernels are not measured: the run samples kernels"
check "sampled: no range" test ! -s "$scratch/sampled.ranges"

# Samples of counters may work on other GPUs, so the run goes on and says so.
profile beside --metrics dram__bytes_read.sum --sample-counters 100/s -- "$fake_launches" --launches 2000 --devices 1
contains "beside: the warning" "$scratch/beside.err" "--sample-counters and --metrics use the same counters of a GPU"
profile apart --sample-counters 100/s -- "$fake_launches" --launches 2000 --devices 1
same "apart: no warning" "$(grep -c "use the same counters" "$scratch/apart.err")" 0

# Without the option nothing is measured, and the report says how to.
profile without -- "$fake_launches" --launches 2000 --devices 1
check "without: no range" test ! -s "$scratch/without.ranges"
"$flamegrid" report "$scratch/without" --metrics >"$scratch/without.table"
contains "without: advice" "$scratch/without.table" "nothing was measured: run --metrics sol"
