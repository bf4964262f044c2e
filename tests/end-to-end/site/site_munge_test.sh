#!/usr/bin/env bash
# Users of a site's aggregator by munge: two users of this machine, who have no secret of Flamegrid's. Each sends to, reads and commands that user's jobs
# alone. Needs root (to become them), and Debian's munge.
if [ -z "${OWN_RUN:-}" ]; then
	# /run and the users are this test's own, and so is the place where libmunge looks for munged.
	exec env OWN_RUN=1 unshare --mount bash -c 'mount -t tmpfs -o mode=755 none /run && mkdir /run/munge && exec bash "$0"' "$0"
fi
. "$(dirname "$0")/../support/harness.sh"
. "$(dirname "$0")/../support/munge_harness.sh"
export -n LD_LIBRARY_PATH
service='' munged='' others='' job=''
at_end() { kill -CONT $munged 2>/dev/null; kill -9 $service $munged $others $job 2>/dev/null; }
cd "$scratch" || exit 1
chmod 755 "$scratch"
list=$(devices 1)
declare -A uid=([flamegrid]=54321 [anna]=54322 [bert]=54323 [54324]=54324 [number]=54325)
cp /etc/passwd passwd
for name in flamegrid anna bert; do echo "$name:x:${uid[$name]}:${uid[$name]}::$scratch/$name:/bin/sh" >>passwd; done
mount --bind passwd /etc/passwd
for name in "${!uid[@]}"; do install -d -m 700 -o "${uid[$name]}" -g "${uid[$name]}" "$name" "$name/runtime"; done
same "a user has a name" "$(id -un 54322)" anna
mkdir site site/bin site/lib cuda munge
cp "$BUILD"/bin/flamegrid{,-agent,-aggregator} site/bin/
cp "$BUILD/lib/libflamegrid_inject.so" site/lib/
cp "$fake_launches" "$BUILD"/lib/fake-cuda/lib*.so* cuda/
munge_start munge /run/munge/munge.socket.2

take_ports
at=tcp://127.0.0.1:$ports
site/bin/flamegrid keygen keys >out
same "keys of a site" "$(tr '\n' ' ' <out)" "keys/aggregator.keys keys/agent.keys keys/public.keys "
same "everybody may read the aggregator's public key" "$(stat -c %a keys/public.keys)" 644
same "which is all that there is" "$(grep -v '^#' keys/public.keys | cut -d ' ' -f 1)" server-public
chown 54321 keys/aggregator.keys
chmod 755 keys
printf 'aggregator %s\nkeys %s/keys/public.keys\ndevices %s\n' "$at" "$scratch" "$list" >site.conf
chmod 644 site.conf "$list"

# ---- the service
mkfifo news
exec 7<>news
log=$scratch/service.log
says() { until grep -qF -- "$1" "$log"; do read -r -t 60 _ <&7 || return 1; done; }
become() { # USER: "${as[@]}" COMMAND... is that user's.
	as=(setpriv --reuid "${uid[$1]}" --regid "${uid[$1]}" --clear-groups env -i PATH=/usr/bin:/bin HOME="$scratch/$1" TMPDIR="$scratch/$1" \
		XDG_RUNTIME_DIR="$scratch/$1/runtime" LD_LIBRARY_PATH="$scratch/cuda" FLAMEGRID_CONFIG="$scratch/site.conf" FAKE_CUDA_DEVICES=1)
}
start_service() {
	: >"$log"
	become flamegrid
	"${as[@]}" site/bin/flamegrid aggregate --keys keys/aggregator.keys --user-keys munge --listen "$at" --store flamegrid/own.db --jobs flamegrid/jobs "$@" \
		2> >(tee -p news >>"$log") 7<&- &
	service=$!
	check "the service is there" says "listening on $at"
}
end_service() {
	kill -TERM $service
	wait $service
	same "the service's status" $? 0
	service=''
}
profiles() { find flamegrid/jobs -name profile.db | wc -l; }
# another_begins COUNT: waits until more jobs than these have begun; begun: how many have.
begun() { grep -c ' begins$' "$log"; }
another_begins() { until [ "$(begun)" -gt "$1" ]; do read -r -t 60 _ <&7 || return 1; done; }
latest() { sed -n 's|.*jobs/\([^ ]*\) begins$|\1|p' "$log" | tail -n 1; }
run() { # USER NAME [OPTION...] -- COMMAND...
	local user=$1 name=$2
	shift 2
	become "$user"
	"${as[@]}" FAKE_CUDA_TRUTH="$scratch/$user/$name.truth" site/bin/flamegrid run "$@" >"$name.out" 2>"$name.err" 7<&-
}
asks() { become "$1"; "${as[@]}" site/bin/flamegrid "${@:2}" >out 2>err 7<&-; }
work="$scratch/cuda/fake_launches --launches 300"
start_service
check "no word on munged" [ -z "$(grep munge "$log")" ]

