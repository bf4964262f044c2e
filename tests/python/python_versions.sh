#!/bin/sh
# Compares the guest's reading of Python frames with each interpreter's own, one line of totals each.
# usage: python_versions.sh libpython_probe.so INTERPRETER...
#
# An INTERPRETER is the path of a python3 with ctypes; it needs no headers and nothing installed. The library (target
# inject_python_probe, BUILD/tests/libpython_probe.so) needs libc alone, so that it, this script and the three python_*.py
# may be copied to wherever an interpreter is. SCALE=10 compares ten times as much.
set -u

[ $# -ge 2 ] || {
	echo "usage: $0 libpython_probe.so INTERPRETER..." >&2
	exit 2
}
library=$1
shift
folder=$(dirname "$0")
failures=0
for interpreter in "$@"; do
	echo "== $interpreter"
	"$interpreter" "$folder/python_frames_test.py" "$library" "${SCALE:-1}" || {
		echo "$interpreter: exit status $?" >&2
		failures=$((failures + 1))
	}
done
exit "$failures"
