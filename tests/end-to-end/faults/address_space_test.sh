#!/usr/bin/env bash
# Under any limit on address space or on file sizes a program runs as it does alone. Its profile is whole, or the run
# names the limit and a value that would do. That value does.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
export FAKE_CUDA_DEVICES=1
launches=("$fake_launches" --launches 100)

# under KIND KIB COMMAND...: the command with `ulimit KIND KIB`.
under() { bash -c 'ulimit "$1" "$2" || exit 99; shift 2; exec "$@"' under "$@"; }

# profiled NAME KIND KIB WORDS: $is is "whole" or "off"; $needed is the value that the run names, in KiB.
profiled() {
	local name=$1 kind=$2 kib=$3 words=$4
	under "$kind" "$kib" "${launches[@]}" 2>/dev/null | sed 's/^ready .*/ready/' >"$scratch/$name.alone"
	"$flamegrid" run -o "$scratch/$name" --symbol-cache off --devices "$list" -- \
		bash -c 'ulimit "$1" "$2" || exit 99; shift 2; exec "$@"' under "$kind" "$kib" "${launches[@]}" \
		>"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: the program's status" $? 0
	same_lines "$name: its output" "$scratch/$name.alone" <(sed 's/^ready .*/ready/' "$scratch/$name.out")
	needed=$(sed -nE 's/.*raise it to ([0-9]+) MiB or more.*/\1/p' "$scratch/$name.err" | head -n 1)
	if grep -q '100 kernels, .* 100.00 % matched; nothing lost;' "$scratch/$name.err"; then
		is=whole
		same "$name: a whole profile needs nothing" "$needed" ''
		return
	fi
	is=off
	contains "$name: the limit" "$scratch/$name.err" "NOTHING WAS RECORDED: $words"
	check "$name: what is needed: $needed MiB" [ "${needed:-0}" -gt $((kib >> 10)) ]
	"$flamegrid" report "$scratch/$name" --strict >/dev/null 2>&1
	same "$name: report --strict" $? 3
	needed=$((${needed:-0} << 10))
}

# each KIND WORDS KIB...: some of these limits, which grow, are too low. Above them all profiles are whole.
each() {
	local kind=$1 words=$2 before=off least=0 kib nr_off=0
	shift 2
	for kib; do
		profiled "limit$kind-$kib" "$kind" "$kib" "${words/KIB/$kib}"
		[ "$before" = off ] || same "limit$kind-$kib: more is never worse" $is whole
		before=$is
		[ $is = whole ] || nr_off=$((nr_off + 1)) least=$needed
	done
	check "$kind: some limits are too low" [ $nr_off -gt 0 ]
	same "$kind: others are not" $is whole
	profiled "needed$kind" "$kind" "$least" "$words"
	same "$kind: the value that is named does" $is whole
}

# The space that is in use differs from run to run by a few pages, so the value that is named has a MiB to spare.
each -v "its limit of virtual memory (ulimit -v, " 60000 80000 120000 160000 200000 220000 250000 300000 340000 380000 \
	420000 440000 460000 500000 560000 640000 720000 800000 1000000 1250000 1500000
each -f "its limit of file sizes (ulimit -f, " 100 1024 4000 20000 100000 1500000
