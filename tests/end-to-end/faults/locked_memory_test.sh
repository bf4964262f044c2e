#!/usr/bin/env bash
# A program that locks its memory with mlockall() is profiled whole, and the guest brings little into memory: before
# CUDA starts the lock is for all mappings to come, later it is for those that exist, too. Needs the right to lock memory.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
export FAKE_CUDA_DEVICES=1

# Whoever may not lock all the memory of a program alone learns nothing here.
"$fake_launches" --launches 1 --lock after >/dev/null 2>&1 || {
	ok 'not run: memory may not be locked here (ulimit -l)'
	exit 0
}

# more NAME KEY: how much more of KEY, in KiB, the profiled process has at its end than the one alone.
more() {
	local alone profiled
	alone=$(awk -v key="$2" '$1 == key { print $2 }' "$scratch/$1.alone")
	profiled=$(awk -v key="$2" '$1 == key { print $2 }' "$scratch/$1.out")
	[ "${alone:-0}" -gt 0 ] && [ "${profiled:-0}" -gt 0 ] && echo $((profiled - alone))
}

# locked WHEN THREADS KIB: the guest brings in at most so much.
locked() {
	local when=$1 threads=$2 most=$3 name=locked-$1-$2 resident
	local launches=("$fake_launches" --threads "$threads" --launches 100 --lock "$when")
	"${launches[@]}" >"$scratch/$name.alone"
	same "$name: the program's status alone" $? 0
	"$flamegrid" run -o "$scratch/$name" --symbol-cache off --devices "$list" -- "${launches[@]}" \
		>"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: the program's status" $? 0
	check "$name: its profile is whole" \
		grep -q "$((100 * threads)) kernels, .* 100.00 % matched; nothing lost;" "$scratch/$name.err"
	resident=$(more "$name" resident)
	check "$name: $resident KiB more are resident" [ "${resident:-$((most + 1))}" -le "$most" ]
}

for threads in 1 8; do
	locked before $threads $((40 << 10))
	locked after $threads $((400 << 10))
done
