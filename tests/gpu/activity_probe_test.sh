#!/bin/sh
# usage: activity_probe_test.sh PROBE LIBCUPTI: what fake CUPTI does for two users of the activity API.
set -u
out=$("$1" "$2") || exit 1
failures=0

# step NUMBER TEXT: a line of that step has the text.
step()
{
	if ! printf '%s\n' "$out" | awk -v want="$1" '$1 == "step" { here = ($2 == want ":") } here' | grep -qF -- "$2"; then
		echo "step $1: no '$2'" >&2
		failures=$((failures + 1))
	fi
}

step 1 'stream 15 of context 1: priority -1 flag 2'
step 1 'context 1 device 0 null stream 7 green 0'
step 1 'first : requests 1, completes 1 (foreign 0), records 0 of 10, others 0, contexts 1, streams 8'
step 2 'first : requests 1, completes 1 (foreign 0), records 10 of 10'
step 3 'second: requests 0, completes 1 (foreign 1), records 10 of 10'
step 4 'second: requests 1, completes 1 (foreign 0), records 10 of 10'
step 6 'second: requests 1, completes 1 (foreign 0), records 0 of 10, others 0, contexts 1'
step 7 'second: requests 0, completes 0 (foreign 0), records 0 of 10'
step 8 'first : requests 0, completes 0 (foreign 0), records 0 of 10'
step 9 'first : requests 1, completes 1 (foreign 0), records 0 of 10, others 0, contexts 1'
step 10 'first : requests 1, completes 1 (foreign 0), records 10 of 10'
step 12 'subscribe 39'
step 14 'subscribe 0'
[ "$failures" -eq 0 ]
