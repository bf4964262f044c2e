#!/usr/bin/env bash
# Prints how many lines of each parser its target's seeds reach, and the inputs that were found from them; the top of the tree:
#	tests/fuzz/coverage.sh BUILD [missed]	(BUILD: as CONTRIBUTING.md makes it, after ctest -L fuzz there)
# Functions that parsers.txt has behind a file are left out. With "missed": prints each function that was reached in part.
set -eu

build=$1 wanted=${2:-table}
tool() { command -v "$1-14" || command -v "$1"; } # clang's profiles are read by the tools of its own version
profdata=$(tool llvm-profdata) cov=$(tool llvm-cov)
here=tests/fuzz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
objects=()
for target in "$build"/bin/*_fuzz; do
	name=$(basename "$target" _fuzz)
	seeds=()
	for folder in "$build/tests/fuzz/found/$name" "$build/tests/fuzz/made/$name" "$here/corpus/$name"; do
		[ ! -d "$folder" ] || seeds+=("$folder")
	done
	[ "$name" != line ] || seeds+=("$build/tests/fuzz/made/elf")
	if ! LLVM_PROFILE_FILE=$work/$name.profraw "$target" -runs=0 -max_len=131072 -rss_limit_mb=3000 "${seeds[@]}" \
		>"$work/log" 2>&1; then
		cat "$work/log" >&2
		exit 1
	fi
	objects+=(-object "$target")
done
"$profdata" merge -sparse "$work"/*.profraw -o "$work/all"
# A line belongs to the function that began last.
"$cov" export -format=lcov -instr-profile "$work/all" "${objects[@]:1}" >"$work/lines"
awk -F '[:,]' -v wanted="$wanted" '
	FNR == NR { if (!/^#/) { n = split($0, names, " "); order[++nr] = names[1]
			for (i = 2; i <= n; i++) other[names[1], names[i]] = 1 }
		next }
	/^SF:/ { file = name = ""; delete begins
		for (i = 1; i <= nr; i++) if (substr($2, length($2) - length(order[i])) == "/" order[i]) file = order[i]
		next }
	file == "" { next }
	/^FN:/ { begins[$2] = $NF }
	/^DA:/ { if ($2 in begins) name = begins[$2]
		if (name == "") next # a macro, which is counted where it is used
		is_other = (file, name) in other
		if (wanted == "missed" && $3 == 0) { key = file " " name; gone[key] = gone[key] " " $2
			if (is_other) gone[key " (not parsing)"] = "" }
		if (!is_other) { lines[file]++; hit[file] += $3 > 0 } }
	END { if (wanted == "missed") { for (key in gone) print key gone[key]; exit }
		for (i = 1; i <= nr; i++) { file = order[i]
			printf "| `%s` | %d | %d | %.1f |\n", file, lines[file], hit[file],
				lines[file] ? 100 * hit[file] / lines[file] : 0 } }' $here/parsers.txt "$work/lines"
