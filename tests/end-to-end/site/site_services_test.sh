#!/usr/bin/env bash
# The site's services as their units start them: these commands, with these rights and system calls and no others, as a user that is nobody else. Needs root (to become it).
. "$(dirname "$0")/../support/harness.sh"
units=$(dirname "$0")/../../../deploy/systemd
filter=$(realpath "$(dirname "$0")/../support/system_call_filter.py")
reader=$(realpath "$(dirname "$0")/metrics_reader.py")
list=$(devices 2)
service=54321 user=54322 # whose numbers nobody else has
export -n LD_LIBRARY_PATH
at_end() { kill -9 $aggregator $agent 2>/dev/null; }
aggregator='' agent=''
chmod 755 "$scratch"
site=$scratch/site
mkdir -p "$site/bin" "$site/lib" "$scratch"/{run,state,cache,job}
cp "$BUILD"/bin/flamegrid{,-agent,-aggregator} "$site/bin/"
cp "$BUILD/lib/libflamegrid_inject.so" "$site/lib/"
cp "$fake_launches" "$BUILD"/lib/fake-cuda/lib*.so* "$list" "$scratch/job/"
chown $service "$scratch"/{run,state,cache}
chown $user "$scratch/job"

# As `flamegrid keygen` makes them, and as the examples of the environment say whose they are.
"$flamegrid" keygen "$scratch/keys" >/dev/null
chown $service "$scratch/keys/aggregator.keys"
chmod 755 "$scratch/keys"

value() { sed -n "s/^$2=//p" "$units/$1"; } # FILE NAME
# start UNIT EXAMPLE RIGHTS PLACES...: $command of the unit with the example's variables, in places of this test; in the background until it listens.
start() {
	local unit=$1 example=$2 name=${1%.service} words
	shift 2
	words=$(set -a; . "$units/$example"; eval "$places"
		eval "printf '%s\n' $(value "$unit" ExecStart | sed "s#/opt/flamegrid/#$site/#; s#/run/flamegrid/#$scratch/run/#; s#/var/lib/flamegrid/#$scratch/state/#g; s#/var/cache/flamegrid#$scratch/cache#")")
	mapfile -t command <<<"$words"
	mkfifo "$scratch/ready"
	python3 -c 'import os, socket, sys
place = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
place.settimeout(60)
place.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
print(place.recv(64).decode())' "$scratch/notify" >"$scratch/$name.told" &
	local systemd=$!
	until [ -S "$scratch/notify" ] && [ "$(stat -c %a "$scratch/notify")" = 777 ]; do nap; done
	(cd / && exec setpriv --reuid $service --regid $service --clear-groups --no-new-privs --bounding-set "$rights" --inh-caps "$rights" --ambient-caps "$rights" \
		env -i PATH=/usr/bin:/bin NOTIFY_SOCKET="$scratch/notify" python3 "$filter" "$units/$unit" "${command[@]}") 2> >(tee -p "$scratch/ready" >>"$scratch/$name.log") &
	started=$!
	grep -m1 -q 'listening on' "$scratch/ready"
	same "$name comes up" $? 0
	wait $systemd
	same "$name tells systemd so" "$(cat "$scratch/$name.told")" READY=1
	rm "$scratch/notify"
	rm -f "$scratch/ready"
}
only() { printf -- -all; for name in "$@"; do name=${name#CAP_}; printf ',+%s' "${name,,}"; done; }

for unit in flamegrid-agent.service flamegrid-aggregator.service; do
	sed "s#/opt/flamegrid/#$site/#" "$units/$unit" >"$scratch/$unit"
	systemd-analyze verify --man=no "$scratch/$unit" >"$scratch/verify" 2>&1
	same "systemd takes $unit" "$? $(grep -F "$unit" "$scratch/verify")" '0 '
done

# A site's agent is given what the table of docs/bpf.md lets it keep.
agents=$(value flamegrid-agent.service AmbientCapabilities)
same "the bounding set is the ambient one" "$(value flamegrid-agent.service CapabilityBoundingSet)" "$agents"
table=$(sed -n "/^| root's; with .--any-user.;/,/^| with .--stack-source uprobe/p" "$units/../../docs/bpf.md" | sed '$d' | awk -F'|' '{ print $3 }' | grep -o 'CAP_[A-Z_]*' | LC_ALL=C sort)
same "the agent's rights are the table's" "$(printf '%s\n' $agents | LC_ALL=C sort | tr '\n' ' ')" "$(printf '%s\n' $table | tr '\n' ' ')"
same "the aggregator has none" "$(value flamegrid-aggregator.service CapabilityBoundingSet)" ''

take_ports
port=$ports
places="FLAMEGRID_LISTEN=tcp://127.0.0.1:$port FLAMEGRID_KEYS=$scratch/keys/aggregator.keys FLAMEGRID_AGGREGATOR_OPTIONS='--metrics $((port + 1))'"
rights=$(only)
start flamegrid-aggregator.service aggregator.env
aggregator=$started
places="FLAMEGRID_ENDPOINT=tcp://127.0.0.1:$port FLAMEGRID_KEYS=$scratch/keys/agent.keys FLAMEGRID_AGENT_OPTIONS='--devices $list --cpu-hz 499 --off-cpu 100us --host-calls auto --inlines --watch-pid $$ --metrics $((port + 2))'"
rights=$(only $agents)
start flamegrid-agent.service agent.env
agent=$started
for name in $table; do contains "the agent keeps $name" "$scratch/flamegrid-agent.log" "$name"; done

# A user's job, that asks for the site's agent.
as_user() { setpriv --reuid $user --regid $user --clear-groups env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH="$scratch/job" FAKE_CUDA_DEVICES=2 "$@"; }
as_user FAKE_CUDA_TRUTH="$scratch/job/truth" "$site/bin/flamegrid" run -q --agent "$scratch/run/agent" -- "$scratch/job/fake_launches" --launches 5000 --kernels 3 >"$scratch/out" 2>"$scratch/err"
same "the job's status" $? 0
as_user FAKE_CUDA_TRUTH="$scratch/job/other" "$scratch/job/fake_launches" --launches 100 >>"$scratch/out"
same "the status of a job that does not ask" $? 0
# What the kernel tells, and the memory of an interpreter: the calls that a filter could refuse.
as_user /usr/bin/python3 -c 'import time
def spin():
	while time.process_time() < 0.5: pass
spin()'
for at in $((port + 1)) $((port + 2)); do
	same "metrics at port $at" "$(python3 "$reader" get "http://127.0.0.1:$at/metrics" | grep -c '^flamegrid_.*_connected')" 1
done
for name in agent aggregator; do same "the $name has a filter" "$(sed -n 's/^Seccomp:\t//p' /proc/${!name}/status)" 2; done
kill -TERM $agent
wait $agent
same "the agent's status" $? 0
kill -TERM $aggregator
wait $aggregator
same "the aggregator's status" $? 0
compare_with_truth "$scratch/state/profile.db" "$scratch/job/truth" "the site's profile"
same "the socket's directory can be entered by all" "$(sed -n 's/^RuntimeDirectoryMode=//p' "$units/flamegrid-agent.service")" 0755
"$flamegrid" report --planes cpu "$scratch/state/profile.db" >"$scratch/cpu.folded" 2>/dev/null
contains "the filter lets samples and Python's frames through" "$scratch/cpu.folded" ':spin:'
