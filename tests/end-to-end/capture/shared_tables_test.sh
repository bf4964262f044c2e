#!/usr/bin/env bash
# Unwind tables are built once: two processes of a run share them, and a second run takes them all from disk.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
export FAKE_CUDA_DEVICES=2
cache=$scratch/cache

profile() { # with the cache; what is run
	local dir=$1
	shift
	rm -rf "$scratch/profile"
	"$flamegrid" run -q -o "$scratch/profile" --symbol-cache "$dir" --devices "$list" -- "$@" >"$scratch/out" 2>"$scratch/err"
	same "status" $? 0
	"$flamegrid" report "$scratch/profile" --format json 2>/dev/null |
		grep -o 'unwind tables: [0-9]* of [0-9]* files ([0-9]* shared)' >"$scratch/tables"
	check "a notice about the tables" [ -s "$scratch/tables" ]
}
shared() { grep -o '([0-9]*' "$scratch/tables" | tr -d '(' | sort -n | head -1; }
files() { find "$cache" -name '*.unwind' | wc -l; }

profile "$cache" "$fake_launches" --launches 100
first=$(files)
check "the first run keeps tables on disk" [ "$first" -gt 0 ]
check "they are those that it shares" [ "$first" -ge "$(shared)" ]
find "$cache" -name '*.unwind' | sort | xargs stat -c '%i %n' >"$scratch/before"

profile "$cache" sh -c "\"$fake_launches\" --launches 100 & \"$fake_launches\" --launches 100; wait"
check "both processes of the second run share tables" [ "$(shared)" -gt 0 ]
find "$cache" -name '*.unwind' | sort | xargs stat -c '%i %n' >"$scratch/after"
same "and none was built again" "$(comm -23 <(sort "$scratch/before") <(sort "$scratch/after") | wc -l)" 0

for file in "$cache"/*.unwind; do printf 'damage' | dd of="$file" bs=1 seek=40 conv=notrunc status=none; done
profile "$cache" "$fake_launches" --launches 100
check "damaged files are no tables; they are built" [ "$(shared)" -gt 0 ]

profile off "$fake_launches" --launches 100
check "without a cache tables are shared all the same" [ "$(shared)" -gt 0 ]
(ulimit -v 4000000; profile "$cache" "$fake_launches" --launches 100)

refused() { # a path that is no directory of our own
	"$flamegrid" run -o "$scratch/refused" --symbol-cache "$1" --devices "$list" -- "$fake_launches" --launches 100 \
		>"$scratch/out" 2>"$scratch/err"
	same "a run without a cache" $? 0
	same "one line says that $1 is not used" "$(grep -c "not kept in $1" "$scratch/err")" 1
	rm -rf "$scratch/refused"
}
mkdir -m 777 "$scratch/anybody"
chmod 777 "$scratch/anybody"
refused "$scratch/anybody"
: >"$scratch/file"
refused "$scratch/file"
ln -s nowhere "$scratch/link"
refused "$scratch/link"
