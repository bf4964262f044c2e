#!/usr/bin/env bash
# Programs that live and end in many ways: exit status, standard output and standard error are, byte for byte, what they
# are without us, under `flamegrid run` and with the bare injection library and an agent that is a daemon. What
# `flamegrid run` itself says on standard error is set apart. A hang fails.
# Argument: which programs.
. "$(dirname "$0")/../support/harness.sh"
group=$1
rounds=$(rounds 3 25)
limit=60
list=$(devices 1)
life=$BUILD/tests/process_life
inject=$BUILD/lib/libflamegrid_inject.so
export FAKE_CUDA_DEVICES=1 LIFE_LIBRARY=$BUILD/tests/libprocess_life_library.so LIFE_PIPE=$scratch/pipe
chmod 755 "$scratch"
mkdir -m 777 "$scratch/truth"
mkfifo -m 666 "$scratch/pipe"
agent= daemon= helper=

start() {
	mkfifo "$scratch/ready"
	"$@" 2> >(tee -p "$scratch/ready" >>"$scratch/daemons.log") &
	started=$!
	grep -m1 -q 'listening on' "$scratch/ready"
	rm -f "$scratch/ready"
}
start_daemons() {
	start "$BUILD/bin/flamegrid-aggregator" --listen "ipc://$scratch/aggregator" --store "$scratch/all.db"
	daemon=$started
	start "$BUILD/bin/flamegrid-agent" --connect "ipc://$scratch/aggregator" --socket "$scratch/agent" \
		--devices "$list" --any-user --symbol-cache off
	agent=$started
}
at_end() {
	kill -9 $daemon $agent $helper
	wait $daemon $agent $helper
} 2>/dev/null

