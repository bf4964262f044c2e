#!/usr/bin/env bash
# What is recorded on request: waits, overhead, unified memory, loads of GPU code: exact, under the code that caused them,
# and never part of GPU time.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
fake_timeline=$BUILD/tests/fake_timeline
export FAKE_CUDA_DEVICES=2
rounds=30
# record NAME LIST PROGRAM-OPTION...: a run; NAME.err has what was said.
record() {
	local name=$1 wanted=$2
	shift 2
	FAKE_CUDA_TRUTH=$scratch/$name.truth "$flamegrid" run --record "$wanted" -o "$scratch/$name" --devices "$list" -- \
		"$fake_timeline" --rounds $rounds --device 1 "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
}
# leaves NAME PLANES OPTION...: "leaf sum" lines of those planes.
leaves() {
	local name=$1 planes=$2
	shift 2
	"$flamegrid" report "$scratch/$name" --planes "$planes" "$@" 2>/dev/null | awk '
		{ weight = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); sum[$0] += weight }
		END { for (leaf in sum) if (sum[leaf]) printf "%s %.0f\n", leaf, sum[leaf] }' | LC_ALL=C sort
}
# truth_leaves NAME KIND LEAF COLUMN: the same of the truth.
truth_leaves() {
	awk -F'\t' -v kind="$2" -v leaf="$3" -v column="$4" '
		FNR == 1 { sub(/^# */, "", $1); for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["kind"] == kind { sum["[GPU" $at["device_index"] "_" leaf "]" $at["name"]] += $at[column] }
		END { for (leaf in sum) if (sum[leaf]) printf "%s %.0f\n", leaf, sum[leaf] }' "$scratch/$1.truth" | LC_ALL=C sort
}
# equals NAME PLANE LEAF: counts and nanoseconds of a plane are the truth.
equals() {
	leaves "$1" "$2" --weight count >"$scratch/have"
	truth_leaves "$1" "$2" "$3" valid_count >"$scratch/want"
	same_lines "$1: $2: counts" "$scratch/have" "$scratch/want"
	leaves "$1" "$2" --unit ns >"$scratch/have"
	truth_leaves "$1" "$2" "$3" valid_ns >"$scratch/want"
	same_lines "$1: $2: ns" "$scratch/have" "$scratch/want"
}
# outside NAME PLANE LEAF EXPRESSION: lines of a leaf that do not match.
outside() { "$flamegrid" report "$scratch/$1" --planes "$2" --weight count 2>/dev/null | grep -F -- "$3" | grep -cvE -- "$4"; }
count_of() { leaves "$1" "$2" --weight count | awk -v leaf="$3" '{ n = $NF; sub(/ [0-9]+$/, ""); if ($0 == leaf) print n }'; }

record all sync,overhead,um,modules --managed
equals all sync Sync
equals all overhead Overhead
equals all um UM
compare_with_truth "$scratch/all" "$scratch/all.truth" "all: GPU work"
leaves all um --weight bytes >"$scratch/have"
truth_leaves all um UM bytes >"$scratch/want"
same_lines "all: um: bytes" "$scratch/have" "$scratch/want"
leaves all modules --weight count >"$scratch/have"
truth_leaves all module Module ran_count >"$scratch/want"
same_lines "all: modules: counts" "$scratch/have" "$scratch/want"
same "loads take time" "$("$flamegrid" report "$scratch/all" --planes modules --unit ns 2>/dev/null | awk '$NF == 0' | wc -l)" 0
same "waits: one of each sort a round" \
	"$(for leaf in context event stream 'stream wait event'; do count_of all sync "[GPU1_Sync]$leaf"; done | tr '\n' ' ')" \
	"$rounds $((2 * rounds)) $rounds $rounds "
same "faults of both sides" "$(count_of all um '[GPU1_UM]GPU page fault') $(count_of all um '[GPU?_UM]CPU page fault')" \
	"$((2 * rounds)) $((2 * rounds))"

# Under the code that waits, loads, or makes the driver load.
same "context waits under wait_for_device" "$(outside all sync '[GPU1_Sync]context' ';wait_for_device;cudaDeviceSynchronize;')" 0
same "stream waits under wait_for_stream" "$(outside all sync '[GPU1_Sync]stream ' ';(wait_for_stream;cudaStreamSynchronize|order_streams;cudaStreamWaitEvent);')" 0
same "event waits under wait_for_event" "$(outside all sync '[GPU1_Sync]event' ';(wait_for_event;cudaEventSynchronize|poll_event;cudaEventQuery);')" 0
same "polls: one answer a round" "$("$flamegrid" report "$scratch/all" --planes sync --weight count 2>/dev/null | grep -F ';poll_event;' | sum_folded)" $rounds
same "lazy loading under the launch" "$(outside all overhead 'lazy function loading' ';(launch_work;cudaLaunchKernel|load_module;cuLaunchKernel);')" 0
same "flushes under [CUPTI]" "$(outside all overhead 'activity buffer flush' '^\[CUPTI\];\[GPU\?_Overhead\]')" 0
same "modules under load_module" "$(outside all modules ']cuModule' ';load_module;cuModule(LoadData|GetFunction);\[GPU1_Module\]cuModule')" 0
same "libraries under load_library" "$(outside all modules ']cuLibrary' ';load_library;cuLibrary(LoadData|GetKernel);\[GPU1_Module\]cuLibrary')" 0
same "unified memory under one frame" "$(outside all um '_UM]' '^\[unified memory\];')" 0

# What is not GPU work is in no total of GPU time, and every total says whose it is.
line=$(awk -F'\t' '$6 ~ /^(kernel|memcpy|memset)$/ { n += $11; if ($6 == "kernel") k += $11 } END { printf "%.0f\n", k }' "$scratch/all.truth")
contains "closing line counts kernels alone" "$scratch/all.err" "$line kernels, "
contains "every wait, load and kernel has its call" "$scratch/all.err" "100.00 % matched; nothing lost"
same "nothing noted" "$(grep -c noted "$scratch/all.err")" 0
contains "waits have a line" "$scratch/all.err" "flamegrid: host waits: $((5 * rounds)) in "
contains "unified memory has a line" "$scratch/all.err" "flamegrid: unified memory: $((12 * rounds)) in "
contains "loads have a line" "$scratch/all.err" "flamegrid: loads of GPU code: $((4 * rounds)) in "
same "files" "$(cd "$scratch/all" && ls | tr '\n' ' ')" \
	"flame.html gpu.ns.folded modules.ns.folded overhead.ns.folded profile.db sync.ns.folded um.ns.folded "
same "gpu.ns.folded has GPU work alone" "$(grep -vc '_Kernel\]' "$scratch/all/gpu.ns.folded")" 0
"$flamegrid" report "$scratch/all" --strict >"$scratch/folded" 2>"$scratch/err"
same "report --strict" $? 0
same "a report without --planes is of GPU work" "$(cat "$scratch/folded")" "$(cat "$scratch/all/gpu.ns.folded")"
same "one plane is not called several" "$(grep -c 'several planes' "$scratch/err")" 0
"$flamegrid" report "$scratch/all" --planes gpu,sync >"$scratch/folded" 2>"$scratch/err"
contains "several planes are said" "$scratch/err" "several planes side by side, never to be added up: gpu, sync"
same "and all there" "$(wc -l <"$scratch/folded")" "$(cat "$scratch/all/gpu.ns.folded" "$scratch/all/sync.ns.folded" | wc -l)"
"$flamegrid" report "$scratch/all" --planes all -f csv >"$scratch/csv"
same "csv: planes" "$(awk -F, 'NR > 1 { print $(NF - 1) }' "$scratch/csv" | sort -u | tr '\n' ' ')" "gpu modules overhead sync um "
"$flamegrid" report "$scratch/all" --planes all -f json >"$scratch/json"
valid_report "$scratch/all" --planes all
contains "json: planes" "$scratch/json" "{\"plane\":\"sync\",\"count\":$((5 * rounds)),"
"$flamegrid" report "$scratch/all" --planes sync -f table >"$scratch/table"
contains "table: a plane's own share" "$scratch/table" "sync"
"$flamegrid" report "$scratch/all" -f json >"$scratch/json"
same "busy times are of kernels alone" "$(tr -d '\n' <"$scratch/json" | sed 's/.*"devices":\[//; s/\].*//' | grep -o '"records":[0-9]*')" "\"records\":$((3 * rounds))"
same "table: no busy times of waits" "$(grep -c ' busy ' "$scratch/table")" 0
contains "the page has all planes" <(page_data "$scratch/all/flame.html") '["sync","host waits","'
"$flamegrid" report "$scratch/all" --planes gpu,cpus >/dev/null 2>"$scratch/err"
same "no such plane: status" $? 2
contains "no such plane" "$scratch/err" "--planes gpu,cpus: must be all, or of gpu, sync, overhead, um, modules, cpu, offcpu, calls, idle"

# Each on its own, and none unasked for; what an earlier run left is moved aside.
for pair in sync:sync overhead:overhead modules:modules; do
	name=${pair%%:*}
	record "$name" "$name"
	same "$name alone" "$(cd "$scratch/$name" && ls ./*.folded | tr '\n' ' ')" "$(printf './%s ' gpu.ns.folded "$name.ns.folded" | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ //')"
	contains "$name alone: nothing lost" "$scratch/$name.err" "nothing lost"
done
"$flamegrid" run -o "$scratch/sync" --devices "$list" -- "$fake_timeline" --rounds 2 >/dev/null 2>"$scratch/plain.err"
same "nothing unasked for" "$(cd "$scratch/sync" && ls ./*.folded | tr '\n' ' ')" "./gpu.ns.folded "
same "an earlier plane's file is moved aside" "$(ls "$scratch/sync.2/sync.ns.folded" | wc -l)" 1
same "no line of another plane" "$(grep -c 'host waits' "$scratch/plain.err")" 0

# Lost like any other record.
FAKE_CUPTI_ZERO_TIME=7 record zeroed sync
equals zeroed sync Sync
same "zeroed: counted" "$(ledger "$scratch/zeroed" invalid_time)" \
	"$(awk -F'\t' 'FNR == 1 { next } /^[^#]/ { sum += $14 } END { printf "%.0f\n", sum }' "$scratch/zeroed.truth")"
FAKE_CUPTI_DROP=5 FAKE_CUPTI_SHUFFLE=3 record dropped sync,um,overhead --managed
equals dropped sync Sync
equals dropped um UM
