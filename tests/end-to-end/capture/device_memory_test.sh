#!/usr/bin/env bash
# The account of memory against the truth: several threads, streams and devices, a sawtooth, leaks, frees in other
# threads, records out of order; and what is said of it.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/memory_harness.sh"
list=$(devices 2)
export FAKE_CUDA_DEVICES=2

FAKE_CUPTI_SHUFFLE=5 FAKE_CUDA_TRUTH=$scratch/truth "$flamegrid" run -o "$scratch/profile" --record memory \
	--devices "$list" -- "$fake_memory" --devices 2 --threads 6 --rounds 400 >"$scratch/out" 2>"$scratch/err"
same "status" $? 0
compare_memory "$scratch/profile" "$scratch/truth" "shuffled"
compare_with_truth "$scratch/profile" "$scratch/truth" "memory recorded"
contains "nothing is lost" "$scratch/err" "nothing lost; $scratch/profile/flame.html"
sites "$scratch/profile/memory.bytes.folded" >"$scratch/have"
truth_sites 12 "$scratch/truth" >"$scratch/want"
same_lines "memory.bytes.folded is the peak" "$scratch/have" "$scratch/want"
sites "$scratch/profile/leaks.bytes.folded" >"$scratch/have"
truth_sites 10 "$scratch/truth" >"$scratch/want"
same_lines "leaks.bytes.folded is what was never freed" "$scratch/have" "$scratch/want"
same "leaks: from one function alone" "$(awk '{ print $3 }' "$scratch/have" | sort -u)" leak_buffer
same "the program's own count" "$(awk '$1 == "leaked" { print $2, $4 }' "$scratch/out" | tr '\n' ' ')" \
	"$(awk '{ print $1, $4 }' "$scratch/have" | tr '\n' ' ')"
same "lines about devices" "$(grep -cE '^flamegrid: GPU[01] memory: peak [0-9.]+ MiB after [0-9.]+ [mu]?s; [0-9.]+ KiB in [0-9]+ allocations never freed$' "$scratch/err")" 2
contains "the host's memory" "$scratch/err" "host memory: peak"
contains "what the lines hold" "$scratch/err" "allocators that cache"
same "memory is no GPU work" "$(grep -c '_Memory\]' "$scratch/profile/gpu.ns.folded")" 0
"$flamegrid" report "$scratch/profile" --memory frees --weight count >"$scratch/frees" 2>/dev/null
same "frees: as many as the truth's" "$(awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$scratch/frees")" \
	"$(awk -F'\t' '$1 == "#memory_site" { sum += $7 } END { printf "%.0f\n", sum }' "$scratch/truth")"
same "frees: weights by the device's thread" "$(grep -c ';run_thread;drop_weights;cudaFree;' "$scratch/frees")" 2
same "frees: states by main" "$(grep ';main;drop_state;cudaFree;' "$scratch/frees" | awk '{ sum += $NF } END { printf "%.0f\n", sum }')" 6
"$flamegrid" report "$scratch/profile" --strict >/dev/null 2>&1
same "report --strict" $? 0
"$flamegrid" report "$scratch/profile" --format table >"$scratch/table"
contains "table" "$scratch/table" "live at end"
"$flamegrid" report "$scratch/profile" --memory peak --format html >"$scratch/html"
contains "HTML: by bytes" <(page_data "$scratch/html") '"weight":"bytes"'
contains "HTML: says what it shows" <(page_data "$scratch/html") "memory at each device's peak"
valid_report "$scratch/profile" --memory peak
same "CSV: a leak a thread" "$("$flamegrid" report "$scratch/profile" --memory live --format csv | grep -c ',alloc,device,')" 6
"$flamegrid" report "$scratch/profile" --memory peak --weight time >/dev/null 2>"$scratch/usage"
same "memory has no time: status" $? 2
contains "memory has no time" "$scratch/usage" "by bytes or count"
"$flamegrid" report "$scratch/profile" --memory leaks >/dev/null 2>"$scratch/usage"
same "no such memory: status" $? 2
"$flamegrid" report "$scratch/profile" --planes gpu,memory >/dev/null 2>"$scratch/usage"
same "memory is no plane to choose: status" $? 2
contains "memory is no plane to choose" "$scratch/usage" "memory has an option of its own: report --memory peak"
"$flamegrid" report "$scratch/profile" --planes gpu --memory peak >/dev/null 2>"$scratch/usage"
same "memory and planes: status" $? 2
contains "memory and planes" "$scratch/usage" "--memory and --planes: one at a time"

# Beside all other planes, of managed memory that migrates.
FAKE_CUDA_TRUTH=$scratch/truth "$flamegrid" run -o "$scratch/planes" --record sync,overhead,um,modules,memory \
	--devices "$list" -- "$BUILD/tests/fake_timeline" --rounds 5 --device 1 --managed >"$scratch/out" 2>"$scratch/err"
same "with planes: status" $? 0
contains "with planes: nothing is lost" "$scratch/err" "nothing lost; $scratch/planes/flame.html"
memory_rows "$scratch/planes" >"$scratch/have"
truth_rows "$scratch/truth" >"$scratch/want"
same_lines "with planes: managed memory is the truth" "$scratch/have" "$scratch/want"
same "with planes: managed memory has its row" "$(grep -c ' managed 4194304 ' "$scratch/have")" 1
same "with planes: migrations and faults have theirs" "$(grep -c '_UM\]' "$scratch/planes/um.ns.folded")" 4
same "with planes: memory is no total" "$("$flamegrid" report "$scratch/planes" --format json | grep -c '"plane":"memory"')" 0

"$flamegrid" run -o "$scratch/profile" --devices "$list" -- "$fake_memory" --devices 2 --threads 2 --rounds 4 \
	>"$scratch/out" 2>"$scratch/err"
same "not recorded: status" $? 0
same "not recorded: nothing is said" "$(grep -c 'memory' "$scratch/err")" 0
same "not recorded: no file" "$(ls "$scratch/profile" | grep -cE 'memory|leaks')" 0
same "not recorded: those of the run before are with its profile" "$(ls "$scratch/profile.2" | tr '\n' ' ')" \
	"flame.html gpu.ns.folded leaks.bytes.folded memory.bytes.folded profile.db "
same "not recorded: nothing to show" "$("$flamegrid" report "$scratch/profile" --memory peak 2>/dev/null | wc -l)" 0

# A lost record: the account goes on, and says so.
FAKE_CUPTI_DROP=50 "$flamegrid" run -o "$scratch/dropped" --record memory --devices "$list" -- "$fake_memory" \
	--devices 1 --threads 1 --rounds 100 >"$scratch/out" 2>"$scratch/err"
same "dropped: status" $? 0
check "dropped: frees without their allocation are counted" [ "$(ledger "$scratch/dropped" free_unknown)" -gt 0 ]
contains "dropped: the summary names them" "$scratch/err" "free_unknown"
