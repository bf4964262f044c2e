#!/usr/bin/env bash
# kill -9 of a step's own aggregator while its ranks launch: another one goes on with the same profile, which is exact and has its reports.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime FAKE_CUDA_DEVICES=1
mkdir -m 700 "$XDG_RUNTIME_DIR"
list=$(devices 1)
at_end() { kill -9 $(jobs -p) 2>/dev/null; }

# The process that holds the profile open: there may be others of that name on this machine.
aggregator() {
	local pid
	for pid in $(pgrep -x flamegrid-job); do
		ls -l "/proc/$pid/fd" 2>/dev/null | grep -qF "$scratch/prof/profile.db" && echo "$pid"
	done
}
# Another one than $1, which may take a moment to come.
other_aggregator() {
	local pid= i
	for i in $(seq 600); do
		pid=$(aggregator)
		[ -n "$pid" ] && [ "$pid" != "$1" ] && break
		read -rt 0.1 <>"$scratch/never"
	done
	echo "$pid"
}

# How many kernels are in the profile by now.
stored() { "$flamegrid" report "$scratch/prof" --weight count 2>/dev/null | awk '{ n += $NF } END { printf "%.0f\n", n }'; }

mkfifo "$scratch/progress" "$scratch/never" "$scratch/gate"
exec 4<>"$scratch/gate"
for r in 0 1; do
	progress=()
	[ $r = 1 ] && progress=(--progress "$scratch/progress")
	PMIX_NAMESPACE=killed OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 \
		FAKE_CUDA_TRUTH=$scratch/truth.$r timeout 300 "$flamegrid" run --node-name "node$r" --devices "$list" \
		-o "$scratch/prof" -- sh -c 'gate=$1; shift; "$@"; read -r _ <"$gate"' sh "$scratch/gate" \
		"$fake_launches" --launches 60000 --streams 2 --kernels 3 "${progress[@]}" \
		>"$scratch/out.$r" 2>"$scratch/err.$r" &
	rank[$r]=$!
done
kills=0 last=
while read -r _pid launched <&3; do
	if [ "$launched" -ge $((10000 * (kills + 1))) ] && [ $kills -lt 2 ]; then
		last=$(other_aggregator "$last")
		kill -9 "$last" && kills=$((kills + 1))
	fi
done 3<"$scratch/progress"
# A rank that has ended waits two seconds for its last records to be stored. On a loaded machine another aggregator may come later.
for i in $(seq 600); do
	[ "$(stored)" = 120000 ] && break
	read -rt 0.1 <>"$scratch/never"
done
# Another step of this user removes rendezvous files that nobody has locked.
lock='import fcntl, struct, sys
try:
    fcntl.fcntl(open(sys.argv[1], "r+"), 37, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0)) # F_OFD_SETLK
    print("free")
except BlockingIOError:
    print("held")'
same "the lock of the rendezvous" "$(python3 -c "$lock" "$scratch"/*rendezvous)" held
printf 'go\ngo\n' >&4
for r in 0 1; do
	wait ${rank[$r]}
	same "rank $r: status" $? 0
done
same "kills" $kills 2
same "each is told" "$(grep -c 'signal 9 .* started again on its profile' "$scratch/err.0")" 2
cat "$scratch"/truth.? >"$scratch/truth"
compare_with_truth "$scratch/prof/profile.db" "$scratch/truth" "after $kills kills"
"$flamegrid" report "$scratch/prof" --strict >/dev/null 2>"$scratch/strict"
same "report --strict" $? 0
check "reports are written" [ -s "$scratch/prof/flame.html" ]
same "what is left of the rendezvous" "$(ls "$scratch" | grep -c rendezvous)" 0
