#!/usr/bin/env bash
# A run that recorded nothing says why and what helps, and never that nothing was lost. What could not be recorded is a
# matter for --strict; what was not asked for is not.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
export FAKE_CUDA_DEVICES=1

# absent NAME STATUS WORDS [RUN-OPTIONS] -- COMMAND: the run says WORDS, so does the report, whose --strict is STATUS.
absent() {
	local name=$1 status=$2 words=$3
	shift 3
	"$flamegrid" run -o "$scratch/$name" --devices "$list" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	contains "$name: run says why" "$scratch/$name.err" "NOTHING WAS RECORDED: $words"
	"$flamegrid" report "$scratch/$name" --strict --format table >"$scratch/$name.table"
	same "$name: report --strict" $? "$status"
	contains "$name: the table says why" "$scratch/$name.table" "NOTHING WAS RECORDED: $words"
	contains "$name: the page says why" <(page_data "$scratch/$name/flame.html") "NOTHING WAS RECORDED: $words"
	"$flamegrid" report "$scratch/$name" --format csv 2>&1 | grep -c 'nothing lost' >"$scratch/count"
	same "$name: 'nothing lost' beside csv" "$(cat "$scratch/count")" 0
}

launches=("$fake_launches" --launches 100)
# The disk is full once the store is there: from then on run can make no file larger. Its agent tries for 10 s.
"$flamegrid" run -o "$scratch/full" --devices "$list" -- \
	bash -c 'prlimit --pid $PPID --fsize="$(stat -c %s "$1"/profile.db-wal)":unlimited; shift; exec "$@"' \
	full "$scratch/full" "${launches[@]}" 2>&1 >"$scratch/full.out" | cat >"$scratch/full.err" &
full=$!
"$flamegrid" run -o "$scratch/cuda" --devices "$list" -- true 2>"$scratch/err"
contains "cuda: run says why" "$scratch/err" "NOTHING WAS RECORDED: no process started CUDA (cuInit)"
same "cuda: nothing is said of a directory that was not there" "$(grep -c 'as it was' "$scratch/err")" 0
# ended NAME WORDS COMMAND...: run says these words of the command's end, and then that nothing was recorded.
ended() {
	local name=$1 words=$2
	shift 2
	"$flamegrid" run -o "$scratch/$name" --devices "$list" -- "$@" 2>"$scratch/err"
	same "$name: the command's end is said first" "$(sed -nE 's/^flamegrid: (run: )?//; s/ after [0-9]+\.[0-9] s$//p; s/^(NOTHING WAS RECORDED).*/\1/p' \
		"$scratch/err" | paste -sd,)" "${words:+$words,}NOTHING WAS RECORDED"
}
ended status "the command ended with status 3" sh -c 'exit 3'
ended signal "the command was ended by signal 11 (Segmentation fault)" sh -c 'kill -SEGV $$'
ended success "" true
absent delay 0 "the process ended" --delay 3600 -- "${launches[@]}"
contains "delay: what helps" "$scratch/delay.err" "a shorter --delay"
absent range 0 "the NVTX range 'nosuch' was never entered (it opened no NVTX range at all)" \
	--capture-range nvtx:nosuch -- "${launches[@]}"
absent names 0 "the NVTX range 'nosuch' was never entered (it opened: " --capture-range nvtx:nosuch -- "$BUILD/tests/api_program" ranges
for name in step forward inner "before CUDA"; do contains "names: those that were opened: $name" "$scratch/names.err" "$name"; done
absent profiler 0 "cudaProfilerStart was never called" --capture-range profiler -- "${launches[@]}"
absent steps 0 "cudaProfilerStart was never called (--every-steps counts its calls)" --every-steps 100 -- "${launches[@]}"
FLAMEGRID_CUPTI=/nonexistent/libcupti.so.13 absent cupti 3 "libcupti was not found (flamegrid doctor" -- "${launches[@]}"
FAKE_CUPTI_TAKEN=1 absent taken 3 "another profiler holds CUPTI in this process" -- "${launches[@]}"
# Only the job has the limit.
absent size 3 "its limit of file sizes (ulimit -f, 1048576 bytes)" -- bash -c 'ulimit -f 1024; exec "$@"' limited "${launches[@]}"
# A larger one lets it be recorded, with little room: that is no absence, but said.
"$flamegrid" run -o "$scratch/tight" --devices "$list" -- bash -c 'ulimit -f 10000; exec "$@"' limited "${launches[@]}" 2>"$scratch/err"
tight="bursts of launches may be lost: the guest takes at most [0-9]* MiB, because the limit on file sizes (ulimit -f) is 10 MiB"
same "tight: said once" "$(grep -c "$tight" "$scratch/err")" 1
same "tight: the report says it" "$("$flamegrid" report "$scratch/tight" --format table 2>&1 | grep -c "note: $tight")" 1

wait "$full"
contains "full disk: said" "$scratch/full.err" "the profile is incomplete"
same "full disk: nothing false is said" "$(grep -c 'no process started CUDA' "$scratch/full.err")" 0
check "full disk: the store is kept" [ -s "$scratch/full/profile.db" ]
"$flamegrid" report "$scratch/full" --strict >"$scratch/out" 2>&1
same "full disk: report --strict" $? 3

# Whatever the reason, an earlier profile is worth more; and --quiet is no reason to be silent.
"$flamegrid" run -q -o "$scratch/kept" --devices "$list" -- "${launches[@]}" >/dev/null 2>"$scratch/kept.err"
same "kept: --quiet says nothing of a whole profile" "$(cat "$scratch/kept.err")" ""
"$flamegrid" report "$scratch/kept" >"$scratch/kept.before"
empty() {
	local name=$1
	shift
	"$flamegrid" run -q -o "$scratch/kept" --devices "$list" "$@" -- "${launches[@]}" >/dev/null 2>"$scratch/$name.err"
	contains "$name: says so" "$scratch/$name.err" "there is no profile of this run, and $scratch/kept is as it was"
	"$flamegrid" report "$scratch/kept" >"$scratch/kept.after"
	same_lines "$name: the earlier profile" "$scratch/kept.before" "$scratch/kept.after"
	same "$name: numbered profiles" "$(ls -d "$scratch"/kept.[0-9]* 2>/dev/null)" ""
}
empty kept_delay --delay 3600
contains "kept_delay: why" "$scratch/kept_delay.err" "NOTHING WAS RECORDED: the process ended"
FLAMEGRID_CUPTI=/nonexistent/libcupti.so.13 empty kept_cupti
contains "kept_cupti: why" "$scratch/kept_cupti.err" "INCOMPLETE: 1 of 1 process started CUDA and could not be recorded"
"$flamegrid" run -q -o "$scratch/dropped" --devices "$list" -- env FAKE_CUPTI_DROP=10 "${launches[@]}" >/dev/null 2>"$scratch/dropped.err"
contains "dropped: --quiet says what is lost" "$scratch/dropped.err" "[cupti_dropped]: "
