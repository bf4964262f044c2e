#!/usr/bin/env bash
# A user runs a copy of a program with other names in it and the same build id: nobody else's profile shows them, although agent and
# store are shared. Needs root (to become two users).
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/daemon_harness.sh"
export TMPDIR=$scratch XDG_RUNTIME_DIR=$scratch
chmod 755 "$scratch"
list=$(devices 1)
mkdir "$scratch/job"
chmod 777 "$scratch/job"
cp "$BUILD"/bin/flamegrid "$fake_launches" "$BUILD"/lib/fake-cuda/lib*.so* "$scratch/job/"
mkdir -p "$scratch/lib" "$scratch/bin"
cp "$BUILD/bin/flamegrid" "$scratch/bin/"
cp "$BUILD/lib/libflamegrid_inject.so" "$scratch/lib/"
rename=()
for k in 0 1 2 3 4; do rename+=(--redefine-sym "launch_from_k$k=FORGED_$k"); done
objcopy "${rename[@]}" "$fake_launches" "$scratch/job/forged"
chown 65534 "$scratch/job/forged"
same "the copy's build id" "$(readelf -n "$scratch/job/forged" | grep 'Build ID')" "$(readelf -n "$fake_launches" | grep 'Build ID')"

# job USER PROGRAM
job() {
	setpriv --reuid "$1" --regid "$1" --clear-groups env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH="$scratch/job" TMPDIR="$scratch/job" \
		"$scratch/bin/flamegrid" run -q --agent "$scratch/agent" -- "$scratch/job/$2" --launches 500 --kernels 2 >/dev/null 2>"$scratch/err"
	same "$2 of $1: status" $? 0
}
start_aggregator
start_agent --any-user --symbol-cache off
job 65534 forged
job 65533 fake_launches
kill -TERM $agent && wait $agent
same "the agent's status" $? 0
kill -TERM $daemon && wait $daemon
same "the aggregator's status" $? 0
"$flamegrid" report --weight count "$scratch/profile.db" >"$scratch/folded" 2>/dev/null
same "launches of the one who forged" "$(grep -F ';FORGED_' "$scratch/folded" | sum_folded)" 500
same "launches of the other" "$(grep -F ';launch_from_k' "$scratch/folded" | sum_folded)" 500
