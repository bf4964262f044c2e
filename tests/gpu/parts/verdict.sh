# What a check says: a line that begins with "ok" or "NOT OK".
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

ok() { printf 'ok      %s\n' "$*"; }
not_ok() { printf 'NOT OK  %s\n' "$*"; failed=1; }
same() { if [ "$2" = "$3" ]; then ok "$1: $2"; else not_ok "$1: $2, expected $3"; fi; }
at_least() { if [ "$2" -ge "$3" ]; then ok "$1: $2 (at least $3)"; else not_ok "$1: $2, expected at least $3"; fi; }
