#!/usr/bin/env bash
# API calls and launch configurations: every count equals the truth, by function, by error and by configuration.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
export FAKE_CUDA_DEVICES=2
work="--devices 2 --streams 3 --threads 4 --launches 3000 --kernels 5 --copies 20 --shapes 4 --sync-every 250"
# The profiler itself asks about devices: its calls are in the truth, and in no profile.
truth_calls() { awk -F'\t' '$1 == "#call" && $3 !~ /^cuDeviceGet/ { print $2 "," $3 "," $4 "," $5 }' "$1" | LC_ALL=C sort; }
have_calls() {
	"$flamegrid" report "$1" --format csv --rows calls | awk -F, 'NR > 1 { print $1 "," $2 "," $3 "," $7 }' | LC_ALL=C sort
}
truth_configs() {
	awk -F'\t' '$1 == "#config" { key = $3; for (i = 4; i <= 13; i++) key = key "," $i; count[key] += $14; ns[key] += $15 }
		END { for (k in count) print k "," count[k] "," ns[k] }' "$1" | LC_ALL=C sort
}
have_configs() {
	"$flamegrid" report "$1" --format csv --rows configurations --demangle none |
		awk -F, 'NR > 1 { print $1 "," $3 "," $4 "," $5 "," $6 "," $7 "," $8 "," $9 "," $10 "," $11 "," $12 "," $13 "," $14 }' |
		LC_ALL=C sort
}
consistent() { "$flamegrid" report "$1" --format csv --rows calls | awk -F, 'NR > 1 && ($5 * $3 > $4 || $4 > $6 * $3)' | wc -l; }

FAKE_CUDA_FAIL_LAUNCH=70 FAKE_CUDA_TRUTH=$scratch/all.truth "$flamegrid" run --api all -o "$scratch/all" --devices "$list" -- \
	"$fake_launches" $work >"$scratch/out" 2>"$scratch/err"
same "status" $? 0
have_calls "$scratch/all" >"$scratch/have"
truth_calls "$scratch/all.truth" >"$scratch/want"
same_lines "all: calls and errors by function" "$scratch/have" "$scratch/want"
"$flamegrid" report "$scratch/all" --format csv --rows failures | awk -F, 'NR > 1 { print $1 "," $2 "," $3 "," $8 }' |
	LC_ALL=C sort >"$scratch/have"
awk -F'\t' '$1 == "#failed" { print $2 "," $3 "," $4 "," $5 }' "$scratch/all.truth" | LC_ALL=C sort >"$scratch/want"
same_lines "all: failed calls by function and error" "$scratch/have" "$scratch/want"
have_configs "$scratch/all" >"$scratch/have"
truth_configs "$scratch/all.truth" >"$scratch/want"
same_lines "all: kernels by configuration, with their time" "$scratch/have" "$scratch/want"
same "all: rows whose total is outside of count times min and max" "$(consistent "$scratch/all")" 0
compare_with_truth "$scratch/all" "$scratch/all.truth" "all"
check "all: api.txt" grep -q '^CUDA Driver API calls' "$scratch/all/api.txt"
contains "all: it is said where" "$scratch/err" "nothing lost; $scratch/all/flame.html"
"$flamegrid" report "$scratch/all" --format table >"$scratch/table"
contains "table: runtime" "$scratch/table" "CUDA Runtime API calls"
contains "table: failures" "$scratch/table" "cudaErrorLaunchOutOfResources (701)"
contains "table: configurations" "$scratch/table" "Kernels: launch configurations"
valid_report "$scratch/all"
same "JSON: sums" "$("$flamegrid" report "$scratch/all" --format json | node -e '
	const p = JSON.parse(require("fs").readFileSync(0))
	console.log(p.api_calls.reduce((sum, call) => sum + call.count, 0),
		p.failed_calls.reduce((sum, call) => sum + call.count, 0),
		p.kernel_configurations.reduce((sum, config) => sum + config.count, 0),
		p.kernel_configurations.every((config) => config.occupancy.warps_max === 64))')" \
	"$(truth_calls "$scratch/all.truth" | awk -F, '{ c += $3; e += $4 } END { printf "%.0f %.0f\n", c, e }') $(truth_configs "$scratch/all.truth" |
		awk -F, '{ s += $12 } END { printf "%.0f\n", s }') true"

FAKE_CUDA_TRUTH=$scratch/few.truth "$flamegrid" run --api 'cudaMalloc*,cuLaunchKernel,cuMem*' -o "$scratch/few" \
	--devices "$list" -- "$fake_launches" $work >/dev/null 2>"$scratch/err"
have_calls "$scratch/few" >"$scratch/have"
truth_calls "$scratch/few.truth" | grep -E '^(runtime,cudaMalloc|driver,cuLaunchKernel,|driver,cuMem)' >"$scratch/want"
same_lines "a list: its functions alone" "$scratch/have" "$scratch/want"
FLAMEGRID_API=runtime "$flamegrid" run -o "$scratch/runtime" --devices "$list" -- "$fake_launches" $work >/dev/null 2>&1
same "by the environment: the runtime alone" "$(have_calls "$scratch/runtime" | cut -d, -f1 | sort -u)" runtime

FAKE_CUDA_TRUTH=$scratch/off.truth "$flamegrid" run -o "$scratch/off" --devices "$list" -- "$fake_launches" $work \
	>/dev/null 2>"$scratch/err"
same "off: no calls" "$(have_calls "$scratch/off" | wc -l)" 0
check "off: no api.txt" [ ! -e "$scratch/off/api.txt" ]
have_configs "$scratch/off" >"$scratch/have"
truth_configs "$scratch/off.truth" >"$scratch/want"
same_lines "off: kernels by configuration" "$scratch/have" "$scratch/want"

fake_graphs=$BUILD/tests/fake_graphs
FAKE_CUDA_TRUTH=$scratch/graphs.truth "$flamegrid" run --api all -o "$scratch/graphs" --devices "$list" -- "$fake_graphs" \
	--devices 2 --threads 2 --kernels 8 --replays 50 --rounds 3 --explicit 2 --eager 5 >/dev/null 2>&1
have_calls "$scratch/graphs" >"$scratch/have"
truth_calls "$scratch/graphs.truth" >"$scratch/want"
same_lines "graphs: calls by function" "$scratch/have" "$scratch/want"
have_configs "$scratch/graphs" >"$scratch/have"
truth_configs "$scratch/graphs.truth" >"$scratch/want"
same_lines "graphs: nodes by configuration" "$scratch/have" "$scratch/want"

for bad in 'cudaMalloc,' 'cuda Malloc' ','; do
	"$flamegrid" run --api "$bad" -o "$scratch/bad" -- true 2>"$scratch/err"
	same "--api '$bad': status" $? 125
done
contains "no such list" "$scratch/err" "--api ,: not all, runtime or driver"
"$flamegrid" report "$scratch/all" --rows calls -f json 2>"$scratch/err"
same "--rows calls as json: status" $? 2
contains "--rows calls as json: said" "$scratch/err" "--rows calls cannot be written as json (--format table, csv)"
"$flamegrid" report "$scratch/all" --rows calls -f table >"$scratch/table.calls"
same_lines "--rows calls as a table is api.txt" "$scratch/table.calls" "$scratch/all/api.txt"
