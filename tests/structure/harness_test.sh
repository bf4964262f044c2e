#!/usr/bin/env bash
# The harness of the scripts in end-to-end/: each of these small scripts must fail, or pass.
. "$(dirname "$0")/../end-to-end/support/harness.sh"
export TMPDIR=$scratch
harness=$(realpath "$(dirname "$0")")/../end-to-end/support/harness.sh

# ends WHAT STATUS SCRIPT: with the harness before it, that script ends with this status.
ends() {
	printf '. "%s"\nok begin\n%s\n' "$harness" "$3" >"$scratch/script.sh"
	BUILD=$BUILD bash "$scratch/script.sh" >"$scratch/script.out" 2>&1
	same "$1" $? "$2"
}
ends "all is well" 0 true
ends "a check that fails" 1 'not_ok here'
ends "a check that fails in a subshell" 1 '( not_ok here )'
ends "a script that does not come to its end" 1 'echo "$no_such"'
RANK=3 FAKE_CUDA_TRUTH=$scratch/truth "$flamegrid" run -q -o "$scratch/p" --devices "$(devices 1)" -- "$fake_launches" \
	--launches 10 >/dev/null
time=$(truth_sum valid_ns "$scratch/truth")
same "all ns" "$(total_ns "$scratch/p")" "$time"
same "a rank's ns" "$(rank_ns "$scratch/p" 3) $(rank_ns "$scratch/p" 4)" "$time 0"
same "ranks" "$(groups "$scratch/p" rank)" rank3
same "nothing lost" "$(ledger "$scratch/p" launch_ring_full)" 0
same "no text is left behind" "$(find "$scratch" -name '.report.*' | wc -l)" 0
for figure in "ledger /nowhere launch_ring_full" "total_ns /nowhere" "rank_ns /nowhere 0" "groups /nowhere rank"; do
	ends "no report, so no 0: $figure" 1 "same x \"\$($figure)\" 0"
	ends "nor nothing: $figure" 1 "same x \"\$($figure)\" ''"
	ends "nor what another one has: $figure" 1 "same x \"\$($figure)\" \"\$($figure)\""
done