# one NAME HOW COMMAND...: runs it plain, run or bare, into NAME.HOW.{status,out,err}. What a daemon says in the end
# comes through the pipe.
one() {
	local at=$scratch/$1.$2 how=$2 name=$1
	shift 2
	local -a under=()
	rm -f "$scratch/truth"/*
	rm -rf "$scratch/profile" # an empty run leaves an earlier one
	case $how in
	run) under=("$flamegrid" run -q -o "$scratch/profile" --devices "$list" --) ;;
	bare) under=(env CUDA_INJECTION64_PATH="$inject" FLAMEGRID_SOCKET="${socket:-$scratch/agent}") ;;
	esac
	case $name in *daemon) timeout $limit cat "$scratch/pipe" >"$at.pipe" & ;; esac
	# The outer shell says nothing about signals; the inner one is not there.
	(FAKE_CUDA_TRUTH=$scratch/truth/%p timeout -k 5 $limit "${under[@]}" "$@" >"$at.out" 2>"$at.err" </dev/null; exit $?) 2>/dev/null
	printf '%d\n' $? >"$at.status"
	case $name in *daemon) wait $! && cat "$at.pipe" >>"$at.out" ;; esac
	grep -E '^flamegrid(-agent)?: ' "$at.err" >"$at.said"
	[ "$how" = run ] && sed -i -E '/^flamegrid(-agent)?: /d' "$at.err"
}

# Whether two runs are the same; says what differs.
equal() {
	local part
	for part in status out err; do
		cmp -s "$scratch/$1.plain.$part" "$scratch/$1.$2.$part" && continue
		printf '# %s, %s: %s differs:\n' "$1" "$2" $part
		diff "$scratch/$1.plain.$part" "$scratch/$1.$2.$part" | head -n 6
		return 1
	done
}

# Every process that came as far as its exit handlers has told the truth; then nothing else may be in the profile.
# What ran and is not folded is counted.
accounts_balance() {
	local want have ran folded lost
	want=$(awk '/^#launch/ { sum += $2 } END { printf "%.0f\n", sum }' "$scratch"/truth/*)
	have=$("$flamegrid" report "$scratch/profile" --format json 2>/dev/null | tr -d ' \n' | grep -o '"launches":[0-9]*' |
		head -n 1 | grep -o '[0-9]*')
	ran=$(truth_sum ran_count "$scratch"/truth/*)
	folded=$("$flamegrid" report "$scratch/profile" --format folded --weight count 2>/dev/null | awk '{ sum += $NF } END { printf "%.0f\n", sum }')
	lost=0
	for reason in record_ring_full invalid_time still_running cupti_dropped; do
		lost=$((lost + $(ledger "$scratch/profile" $reason)))
	done
	[ "$want" = "$have" ] && [ "$ran" = $((folded + lost)) ] && return
	printf '# launches %s, in the ledger %s; ran %s, folded %s, lost %s\n' "$want" "$have" "$ran" "$folded" "$lost"
	return 1
}

# sample NAME EXACT COMMAND...
sample() {
	local name=$1 exact=$2 round=0 bad=0 unbalanced=0
	shift 2
	one "$name" plain "$@"
	while ((round++ < rounds)); do
		one "$name" run "$@"
		equal "$name" run || bad=$((bad + 1))
		if [ "$exact" = exact ] && [ $round -le 3 ]; then accounts_balance || unbalanced=$((unbalanced + 1)); fi
		one "$name" bare "$@"
		equal "$name" bare || bad=$((bad + 1))
	done
	same "$name, $rounds times each way: status $(cat "$scratch/$name.plain.status"), runs that differ" $bad 0
	[ "$exact" = exact ] && same "$name: profiles that do not hold what ran" $unbalanced 0
	mv "$scratch/$name.run.said" "$scratch/said"
	rm -f "$scratch/$name".*
}

# The programs whose every process ends with a goodbye.
is_exact() {
	case $1 in
	good | nonzero | returns-in-flight | exit-elsewhere | main-leaves-first | initializes-only | closed-streams | \
		closes-everything | child-exits | child-leaves | child-is-killed | child-tries-cuda | child-execs | \
		only-child-works | forks-while-launching | vforks | spawns | clones-with-memory | clones-bare | asks-the-shell | \
		waits-for-any | threads-leave-records | 512-threads | cancelled-threads | \
		library-comes-and-goes | alarms | profiler-signals | other-stack | launches-on-other-stack | \
		jumps-out-of-abort | keeps-errno | keeps-its-mode | gone-directory | own-pids | no-dump | small-stack | \
		thread-of-least-stack | endless-stack | no-locked-memory | tiny-stack) echo exact ;;
	*) echo - ;;
	esac
}

if [ "$(id -u)" -eq 0 ]; then needs_root=1; else needs_root=0; fi
if [[ $group =~ ^[0-9]$ ]]; then
	start_daemons
	count=0
	while read -r number name; do
		[ "$number" = "$group" ] || continue
		case $name in empty-root | no-proc | own-pids | other-user) [ $needs_root = 1 ] || continue ;; esac
		sample "$name" "$(is_exact "$name")" "$life" "$name"
		[ "$name" = least-address-space ] &&
			contains "$name: the run says why nothing was recorded" "$scratch/said" "NOTHING WAS RECORDED: its limit of virtual memory (ulimit -v, 67108864 bytes"
		count=$((count + 1))
		# Its truth is not told; its last flush and its goodbye are.
		if [ "$name" = quick ]; then
			one quick run "$life" quick
			same "quick: unclean ends" "$(ledger "$scratch/profile" unclean_end 2>/dev/null)" 0
			same "quick: kernels" "$("$flamegrid" report "$scratch/profile" --format folded --weight count 2>/dev/null |
				awk '{ sum += $NF } END { printf "%.0f\n", sum }')" 200
		fi
	done < <("$life")
	check "$count programs" [ $count -gt 4 ]
	exit 0
fi
[ "$group" = others ] || { not_ok "unknown programs: $group"; exit 0; }
start_daemons
sample static-runtime exact "$BUILD/tests/process_life_static" good
sample driver-only exact "$BUILD/tests/process_life_driver"
sample driver-in-child exact "$BUILD/tests/process_life_driver" child
sample driver-after-its-end exact "$BUILD/tests/process_life_driver" after
"$BUILD/tests/process_life_driver" child >"$scratch/out"
contains "a forked child cannot use CUDA" "$scratch/out" "in a forked child: 3"
"$BUILD/tests/process_life_driver" after >"$scratch/out"
contains "CUDA ends before the first handlers" "$scratch/out" "after CUDA's exit handler: 4"
python=$(dirname "$0")/process_life/life_python.py
for how in threads spawn fork; do
	sample "python-$how" - python3 "$python" $how
done

# A program with more rights than its caller takes no library and no socket from him.
if [ $needs_root = 1 ]; then
	cp "$life" "$scratch/setuid"
	chown 65534 "$scratch/setuid"
	chmod 4755 "$scratch/setuid"
	sample setuid - "$scratch/setuid" good
	rm -rf "$scratch/profile" # a run that records nothing leaves what is there
	one setuid run "$scratch/setuid" good
	same "setuid: processes in the profile" "$("$flamegrid" report "$scratch/profile" --format json 2>/dev/null |
		grep -c '"command":')" 0
fi

# Whatever the socket is, the program runs, soon.
bare_only() {
	local name=$1 round=0 bad=0
	one "$name" plain "$life" good
	while ((round++ < rounds)); do
		one "$name" bare "$life" good
		equal "$name" bare || bad=$((bad + 1))
	done
	same "$name, $rounds times: runs that differ" $bad 0
}
python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])' "$scratch/stale"
socket=$scratch/stale bare_only nobody-listens
socket=$scratch/missing bare_only no-socket
: >"$scratch/file"
socket=$scratch/file bare_only no-socket-but-a-file
socket=$scratch bare_only no-socket-but-a-folder
rounds_before=$rounds
rounds=2
# listen PATH BACKLOG: a socket that connections wait at for ever.
listen() {
	mkfifo "$scratch/up"
	python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
s.listen(int(sys.argv[2]))
print("up", flush=True)
while True:
	time.sleep(1000)' "$1" "$2" >"$scratch/up" &
	helper=$!
	read -r _ <"$scratch/up"
	rm "$scratch/up"
}
listen "$scratch/silent" 100
socket=$scratch/silent bare_only an-agent-that-never-answers
{ kill $helper; wait $helper; } 2>/dev/null
# Two more than fit, so that it is connecting that waits.
listen "$scratch/deaf" 0
for _ in 1 2 3; do socket=$scratch/deaf one deaf bare "$life" good; done
socket=$scratch/deaf bare_only an-agent-that-never-accepts
{ kill $helper; wait $helper; } 2>/dev/null
helper=
rounds=$rounds_before

# The agent dies in the middle: the program does not mind.
mkfifo "$scratch/progress"
CUDA_INJECTION64_PATH=$inject FLAMEGRID_SOCKET=$scratch/agent "$fake_launches" --threads 2 --launches 40000 \
	--progress "$scratch/progress" >"$scratch/out" 2>"$scratch/err" &
job=$!
exec 3<"$scratch/progress"
read -r _ <&3
kill -9 $agent
wait $agent 2>/dev/null
cat <&3 >/dev/null
exec 3<&-
wait $job
same "agent killed in mid-run: status" $? 0
same "agent killed in mid-run: errors" "$(cat "$scratch/err")" ""
contains "agent killed in mid-run: all launched" "$scratch/out" "failed 0"

# Many short processes: all in the profile; run's descriptors and memory do not grow with them.
many=$(rounds 400 1000)
cat >"$scratch/many" <<'END'
#!/bin/bash
look() { echo $(ls /proc/$PPID/fd | wc -l) $(awk '/^VmRSS/ { print $2 }' /proc/$PPID/status) >>"$1"; }
for ((i = 1; i <= $3; i++)); do
	"$2" >/dev/null || exit 1
	[ $i -eq $(($3 / 5)) ] && look "$1"
done
look "$1"
END
rm -f "$scratch/truth"/*
FAKE_CUDA_TRUTH=$scratch/truth/%p "$flamegrid" run -q -o "$scratch/profile" --devices "$list" -- bash "$scratch/many" \
	"$scratch/looks" "$BUILD/tests/process_life_driver" "$many"
same "$many processes: status" $? 0
check "$many processes: profiles hold what ran" accounts_balance
same "$many processes: in the profile" \
	"$("$flamegrid" report "$scratch/profile" --format json 2>/dev/null | grep -c '"command":')" "$many"
{ read -r fds_before memory_before && read -r fds_after memory_after; } <"$scratch/looks"
check "descriptors of run: $fds_before after a fifth, $fds_after at the end" [ "$fds_after" -le $((fds_before + 8)) ]
check "memory of run: $memory_before KiB after a fifth, $memory_after KiB at the end" \
	[ "$memory_after" -le $((memory_before + 40 * many)) ]
