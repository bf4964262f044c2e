#!/usr/bin/env bash
# Samples of host threads one by one: as many lines as samples, in order of time, that add up to the planes exactly. Needs root.
. "$(dirname "$0")/../support/harness.sh"
own_build
victim=$BUILD/tests/bpf_victim
export LC_ALL=C
pid=''
at_end() { [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; }

# whole NAME: the samples of the profile $scratch/NAME, as lines in NAME.samples, are all there, and as documented.
whole() {
	local have
	"$flamegrid" report --strict --format samples "$scratch/$1" >"$scratch/$1.samples" 2>"$scratch/$1.report"
	same "$1: nothing lost (--strict)" $? 0
	have=$(wc -l <"$scratch/$1.samples")
	check "$1: samples" [ "$have" -ge "$2" ]
	same "$1: a line a sample of the ledger" "$have" "$(sql "$scratch/$1" \
		'select sum(case reason when 34 then count else -count end) from ledger where reason in (34, 35)')"
	same "$1: lines that are not as documented" \
		"$(grep -Evc '^[0-9]{10}\.[0-9]{9} [^ ;]+ [0-9]+ [0-9]+ [0-9]+ ([^;]+;)+\[(CPU|Off-CPU|GPU_Launch)\][^;]*$' "$scratch/$1.samples")" 0
	check "$1: in order of time" sort --check -n -k1,1 "$scratch/$1.samples"
	check "$1: not before the run" [ "$(head -n 1 "$scratch/$1.samples" | cut -d. -f1)" -ge "$began" ]
	check "$1: not after the run" [ "$(tail -n 1 "$scratch/$1.samples" | cut -d. -f1)" -le "$(date +%s)" ]
	cut -d' ' -f6- "$scratch/$1.samples" | sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)/\2 \1/' | sort >"$scratch/$1.counted"
	"$flamegrid" report --planes cpu,offcpu,calls --weight count "$scratch/$1" 2>/dev/null | sort >"$scratch/$1.folded"
	same_lines "$1: by stack, as the planes" "$scratch/$1.counted" "$scratch/$1.folded"
	same "$1: sums that differ" "$(sql "$scratch/$1" 'select count(*) from (select process, tid, kind, node, name, count, ns from host_samples
		except select process, tid, kind, node, name, count(*), sum(duration_ns) from raw_samples group by 1, 2, 3, 4, 5)')" 0
}
# column NAME NUMBER PATTERN: what stands there in lines with the pattern, each once.
column() { grep -- "$3" "$scratch/$1.samples" | cut -d' ' -f"$2" | sort -u | paste -sd, -; }

began=$(date +%s)
last=$(($(nproc) - 1))
cp "$victim" "$scratch/my; victim"
"$flamegrid" run -o "$scratch/threads" --cpu-hz 499 --off-cpu 1ms --raw-samples on -- \
	taskset -c $last "$scratch/my; victim" all 100000000 2>"$scratch/threads.err"
same "threads: status" $? 7
whole threads 50
same "threads: the command" "$(column threads 2 ';victim_spin;')" 'my\x3b\x20victim'
same "threads: the CPU" "$(column threads 5 ';victim_')" $last
same "threads: the process" "$(column threads 3 ';victim_spin;\[CPU\]')" "$(column threads 4 ';victim_spin;\[CPU\]')"
check "threads: a thread of its own" [ "$(column threads 4 ';play_peer;')" != "$(column threads 3 ';play_peer;')" ]
check "threads: says why it waited" grep -q ';victim_sleep;.*\[Off-CPU\]sleep$' "$scratch/threads.samples"

# Calls: the CPU is that of the entry.
mkfifo "$scratch/orders" "$scratch/answers"
taskset -c 0 "$flamegrid" run -o "$scratch/calls" --host-calls on --raw-samples on -- "$BUILD/tests/call_victim" \
	<"$scratch/orders" >"$scratch/answers" 2>"$scratch/calls.err" &
pid=$!
exec 3>"$scratch/orders" 4<"$scratch/answers"
mkfifo "$scratch/nothing"
order() { echo "$@" >&3; read -r calls _ <&4; }
order load "$BUILD/lib/fake-cuda/libcudart.so.13"
until order probed && [ "$calls" = 1 ]; do read -r -t 0.05 _ <>"$scratch/nothing"; done
order rounds 20
echo end >&3
exec 3>&- 4<&-
wait $pid
same "calls: status" $? 7
pid=''
whole calls 80
same "calls: of a function" "$(grep -c ';victim_launch;\[GPU_Launch\]cudaLaunchKernel$' "$scratch/calls.samples")" 20
same "calls: the command" "$(column calls 2 GPU_Launch)" call_victim
same "calls: the CPU" "$(column calls 5 GPU_Launch)" 0

# Off if it is not asked for.
"$flamegrid" run -o "$scratch/off" --cpu-hz 499 -- "$victim" spin 50000000 2>/dev/null
"$flamegrid" report --format samples "$scratch/off" >"$scratch/off.samples" 2>"$scratch/off.err"
same "off: status" $? 0
same "off: lines" "$(wc -l <"$scratch/off.samples")" 0
contains "off: said" "$scratch/off.err" "--raw-samples on"

# What is typed wrong, or is somebody else's.
"$flamegrid" run --raw-samples yes -- true 2>"$scratch/wrong.err"
same "run --raw-samples yes: status" $? 125
contains "run --raw-samples yes: said" "$scratch/wrong.err" "--raw-samples yes"
"$BUILD/bin/flamegrid-aggregator" --listen "ipc://$scratch/a" --store "$scratch/a.db" --raw-samples yes 2>"$scratch/wrong.err"
same "flamegrid-aggregator --raw-samples yes: status" $? 2
"$flamegrid" run --raw-samples on --dormant -- true 2>"$scratch/wrong.err"
contains "run --raw-samples on --dormant: said" "$scratch/wrong.err" "--raw-samples is an option of the aggregator"
