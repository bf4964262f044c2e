#!/usr/bin/env bash
# A run ends before a process of its job does: all that the process launched until then is in the profile, or the
# profile says that it is not.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
export FAKE_CUDA_LAUNCH_NS=50000
job=
at_end() { [ -z "$job" ] || kill -9 "$job" 2>/dev/null; }

# leave NAME [COMMAND]: a run whose command ends when the process in the background has launched. Before that it does
# COMMAND.
leave() {
	mkfifo "$scratch/progress.$1"
	FAKE_CUDA_DEVICES=1 "$flamegrid" run --devices "$list" -o "$scratch/$1" -- \
		sh -c '"$1" --forever --progress "$2" & read -r job _ <"$2"; echo "job $job"; eval "$3"' \
		sh "$fake_launches" "$scratch/progress.$1" "${2:-:}" >"$scratch/$1.out" 2>"$scratch/$1.err"
	job=$(sed -n "s/^job //p" "$scratch/$1.out")
	"$flamegrid" report "$scratch/$1" --strict >/dev/null 2>"$scratch/$1.verdict"
	strict=$?
}

# total NAME WHAT: of the report.
total() { "$flamegrid" report "$scratch/$1" --format json | tr -d ' \n' | sed -n "s/.*\"totals\":{[^}]*\"$2\":\([0-9]*\).*/\1/p"; }

# Longer than between two flushes of CUPTI, and not by a multiple of them.
leave whole 'sleep 0.8'
same "whole: report --strict" $strict 0
contains "whole: verdict" "$scratch/whole.verdict" "nothing lost while it was recorded, and 1 process ran on after that"
same "whole: launches without a record" "$(ledger "$scratch/whole" launch_expired)" 0
check "whole: there are kernels" [ "$(total whole kernels)" -gt 0 ]
same "whole: a kernel for each launch" "$(total whole kernels)" "$(total whole launches)"
kill -9 "$job"

# Kernels that take a second: there are always some without a record.
FAKE_CUDA_KERNEL_NS=$(printf 'k%d=1000000000,' 0 1 2 3 4) leave stopped 'kill -STOP $job'
same "stopped: report --strict" $strict 3
contains "stopped: verdict" "$scratch/stopped.verdict" "INCOMPLETE: 1 of 1 process ran on when the recording was cut off"
same "stopped: launches without a record" "$(ledger "$scratch/stopped" launch_expired)" 0
check "stopped: they are lost" [ "$(ledger "$scratch/stopped" launch_undelivered)" -gt 0 ]