# ---- sending and reading
run anna red -- $work
same "a job of anna's" $? 0
same "without a word" "$(grep -v 'the profile is' red.err)" ""
same "has a profile" "$(profiles)" 1
check "is complete" says "is complete"
red=$(latest)
same "it is anna's" "${red%%-*}" anna
compare_with_truth "flamegrid/jobs/$red" anna/red.truth "its profile"
asks anna fetch
same "anna's list" "$(awk 'NR > 1 { print $1 }' out)" "$red"
asks anna fetch "$red" -o anna/copy
check "anna's copy" cmp anna/copy/profile.db "flamegrid/jobs/$red/profile.db"
count=$(begun)
run anna folded --aggregate node -- $work
same "a job whose node sends its profile" $? 0
check "is there" another_begins "$count"
folded=$(latest)
check "is complete" says "$folded is complete"
compare_with_truth "flamegrid/jobs/$folded" anna/folded.truth "its profile"
asks bert fetch
same "bert's list is empty" "$?$(cat out)" 0
asks bert fetch "$red" -o bert/copy
same "anna's job for bert" $? 1
contains "is not there" err "user bert has no such job there"
asks bert fetch "$red" --user anna -o bert/copy
same "anna's job in anna's name" $? 1
contains "is refused" err "munge says that this is user bert"
run bert blue -- $work
check "a job of bert's" says "jobs/bert-"
same "has a profile" "$(profiles)" 3
run 54324 nameless -- $work
check "a user without a name has a number" says "jobs/54324-"
same "has a profile" "$(profiles)" 4

echo "54324:x:54325:54325::$scratch/number:/bin/sh" >>/etc/passwd
before=$(profiles)
run number number -- $work
same "a user who is called as the number of another one" "$(profiles)" "$before"
contains "is known by the user's own number" number.err "munge says that this is user 54325"

# bert, whose host calls him anna
cp passwd false.passwd
sed -i 's/^anna:x:54322:/before:x:54399:/; s/^bert:/anna:/' false.passwd
false_name() { unshare --mount bash -c 'mount --bind "$1" /etc/passwd && shift && exec "$@"' - "$scratch/false.passwd" "$@"; }
before=$(profiles)
become bert
false_name "${as[@]}" FAKE_CUDA_TRUTH="$scratch/bert/false.truth" site/bin/flamegrid run -- $work >out 2>err 7<&-
same "a job of bert's in anna's name has its own result" $? 0
same "and no profile" "$(profiles)" "$before"
contains "it is told why" err "munge says that this is user bert, for that user's jobs alone"

# ---- commands, and an aggregator that comes again
mkfifo -m 666 go
exec 8<>go
count=$(begun)
run anna held --capture-range control -- sh -c "read -r _ <$scratch/go; $work" &
job=$!
check "the job is known" another_begins "$count"
held=$(latest)
asks bert control start --job "${held#anna-}" --user anna
same "a command of bert's for it" $? 1
contains "is refused" err "munge says that this is user bert"
asks bert control start --job "${held#anna-}"
same "a command for a job that bert lacks" $? 1
contains "finds none" err "no such job of this user"
kill -KILL $service
wait $service 2>/dev/null
start_service
# The agent comes again by itself, with a new credential.
taken() { for _ in $(seq 60); do asks anna control start --job "${held#anna-}" && return; read -r -t 0.5 _ <>"$scratch/nothing"; done; return 1; }
mkfifo nothing
check "anna commands it" taken
echo >&8
wait $job
same "the commanded job" $? 0
job=''
check "is complete" says "$held is complete"
same "its work is there" "$(total_ns "flamegrid/jobs/$held")" "$(truth_sum valid_ns anna/held.truth)"

