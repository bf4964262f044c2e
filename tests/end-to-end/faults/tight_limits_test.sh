#!/usr/bin/env bash
# Where limits of a process are tight, the command runs under `flamegrid run` and ends as it does alone. If it cannot be
# recorded, the run names the limit.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 1)
export FAKE_CUDA_DEVICES=1
program=("$fake_launches" --launches 100)

# limited NAME ULIMIT...: the program alone, and in a run, under this limit. The status of both is the program's.
limited() {
	local name=$1
	shift
	(ulimit "$@" && exec "${program[@]}") >"$scratch/alone" 2>&1
	same "$name: the program alone" $? 0
	(ulimit "$@" && exec "$flamegrid" run -q -o "$scratch/$name" --devices "$list" -- sh -c '"$@"; exit 7' sh "${program[@]}") \
		>"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: the command's status" $? 7
	contains "$name: the command ran" "$scratch/$name.out" "failed 0"
}

# unprofiled NAME WORDS ULIMIT...: the run says why.
unprofiled() {
	local name=$1 words=$2
	shift 2
	limited "$name" "$@"
	contains "$name: the limit is named" "$scratch/$name.err" "$words"
	contains "$name: the run says that nothing is recorded" "$scratch/$name.err" " runs unprofiled"
	check "$name: no profile" [ ! -e "$scratch/$name" ]
}

for kib in 64 128 256; do
	limited "stack-$kib" -s $kib
	(ulimit -s $kib && exec "$flamegrid" report "$scratch/stack-$kib" --format folded --weight count) >"$scratch/folded"
	same "stack-$kib: the report's status" $? 0
	same "stack-$kib: kernels" "$(awk '{ sum += $NF } END { print sum }' "$scratch/folded")" 100
done
for number in 8 9 32 44; do
	unprofiled "files-$number" "the limit of open files (ulimit -n, $number) leaves" -n $number
done
for kib in 10000 20000; do
	unprofiled "data-$kib" "the limit of data (ulimit -d, $kib KiB) leaves too little memory" -d $kib
done
# The limit is the command's own.
"$flamegrid" run -q -o "$scratch/data" --devices "$list" -- sh -c 'ulimit -d 60000; exec "$@"' sh "${program[@]}" \
	>"$scratch/data.out" 2>"$scratch/data.err"
same "the command's own limit of data: its status" $? 0
contains "the command's own limit of data: it ran" "$scratch/data.out" "failed 0"
contains "the command's own limit of data is named" "$scratch/data.err" "the limit of data is 60000 KiB (ulimit -d)"
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$scratch"
	mkdir -m 777 "$scratch/open"
	(ulimit -u 3 && exec setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$flamegrid" run -q -o "$scratch/open/threads" --devices "$list" -- sh -c 'exit 7') 2>"$scratch/threads.err"
	same "threads: the command's status" $? 7
	contains "threads: the limit is named" "$scratch/threads.err" "(ulimit -u, 3) leaves"
fi
(ulimit -n 9 && exec "$flamegrid" run --strict -q -o "$scratch/strict" --devices "$list" -- touch "$scratch/ran") 2>"$scratch/strict.err"
contains "--strict: said" "$scratch/strict.err" "not started (--strict)"
check "--strict: the command did not run" [ ! -e "$scratch/ran" ]
