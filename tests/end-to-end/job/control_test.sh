#!/usr/bin/env bash
# `flamegrid control`, on fake CUDA: a running job's capture is started and ended, all of its processes or one, those that come
# later too; what was captured is whole.
. "$(dirname "$0")/../support/own_tmp.sh"
. "$(dirname "$0")/../support/harness.sh"
fake_windows=$BUILD/tests/fake_windows
list=$(devices 1)
export XDG_RUNTIME_DIR=$scratch/runtime
export TMPDIR=$XDG_RUNTIME_DIR # other tests run beside this one
mkdir -m 700 "$XDG_RUNTIME_DIR"
job=
at_end() { [ -z "$job" ] || kill -9 $job 2>/dev/null; }

# begin NAME OPTIONS... -- COMMAND: in the background.
begin() {
	name=$1
	shift
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	rm -f "$scratch/over"
	timeout 120 "$flamegrid" run --devices "$list" "${options[@]}" -o "$scratch/$name" -- "$@" \
		>"$scratch/$name.out" 2>"$scratch/$name.err" &
	job=$!
}
end() {
	touch "$scratch/over"
	wait $job
	same "$name: status" $? 0
	job=
	"$flamegrid" report "$scratch/$name" --format folded --weight count --strict >"$scratch/$name.folded" 2>&1
	same "$name: nothing lost (--strict)" $? 0
}
kernels() { awk '/_Kernel]/ { n += $NF } END { printf "%.0f\n", n }' "$scratch/$name.folded"; }
launched() { awk '$1 != "rounds" { n += $2 } END { printf "%.0f\n", n }' "$scratch/$name.out"; }
# So many processes have come to the agent.
await_processes() {
	for _ in $(seq 200); do
		[ "$("$flamegrid" control status 2>/dev/null | grep -c fake_windows)" -ge "$1" ] && return
		read -r -t 0.05 _ <>"$scratch/nothing"
	done
	not_ok "$name: $1 processes did not come"
}
# The program has made a whole round: the first mark is of a round that began since, the second of the next.
await_round() {
	for _ in 1 2; do
		rm -f "$scratch/over.round"
		until [ -e "$scratch/over.round" ]; do read -r -t 0.02 _ <>"$scratch/nothing"; done
	done
}
mkfifo "$scratch/nothing"

# Only between start and stop, twice.
begin between --capture-range control -- "$fake_windows" --until "$scratch/over"
await_processes 1
same "between: before the start" "$("$flamegrid" control status | awk '/fake_windows/ { print $2, $3 }')" "off 0"
for _ in 1 2; do
	"$flamegrid" control start >"$scratch/start.out" 2>&1
	same "between: start" $? 0
	contains "between: is on" "$scratch/start.out" " on "
	await_round
	"$flamegrid" control stop >"$scratch/stop.out" 2>&1
	same "between: stop" $? 0
done
same "between: windows" "$(awk '/fake_windows/ { print $3 }' "$scratch/stop.out")" 2
end
check "between: kernels" [ "$(kernels)" -gt 0 ]
check "between: not all" [ "$(kernels)" -lt "$(launched)" ]
contains "between: says how much of the run it is" "$scratch/between.err" "in 2 windows, not the run"

# A start that ends by itself, then back to the options of the run, which capture nothing. Again, if the program had no
# processor for as long as the window was to be open: then it never opened, or nothing was launched in it.
timed_window() {
	begin duration --capture-range control -- "$fake_windows" --until "$scratch/over"
	await_processes 1
	"$flamegrid" control start --duration 100ms -q 2>"$scratch/timed.err"
	local status=$?
	while [ $status = 0 ] && ! windows_are 1; do read -r -t 0.02 _ <>"$scratch/nothing"; done
	[ $status = 0 ] || windows_are 0 || not_ok "duration: start ends with $status after a window"
	end
	[ $status = 0 ] && [ "$(kernels)" -gt 0 ]
}
windows_are() { "$flamegrid" control status | grep -q " off  *$1 "; }
until timed_window; do nap; done
ok "duration: it is over by itself"
check "duration: not all" [ "$(kernels)" -lt "$(launched)" ]

# A run that is captured from its start can be stopped; `auto` starts it again.
begin whole -- "$fake_windows" --until "$scratch/over"
await_processes 1
"$flamegrid" control stop -q
same "whole: stop" $? 0
"$flamegrid" control auto -q
same "whole: auto" $? 0
end
check "whole: not all" [ "$(kernels)" -lt "$(launched)" ]
contains "whole: says so" "$scratch/whole.err" "not the run"

