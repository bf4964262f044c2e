#!/usr/bin/env bash
# Dormant guests, attach and detach, on fake CUDA: a process runs as if nothing were there until somebody attaches; each profile has
# what was launched while somebody was attached, whole, and nothing of the time before.
. "$(dirname "$0")/../support/harness.sh"
fake_windows=$BUILD/tests/fake_windows
list=$(devices 1)
mkfifo "$scratch/nothing"
pid= attached=
at_end() { kill -9 $pid $attached 2>/dev/null; touch "$scratch/over" "$scratch/over2"; rm -rf "/tmp/flamegrid-attach-$pid".*; }
# moment PROCESS: of waiting for something that it does.
moment() {
	kill -0 "$1" 2>/dev/null || { not_ok "process $1 has ended: $(cat "$scratch/${name:-none}.err" 2>/dev/null)"; exit 1; }
	read -r -t 0.05 _ <>"$scratch/nothing"
}

# begin NAME COMMAND...: a process with a dormant guest, in the background, that runs until end.
begin() {
	name=$1
	shift
	rm -f "$scratch/over"
	"$@" "$flamegrid" run --dormant -- "$fake_windows" --until "$scratch/over" >"$scratch/$name.out" 2>"$scratch/$name.err" &
	pid=$!
	until grep -q libflamegrid_inject "/proc/$pid/maps" 2>/dev/null; do moment $pid; done
}
end() {
	touch "$scratch/over"
	wait "$pid"
	same "$name: the process's status" $? 0
	same "$name: it printed nothing else" "$(wc -l <"$scratch/$name.err")" 0
}
# attach NAME OPTIONS...: in the background, until the process is captured.
attach() {
	profile=$1
	shift
	"$flamegrid" attach --pid "$pid" --devices "$list" -o "$scratch/$profile" "$@" >"$scratch/$profile.out" 2>"$scratch/$profile.err" &
	attached=$!
	until "$flamegrid" control status --pid "$pid" 2>/dev/null | grep -q ' on '; do
		kill -0 $attached 2>/dev/null || { not_ok "$profile: attach ended: $(cat "$scratch/$profile.err")"; return; }
		moment "$pid"
	done
}
# It ended with this status, and what is in the profile is whole.
attached_ended() {
	wait $attached
	same "$profile: the status of attach" $? 0
	"$flamegrid" report "$scratch/$profile" --format folded --weight count --strict >"$scratch/$profile.folded" 2>"$scratch/$profile.strict"
	same "$profile: nothing lost (--strict)" $? 0
	check "$profile: kernels" [ "$(kernels)" -gt 0 ]
	contains "$profile: it is not the run" "$scratch/$profile.err" "in 1 window, not the run"
}
kernels() { awk '/_Kernel]/ { n += $NF } END { printf "%.0f\n", n }' "$scratch/$profile.folded"; }
launched() { awk '$1 != "rounds" { n += $2 } END { printf "%.0f\n", n }' "$scratch/$name.out"; }

# Alone, and with a dormant guest: the same output and status; a thread more, and no file.
begin alone
same "alone: threads of the guest" "$(grep -l flamegrid /proc/$pid/task/*/comm | wc -l)" 1
same "alone: no memory is shared with anybody" "$(grep -c memfd "/proc/$pid/maps")" 0
end

# Three times in one process: ended by detach, by a signal, by its duration.
begin thrice
sum=0
attach first
"$flamegrid" detach --pid "$pid" >"$scratch/detach.out" 2>&1
same "detach: status" $? 0
attached_ended
sum=$((sum + $(kernels)))
same "first: nothing is left in /tmp" "$(ls -d "/tmp/flamegrid-attach-$pid".* 2>/dev/null | wc -l)" 0
attach second
kill -INT $attached
attached_ended
sum=$((sum + $(kernels)))
attach third --duration 300ms
attached_ended
sum=$((sum + $(kernels)))
end
check "thrice: not all was captured" [ "$sum" -lt "$(launched)" ]

# Until the process ends; the stack options are those of the attacher.
begin to_the_end
attach last --stacks none
touch "$scratch/over"
wait "$pid"
same "to_the_end: status" $? 0
attached_ended
same "last: no stacks were asked for" "$(grep -c run_round "$scratch/last.folded")" 0

