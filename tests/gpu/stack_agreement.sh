#!/bin/sh
# Runs a program with stack_agreement.c in the guest's place, and prints its totals.
# usage: stack_agreement.sh libstack_agreement.so LIBCUPTI COMMAND...
# Exit status: 0 no frame differed, and stacks were recognised; 1 otherwise.
set -u

[ $# -ge 3 ] || {
	echo "usage: $0 libstack_agreement.so LIBCUPTI COMMAND..." >&2
	exit 2
}
totals=$(mktemp)
trap 'rm -f "$totals"' EXIT
CUDA_INJECTION64_PATH=$(realpath "$1") AGREEMENT_CUPTI=$2 AGREEMENT_TO=$totals
export CUDA_INJECTION64_PATH AGREEMENT_CUPTI AGREEMENT_TO
shift 2
"$@" >/dev/null || {
	echo "$*: exit status $?" >&2
	exit 1
}
cat "$totals"
for held in ': [1-9][0-9]* recognised), 0 unlike a walk$' '[1-9][0-9]* native frames in .* stacks, 0 unlike backtrace()$' \
	', 0 unlike the interpreter'; do
	grep -q "$held" "$totals" || {
		echo "does not hold: $held" >&2
		exit 1
	}
done