# One of two processes; and the command is there before a third.
begin one --capture-range control -- bash -c '"$0" --until "$1" & "$0" --until "$1" & wait' "$fake_windows" "$scratch/over"
await_processes 2
pid=$("$flamegrid" control status | awk '/fake_windows/ { print $1; exit }')
"$flamegrid" control start --pid "$pid" >"$scratch/one.start" 2>&1
same "one: start" $? 0
same "one: is on" "$("$flamegrid" control status | awk '/fake_windows/ { print $2 }' | sort | uniq -c | tr -s ' \n' ' ')" " 1 off 1 on "
"$flamegrid" control start --pid 1 >"$scratch/one.bad" 2>&1
same "one: another process is refused" $? 1
end
check "one: kernels" [ "$(kernels)" -gt 0 ]

begin early --capture-range control -- bash -c 'read -r _ <"$2"; "$0" --rounds 5' "$fake_windows" "$scratch/over" "$scratch/go"
mkfifo "$scratch/go"
until "$flamegrid" control start -q 2>/dev/null; do read -r -t 0.02 _ <>"$scratch/nothing"; done
echo >"$scratch/go"
end
same "early: a command to all is there for who comes later" "$(kernels)" "$(launched)"

# An agent that ends while it is asked, and one whose socket goes meanwhile, hold up nobody else's.
cat >"$scratch/ending.py" <<'EOF'
import os, select, socket, sys
asked, other, ready = sys.argv[1:]
for path in other, asked:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
open(ready, "w").close()
peer, _ = listener.accept()
select.select([peer], [], [])
os.unlink(other)
os.unlink(asked)
EOF
# ends_while STATUS WHAT: of two agents, and whatever runs, both end while this command asks.
ends_while() {
	mkdir -m 700 "$XDG_RUNTIME_DIR/flamegrid-0" "$XDG_RUNTIME_DIR/flamegrid-1"
	python3 "$scratch/ending.py" "$XDG_RUNTIME_DIR/flamegrid-0/agent" "$XDG_RUNTIME_DIR/flamegrid-1/agent" "$scratch/ready" &
	until [ -e "$scratch/ready" ]; do read -r -t 0.02 _ <>"$scratch/nothing"; done
	"$flamegrid" control start >"$scratch/ending.out" 2>"$scratch/ending.err"
	same "ending: $2" $? "$1"
	wait $!
	contains "ending: $2: the first is named" "$scratch/ending.err" "/flamegrid-0/agent: this agent has ended"
	contains "ending: $2: the second is named" "$scratch/ending.err" "/flamegrid-1/agent: this agent has ended"
	rm -r "$XDG_RUNTIME_DIR"/flamegrid-[01] "$scratch/ready"
}
begin ending --capture-range control -- "$fake_windows" --until "$scratch/over"
await_processes 1
ends_while 0 "the others are asked"
contains "ending: who is left is on" "$scratch/ending.out" " on "
end
ends_while 1 "nobody is left"
contains "ending: says that nobody is left" "$scratch/ending.err" "no agent of this user answers"

# An agent that gives no proper answer is named; the rows of the others are printed all the same.
cat >"$scratch/silent.py" <<'EOF'
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
listener.listen()
open(sys.argv[2], "w").close()
peer, _ = listener.accept()
peer.recv(4096)
peer.send(b"nonsense")
EOF
begin silent --capture-range control -- "$fake_windows" --until "$scratch/over"
await_processes 1
mkdir -m 700 "$XDG_RUNTIME_DIR/flamegrid-0"
python3 "$scratch/silent.py" "$XDG_RUNTIME_DIR/flamegrid-0/agent" "$scratch/ready" &
silent=$!
until [ -e "$scratch/ready" ]; do read -r -t 0.02 _ <>"$scratch/nothing"; done
"$flamegrid" control status >"$scratch/silent.out" 2>"$scratch/silent.err"
same "silent: status" $? 1
wait $silent
contains "silent: it is named" "$scratch/silent.err" "/flamegrid-0/agent: "
same "silent: the rows, under one heading" "$(awk '{ print $2 }' "$scratch/silent.out" | paste -sd' ')" "CAPTURE off"
rm -r "$XDG_RUNTIME_DIR/flamegrid-0" "$scratch/ready"
end

# What is wrong is said.
"$flamegrid" control status >"$scratch/none.out" 2>&1
same "no run: status" $? 1
contains "no run" "$scratch/none.out" of this user
"$flamegrid" control status --agent "$scratch/nobody" >"$scratch/none.out" 2>&1
same "no agent: status" $? 1
contains "no agent: is named" "$scratch/none.out" "$scratch/nobody"
for bad in "" "begin" "start stop" "start --pid x" "start --delay 1x" "start --at 1 --delay 1s" "start --nonsense"; do
	"$flamegrid" control $bad >"$scratch/bad.out" 2>&1
	same "control $bad: status" $? 2
done
"$flamegrid" control strat 2>"$scratch/bad.err"
contains "a mistyped word: the right one" "$scratch/bad.err" "did you mean start?"
