#!/usr/bin/env bash
# What host threads do, by BPF: beside GPU work, of the guest's process and of those without a guest; and without the right to it, a line and
# a run as if nothing had been asked for. Needs root.
. "$(dirname "$0")/../support/harness.sh"
victim=$BUILD/tests/bpf_victim
list=$(devices 2)
# sum FILE TEXT: the weight of all lines with it.
sum() { awk -v text="$2" 'index($0, text) { s += $NF } END { printf "%.0f\n", s }' "$1"; }

# Processes without a guest; the status is the job's.
"$flamegrid" run -o "$scratch/plain" --cpu-hz 499 --off-cpu 1ms -- "$victim" all 60000000 2>"$scratch/plain.err"
same "plain: status" $? 7
same "plain: processes" "$(sql "$scratch/plain" 'select state, count(*) from processes')" "1	1"
same "plain: the command" "$(sql "$scratch/plain" 'select s.data from processes p join strings s on s.id = p.command')" \
	"$victim all 60000000"
check "plain: works in victim_spin" [ "$(sum "$scratch/plain/cpu.ns.folded" ';victim_spin')" -gt 50000000 ]
for wait in 'victim_lock;.*\[Off-CPU\]futex' 'victim_read;.*\[Off-CPU\]pipe' 'victim_sleep;.*\[Off-CPU\]sleep' 'victim_poll;.*\[Off-CPU\]poll'; do
	check "plain: $wait" grep -q "$wait" "$scratch/plain/offcpu.ns.folded"
done
"$flamegrid" report --strict "$scratch/plain" >"$scratch/plain.table" 2>&1
same "plain: nothing lost (--strict)" $? 0

# A process with a guest is one process, its GPU work exact as ever.
FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=$scratch/truth "$flamegrid" run -o "$scratch/guest" --devices "$list" --cpu-hz 499 --off-cpu 100us -- \
	"$fake_launches" --devices 2 --streams 2 --threads 2 --launches 30000 --kernels 3 >"$scratch/guest.out" 2>"$scratch/guest.err"
same "guest: status" $? 0
compare_with_truth "$scratch/guest" "$scratch/truth" "guest"
same "guest: processes" "$(sql "$scratch/guest" 'select state, count(*) from processes')" "1	1"
check "guest: threads of the launches" grep -q 'launch_from_k.*\[CPU\]' "$scratch/guest/cpu.ns.folded"
# Whoever meets CUDA's libraries first, the samples or the guest: a launch's stack ends where CUDA begins.
same "guest: frames of CUDA's own and the guest's in launch stacks" "$(grep -c 'launch_callback_enter\|on_driver_call' "$scratch/guest/gpu.ns.folded")" 0
samples=$(sql "$scratch/guest" 'select sum(count) from ledger where reason = 34')
check "guest: samples" [ "$samples" -gt 20 ]

# A process that becomes a rank by exec, after it was sampled.
"$flamegrid" run -o "$scratch/exec" --cpu-hz 999 -- bash -c 'for ((i = 0; i < 100000; i++)); do :; done; exec env RANK=5 LOCAL_RANK=1 WORLD_SIZE=8 "$1" spin 100000000' bash "$victim" \
	2>"$scratch/exec.err"
same "exec: status" $? 7
same "exec: who it is in the end" "$(sql "$scratch/exec" 'select rank, local_rank, world_size from processes order by id desc limit 1')" "5	1	8"

# A shell, its children, a pid namespace around all.
"$flamegrid" run -o "$scratch/tree" --cpu-hz 499 -- bash -c "'$victim' spin 100000000; '$victim' spin 100000000 & wait; exit 3" 2>"$scratch/tree.err"
same "tree: status" $? 3
same "tree: processes that work" "$(sql "$scratch/tree" 'select count(*) from processes p join strings s on s.id = p.command where cast(s.data as text) like "%bpf_victim spin%"')" 2
unshare --pid --fork --mount-proc "$flamegrid" run -o "$scratch/namespace" --cpu-hz 499 -- "$victim" spin 100000000 2>"$scratch/namespace.err"
same "pid namespace: status" $? 7
check "pid namespace: works in victim_spin" [ "$(sum "$scratch/namespace/cpu.ns.folded" ';victim_spin')" -gt 50000000 ]
"$flamegrid" run -o "$scratch/inner" --cpu-hz 499 -- unshare --pid --fork --mount-proc "$victim" spin 100000000 2>"$scratch/inner.err"
same "job in a pid namespace: status" $? 7
check "job in a pid namespace: works in victim_spin" [ "$(sum "$scratch/inner/cpu.ns.folded" ';victim_spin')" -gt 50000000 ]

# Without the right to it.
setpriv --bounding-set -sys_admin,-bpf,-perfmon --inh-caps -sys_admin,-bpf,-perfmon \
	"$flamegrid" run -o "$scratch/rights" --cpu-hz 99 --off-cpu 1ms -- "$victim" spin 1000000 2>"$scratch/rights.err"
same "no rights: status" $? 7
contains "no rights: said" "$scratch/rights.err" "CAP_BPF is missing"
same "no rights: said once" "$(grep -c CAP_BPF "$scratch/rights.err")" 1
setpriv --bounding-set -sys_admin,-perfmon --inh-caps -sys_admin,-perfmon \
	"$flamegrid" run -o "$scratch/rights" --cpu-hz 99 -- "$victim" spin 1000000 2>"$scratch/rights.err"
same "half of the rights: status" $? 7
contains "half of the rights: said" "$scratch/rights.err" "CAP_PERFMON is missing"
setpriv --bounding-set -sys_admin,-perfmon --inh-caps -sys_admin,-perfmon \
	"$flamegrid" run --quiet -o "$scratch/rights" --cpu-hz 99 -- "$victim" spin 1000000 2>"$scratch/rights.err"
same "quiet: status" $? 7
same "quiet: warned once all the same" "$(grep -c 'CAP_PERFMON is missing' "$scratch/rights.err")" 1

# What is typed wrong.
for wrong in '--cpu-hz x' '--cpu-hz 10001' '--off-cpu 5q' '--off-cpu 0' '--bpf-buffer 0'; do
	"$flamegrid" run -o "$scratch/wrong" $wrong -- true 2>"$scratch/wrong.err"
	same "$wrong: status" $? 125
	contains "$wrong: said" "$scratch/wrong.err" "${wrong% *}"
done