# Whoever attached is killed: the process goes on alone, and another may attach.
begin orphan
attach killed
kill -9 $attached
wait $attached 2>/dev/null
attach heir
"$flamegrid" detach --pid "$pid"
attached_ended
end

# Who is attached is alone.
begin contested
attach one
"$flamegrid" attach --pid "$pid" -o "$scratch/two" >"$scratch/two.out" 2>&1
same "a second attacher: status" $? 1
contains "a second attacher is told" "$scratch/two.out" "somebody is attached to it already"
"$flamegrid" detach --pid "$pid"
attached_ended
end

# Of another user: root may attach.
if [ "$(id -u)" = 0 ]; then
	chmod 711 "$scratch"
	mkdir -m 777 "$scratch/user"
	begin user setpriv --reuid 65534 --regid 65534 --clear-groups
	attach by_root
	"$flamegrid" detach --pid "$pid"
	attached_ended
	end
	# In its own mount namespace, with its own /tmp and its own pids.
	rm -f "$scratch/over"
	mkdir "$scratch/tmp"
	name=contained
	built=$scratch/build # a build below /tmp stays where it is
	case $BUILD in /tmp/*) built=$scratch/tmp/${BUILD#/tmp/} ;; esac
	mkdir -p "$built"
	unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc /proc && mount --bind "$BUILD" "$4" && mount --rbind "$1" /tmp &&
		exec "$2" run --dormant -- "$3" --until /tmp/over' sh "$scratch/tmp" "$flamegrid" "$fake_windows" "$built" >"$scratch/$name.out" 2>"$scratch/$name.err" &
	outer=$!
	until pid=$(pgrep -P $outer fake_windows) && grep -q libflamegrid_inject "/proc/$pid/maps" 2>/dev/null; do moment $outer; done
	attach in_container
	"$flamegrid" detach --pid "$pid"
	attached_ended
	touch "$scratch/tmp/over"
	wait $outer
	same "contained: status" $? 0
fi

# Processes without a dormant guest, and bad options.
refused() {
	local what=$1 wanted=$2 text=$3
	shift 3
	"$flamegrid" "$@" >"$scratch/refused" 2>&1
	same "$what: status" $? "$wanted"
	contains "$what: says why" "$scratch/refused" "$text"
}
# With the right to BPF they are profiled all the same (host_only_test).
flamegrid_binary=$flamegrid
if [ "$(id -u)" = 0 ]; then
	flamegrid=$scratch/without_bpf
	printf '#!/bin/sh\nexec setpriv --bounding-set -sys_admin,-bpf,-perfmon --inh-caps -sys_admin,-bpf,-perfmon "%s" "$@"\n' \
		"$flamegrid_binary" >"$flamegrid"
	chmod +x "$flamegrid"
fi
refused "no guest" 1 "flamegrid run --dormant" attach --pid $$ -o "$scratch/refused_profile"
check "no guest: no profile" [ ! -e "$scratch/refused_profile" ]
refused "no process" 1 "No such process" attach --pid 4000000
refused "no pid" 2 "--pid is missing" attach
refused "bad pid" 2 "must be a process id" attach --pid 0x1
refused "bad duration" 2 "not a time" attach --pid $$ --duration soon
refused "bad stacks" 2 "stacks" attach --pid $$ --stacks nonsense
refused "detach of nobody" 1 "nobody is attached" detach --pid $$
refused "detach without a pid" 2 "--pid is missing" detach
CUDA_INJECTION64_PATH=/other/library.so sleep 1000 &
pid=$!
until [ "$(tr '\0' ' ' <"/proc/$pid/cmdline")" = "sleep 1000 " ]; do moment $pid; done
refused "another library" 1 "/other/library.so" attach --pid $pid
kill $pid
flamegrid=$flamegrid_binary
"$flamegrid" run --devices "$list" -o "$scratch/profiled" -q -- "$fake_windows" --until "$scratch/over2" &
run=$!
until pid=$(pgrep -P $run fake_windows) && "$flamegrid" control status --pid "$pid" >/dev/null 2>&1; do moment $run; done
refused "a profiled process" 1 "flamegrid control start" attach --pid "$pid"
touch "$scratch/over2"
wait $run
