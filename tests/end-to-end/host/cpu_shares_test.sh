#!/usr/bin/env bash
# CPU samples beside perf's of the same run: the shares of the ten stacks agree within three standard errors.
. "$(dirname "$0")/../support/harness.sh"
spin=$BUILD/tests/spin_functions

# Both samplers at once; $scratch/ours and theirs: a count and a stack from main on.
sample_twice() {
	perf record -q -o "$scratch/perf.data" -e cpu-clock -F 997 -g -- \
		"$flamegrid" run -q --cpu-hz 997 -o "$scratch/profile" -- "$spin" 4 >"$scratch/record.out" 2>&1 || return
	perf script -i "$scratch/perf.data" --comm spin_functions -F ip,sym 2>/dev/null | awk '
		function end() { if (stack ~ /^main;by_[a-z]*;spin_[0-9]$/) count[stack]++; stack = "" }
		NF < 2 { end(); done = 0; next }
		!done { stack = stack == "" ? $2 : $2 ";" stack; done = $2 == "main" }
		END { end(); for (s in count) print count[s], s }' | sort -k2 >"$scratch/theirs"
	"$flamegrid" report "$scratch/profile" --planes cpu --weight count --lines off 2>/dev/null |
		sed -n 's/^.*;\(main;by_[a-z]*;spin_[0-9]\);\[CPU\] \([0-9]*\)$/\2 \1/p' | sort -k2 >"$scratch/ours"
}
# Lines of stacks whose shares differ by more; and how many stacks both have.
differences() {
	python3 - "$scratch/ours" "$scratch/theirs" <<'PY'
import sys
ours, theirs = ({stack: int(n) for n, stack in (line.split() for line in open(path))} for path in sys.argv[1:])
n, m = sum(ours.values()), sum(theirs.values())
print('stacks', len(set(ours) & set(theirs)), len(set(ours) ^ set(theirs)))
print('samples', n, m)
for stack in sorted(set(ours) & set(theirs)):
    p, q = ours[stack] / n, theirs[stack] / m
    mean = (ours[stack] + theirs[stack]) / (n + m)
    error = (mean * (1 - mean) * (1 / n + 1 / m)) ** 0.5
    print('%-9s %-28s ours %.4f perf %.4f standard error %.4f' % ('differs' if abs(p - q) > 3 * error else 'agrees', stack, p, q, error))
PY
}

# One of ten shares is outside of three standard errors by chance in one run of forty: then it is so once.
for attempt in 1 2 3; do
	sample_twice || { not_ok "perf: $(tail -n 2 "$scratch/record.out")"; break; }
	differences >"$scratch/differences"
	cat "$scratch/differences"
	grep -q '^differs' "$scratch/differences" || break
done
same "the ten stacks, and no others" "$(sed -n 's/^stacks //p' "$scratch/differences")" "10 0"
check "samples of ours" [ "$(awk '$1 == "samples" { print $2 }' "$scratch/differences")" -ge 500 ]
check "samples of perf's" [ "$(awk '$1 == "samples" { print $3 }' "$scratch/differences")" -ge 500 ]
same "shares that differ by more than three standard errors" "$(grep -c '^differs' "$scratch/differences")" 0