# ---- munged stops, and goes
count=$(begun)
run anna begun -- sh -c "read -r _ <$scratch/go; $work" &
job=$!
check "a job begins" another_begins "$count"
running=$(latest)
kill -STOP $munged
began=$SECONDS
run bert stopped -- $work
same "a job while munged is stopped" $? 0
check "is not held up" [ $((SECONDS - began)) -lt 8 ]
contains "it is told" stopped.err "whether this node is profiled is not known"
echo >&8
wait $job
same "a job that began before" $? 0
job=''
check "is complete" says "$running is complete"
same "its work is there" "$(total_ns "flamegrid/jobs/$running")" "$(truth_sum valid_ns anna/begun.truth)"
kill -CONT $munged
kill -TERM $munged
wait $munged
before=$(profiles)
run bert without -- $work
same "a job without munged" $? 0
contains "is told what to do" without.err "munged does not answer on this host"
contains "is told how" without.err "systemctl start munge"
asks bert fetch
same "a list without munged" $? 1
contains "says what to do" err "systemctl start munge"
same "no profile" "$(profiles)" "$before"
end_service
start_service
check "a service without munged says so" says "munged does not answer on this host"
munge_start munge /run/munge/munge.socket.2
asks bert fetch
same "munged is there again" $? 0

# ---- another realm
mkdir realm
other_realm() { unshare --mount bash -c 'mount --bind "$1" /run/munge && shift && exec "$@"' - "$scratch/realm" "$@"; }
chmod 755 realm
kept=$munged
munge_start realm
others=$munged munged=$kept
mv realm/munge.socket realm/munge.socket.2
become bert
other_realm "${as[@]}" site/bin/flamegrid fetch >out 2>err 7<&-
same "a credential of another realm" $? 1
contains "is not believed" err "at the aggregator: munge: "
check "the service says so" says "did not prove whose it is"

# ---- no libmunge
library=$(ldconfig -p | sed -n 's/.*libmunge.so.2 .*=> //p')
no_library() { unshare --mount bash -c 'mount --bind /dev/null "$(realpath "$1")" && shift && exec "$@"' - "$library" "$@"; }
no_library env FLAMEGRID_CONFIG="$scratch/site.conf" site/bin/flamegrid run -- true >out 2>err 7<&-
same "a job without libmunge" $? 0
contains "is told what to do" err "munge's library is missing here"
no_library env FLAMEGRID_CONFIG="$scratch/site.conf" site/bin/flamegrid run --strict -- true >out 2>err 7<&-
same "a strict one" $? 125
become flamegrid
no_library "${as[@]}" site/bin/flamegrid aggregate --keys keys/aggregator.keys --user-keys munge --listen "ipc://$scratch/flamegrid/none" --store none.db --jobs none.jobs >out 2>err 7<&-
same "an aggregator without libmunge" $? 1
contains "says what to do" err "munge's library is missing here"

# ---- the agents' keys, a user's own, and strangers
site/bin/flamegrid keygen --user anna keys >out
asks anna fetch --connect "$at" --keys keys/users/anna.keys
same "keys of anna's own" $? 1
contains "are not asked for here" err "this aggregator asks munge who its users are"
run anna own --aggregator "$at" --keys keys/users/anna.keys -- true
contains "a job is told so" own.err "this aggregator asks munge who its users are"
before=$(profiles)
site/bin/flamegrid run --devices "$list" --aggregator "$at" --keys keys/agent.keys -- true >out 2>err
site/bin/flamegrid fetch --connect "$at" --keys keys/agent.keys --user anna >out 2>err 7<&-
same "root reads for every user" "$(awk 'NR > 1 { print $1 }' out | wc -l)" 4
asks anna fetch --connect "$at" --keys keys/agent.keys
same "anna does not" $? 1
end_service
