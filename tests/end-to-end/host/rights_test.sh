#!/usr/bin/env bash
# What the agent may do once it is set up: exactly what docs/bpf.md says, in every thread; what the job may do is not its business. With no
# more than that, other users' processes and those of containers that are gone have names. Needs root.
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/daemon_harness.sh"
export TMPDIR=$scratch XDG_RUNTIME_DIR=$scratch
chmod 755 "$scratch"
list=$(devices 1)
victim=$BUILD/tests/bpf_victim
nobody='--reuid 65534 --regid 65534 --clear-groups'
users=000000c000000000 sites=000001c000080004 none=0000000000000000

ask='grep -E "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Sig(Blk|Ign|Cgt))" /proc/self/status; setpriv --dump'

# threads PID: "NAME permitted effective inheritable ambient no_new_privs", a line a thread.
threads() {
	local task
	for task in /proc/"$1"/task/*; do
		awk '/^Name:/ { name = $2 } /^CapPrm:/ { prm = $2 } /^CapEff:/ { eff = $2 } /^CapInh:/ { inh = $2 } /^CapAmb:/ { amb = $2 }
			/^NoNewPrivs:/ { print name, prm, eff, inh, amb, $2 }' "$task/status"
	done | sort
}
# keeps WHAT PID NAMES SET: all threads but those of NAMES (a pattern) have SET and nothing else.
keeps() {
	same "$1: sets" "$(threads "$2" | grep -Ev "^($3) " | cut -d' ' -f2- | sort -u)" "$4 $4 $none $none 1"
	check "$1: threads" [ "$(threads "$2" | grep -Evc "^($3) ")" -ge 4 ]
}
# samples FILE TEXT: the weight of all lines with it.
samples() { awk -v text="$2" 'index($0, text) { s += $NF } END { printf "%.0f\n", s }' "$1"; }

# An agent of its own, root's: also of other users, in mount namespaces of their own, which are gone at the end.
start_aggregator
start_agent --any-user --symbol-cache off --cpu-hz 499 --watch-pid $$
keeps "root's agent" $agent nobody $sites
contains "root's agent: says so" "$scratch/agent.log" \
	"keeps CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_PERFMON, CAP_BPF, CAP_CHECKPOINT_RESTORE"
mkdir "$scratch/mount"
unshare --mount sh -c "mount -t tmpfs none '$scratch/mount' && cp '$victim' '$scratch/mount/gone_victim' &&
	chown 65534 '$scratch/mount/gone_victim' && chmod 500 '$scratch/mount/gone_victim' &&
	exec setpriv $nobody --inh-caps=-all '$scratch/mount/gone_victim' spin 400000000"
same "another user's container: status" $? 7
same "another user's container: is gone" "$(ls "$scratch/mount")" ""
kill -TERM $agent && wait $agent
same "root's agent: status" $? 0
kill -TERM $daemon && wait $daemon
"$flamegrid" report --planes cpu "$scratch/profile.db" >"$scratch/site.folded" 2>/dev/null
check "another user's container: names" [ "$(samples "$scratch/site.folded" ';victim_spin;[CPU]')" -gt 200000000 ]

# The same under `run`, whose main thread and aggregator keep all that they had.
"$flamegrid" run -o "$scratch/container" --symbol-cache off --cpu-hz 499 -- unshare --mount sh -c \
	"mount -t tmpfs none '$scratch/mount' && cp '$victim' '$scratch/mount/gone_victim' && exec '$scratch/mount/gone_victim' spin 400000000" 2>/dev/null
same "container: status" $? 7
check "container: names" [ "$(samples "$scratch/container/cpu.ns.folded" ';victim_spin;[CPU]')" -gt 200000000 ]
mkfifo -m 666 "$scratch/begun" "$scratch/end"
"$flamegrid" run -q -o "$scratch/run" --cpu-hz 99 -- sh -c "echo >'$scratch/begun'; read end <'$scratch/end'" 2>/dev/null &
run=$!
read -r _ <"$scratch/begun"
keeps "root's run" $run 'flamegrid|aggregator' $sites
same "root's run: the rest" "$(threads $run | grep -E '^(flamegrid|aggregator) ' | cut -d' ' -f2- | sort -u)" \
	"$(threads $$ | cut -d' ' -f2-)"
echo >"$scratch/end"
wait $run
same "root's run: status" $? 0

# Probes of processes that come later: newer kernels take CAP_SYS_ADMIN for them.
"$flamegrid" run -q -o "$scratch/probes" --stack-source uprobe -- sh -c "echo >'$scratch/begun'; read end <'$scratch/end'" 2>/dev/null &
run=$!
read -r _ <"$scratch/begun"
set=$(threads $run | awk '/^agent / { print $2 }')
check "root's run with probes: keeps CAP_SYS_ADMIN at most" [ "$set" = $sites -o "$set" = 000001c000280004 ]
keeps "root's run with probes" $run 'flamegrid|aggregator' "$set"
echo >"$scratch/end"
wait $run

# The agent of ranks is a process for itself.
mkdir -m 700 "$scratch/runtime"
env XDG_RUNTIME_DIR="$scratch/runtime" PMIX_NAMESPACE="rights-$$" OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 \
	"$flamegrid" run -q -o "$scratch/ranks" -- sh -c "echo >'$scratch/begun'; read end <'$scratch/end'; $ask" >"$scratch/with" 2>/dev/null &
run=$!
read -r _ <"$scratch/begun"
keeper=
for keeper in $(grep -lx flamegrid-node /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3); do
	grep -qzx "PMIX_NAMESPACE=rights-$$" "/proc/$keeper/environ" 2>/dev/null && break
done
keeps "a rank's agent" "$keeper" nobody $sites
echo >"$scratch/end"
wait $run
same "rank: status" $? 0
sh -c "$ask" >"$scratch/without" & # with the signals of a background job, as above
wait $!
same_lines "job's rights: a rank" "$scratch/with" "$scratch/without"

# A user with no more than the two.
mkdir "$scratch/user"
chown 65534:65534 "$scratch/user"
user() { # CAPABILITIES COMMAND...
	local caps=$1
	shift
	setpriv $nobody --inh-caps "$caps" --ambient-caps "$caps" env HOME=/nonexistent TMPDIR="$scratch/user" XDG_RUNTIME_DIR="$scratch/user" "$@"
}
user +bpf,+perfmon "$flamegrid" run -q -o "$scratch/user/two" --cpu-hz 499 --off-cpu 1ms -- "$victim" all 100000000 2>"$scratch/two.err"
same "user: status" $? 7
check "user: CPU samples" [ "$(samples "$scratch/user/two/cpu.ns.folded" ';victim_spin;')" -gt 50000000 ]
check "user: waits" grep -q ';victim_sleep;.*\[Off-CPU\]' "$scratch/user/two/offcpu.ns.folded"
for caps in +bpf,+perfmon +bpf,+perfmon,+net_raw; do
	user $caps "$flamegrid" run -q -o "$scratch/user/$caps" --cpu-hz 499 -- sh -c "'$victim' spin 60000000; echo \$PPID >'$scratch/begun'; read end <'$scratch/end'" 2>/dev/null &
	job=$!
	read -r run <"$scratch/begun"
	mine=$(awk '/^CapAmb/ { print $2 }' /proc/$run/status)
	keeps "user with $caps" $run 'flamegrid|aggregator' "$mine"
	[ $caps = +bpf,+perfmon ] && same "user: these two" "$mine" $users
	echo >"$scratch/end"
	wait $job
	# Its job may do as much, and still can be looked at.
	check "user with $caps: names" [ "$(samples "$scratch/user/$caps/cpu.ns.folded" ';victim_spin;')" -gt 20000000 ]
done
setpriv $nobody --inh-caps=-all env TMPDIR="$scratch/user" XDG_RUNTIME_DIR="$scratch/user" "$flamegrid" run -o "$scratch/user/none" \
	--cpu-hz 99 --off-cpu 1ms -- "$victim" spin 1000000 2>"$scratch/none.err"
same "user without: status" $? 7
same "user without: one line" "$(grep -c CAP_ "$scratch/none.err")" 1

# The job's rights are what they are without us, byte for byte.
jobs_rights() { # NAME COMMAND-PREFIX...
	local name=$1
	shift
	"$@" sh -c "$ask" >"$scratch/without" 2>&1
	"$@" "$flamegrid" run -q -o "$scratch/user/job" --cpu-hz 99 --off-cpu 1ms -- sh -c "$ask" >"$scratch/with" 2>/dev/null
	same_lines "job's rights: $name" "$scratch/with" "$scratch/without"
	rm -rf "$scratch/user/job"
}
jobs_rights root env
jobs_rights "root, bounded" setpriv --bounding-set -net_raw,-chown --inh-caps +kill --securebits +noroot,+noroot_locked
jobs_rights "root, no_new_privs" setpriv --no-new-privs
jobs_rights "user with ambient" user +bpf,+perfmon,+kill
jobs_rights "user" setpriv $nobody --inh-caps=-all env TMPDIR="$scratch/user" XDG_RUNTIME_DIR="$scratch/user"
