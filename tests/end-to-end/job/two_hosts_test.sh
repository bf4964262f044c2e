#!/usr/bin/env bash
# Two agents and an aggregator as three hosts (network namespaces on a bridge): one profile, both hosts told apart, and
# nobody else let in. Needs root.
. "$(dirname "$0")/../support/harness.sh"
tag=fg subnet=10.213.77
. "$(dirname "$0")/../support/hosts.sh"
on() { local host=$1; shift; ip netns exec "$tag-$host" "$@"; } # not for the background: $! would be the shell

on hub "$BUILD/bin/flamegrid-aggregator" --listen tcp://10.213.77.1:5599 --store "$scratch/refused.db" 2>"$scratch/err"
same "an address of the network without keys" $? 1
contains "says what it wants" "$scratch/err" --keys

"$flamegrid" keygen "$scratch/keys" >"$scratch/out"
same "keygen" $? 0
same "its files" "$(cat "$scratch/out")" "$scratch/keys/aggregator.keys
$scratch/keys/agent.keys
$scratch/keys/public.keys"
same "their modes" "$(stat -c %a "$scratch/keys/aggregator.keys" "$scratch/keys/agent.keys" "$scratch/keys/public.keys" | tr '\n' ' ')" "600 600 644 "
"$flamegrid" keygen "$scratch/keys" >"$scratch/out" 2>"$scratch/err"
same "keys that are there stay" $? 1
contains "and are named" "$scratch/err" "$scratch/keys/aggregator.keys: File exists"
"$flamegrid" keygen "$scratch/others" >"$scratch/out"
same "other keys" "$(cmp -s "$scratch/keys/agent.keys" "$scratch/others/agent.keys"; echo $?)" 1

mkfifo "$scratch/ready"
ip netns exec "$tag-hub" "$BUILD/bin/flamegrid-aggregator" --keys "$scratch/keys/aggregator.keys" --listen tcp://10.213.77.1:5599 --store "$scratch/profile.db" \
	2> >(tee -p "$scratch/ready" >"$scratch/aggregator.log") &
aggregator=$!
daemons=$aggregator
grep -m1 -q 'listening on' "$scratch/ready"

# stranger NAME SAYS ARGUMENT...: an agent of another host that is not let in, until it says so.
stranger() {
	local name=$1 says=$2 pid
	shift 2
	mkfifo "$scratch/stranger"
	ip netns exec "$tag-two" "$BUILD/bin/flamegrid-agent" "$@" --connect tcp://10.213.77.1:5599 --socket "$scratch/agent.stranger" \
		2> >(tee -p "$scratch/stranger" >"$scratch/stranger.log") &
	pid=$!
	daemons="$daemons $pid"
	check "$name: it says so" grep -m1 -q "$says" "$scratch/stranger"
	rm -f "$scratch/stranger"
	kill -KILL $pid
	wait $pid 2>/dev/null
}
stranger "other keys" 'the keys do not fit' --keys "$scratch/others/agent.keys"
(umask 077; grep server-public "$scratch/keys/agent.keys"; grep client- "$scratch/others/agent.keys") >"$scratch/mixed.keys"
chmod 600 "$scratch/mixed.keys"
stranger "a pair of its own" 'the keys do not fit' --keys "$scratch/mixed.keys"
# The stranger may hear of it first.
mkfifo "$scratch/nothing"
until grep -q "a connection was turned away" "$scratch/aggregator.log"; do read -r -t 0.05 _ <>"$scratch/nothing"; done
ok "the aggregator says so"
on two "$BUILD/bin/flamegrid-agent" --connect tcp://10.213.77.1:5599 --socket "$scratch/agent.stranger" 2>"$scratch/err"
same "no keys" $? 2
contains "names them" "$scratch/err" "--keys"
on two "$BUILD/bin/flamegrid-agent" --keys "$scratch/keys/aggregator.keys" --connect tcp://10.213.77.1:5599 \
	--socket "$scratch/agent.stranger" 2>"$scratch/err"
same "the wrong file" $? 1
contains "names it" "$scratch/err" "this is an aggregator's file"

seed=1
for host in one two; do
	FAKE_CUDA_HOST_SEED=$seed FAKE_CUDA_DEVICES=2 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.$host"
	mkfifo "$scratch/ready.$host"
	ip netns exec "$tag-$host" "$BUILD/bin/flamegrid-agent" --keys "$scratch/keys/agent.keys" --connect tcp://10.213.77.1:5599 --socket "$scratch/agent.$host" \
		--node-name "node-$host" --devices "$scratch/devices.$host" \
		2> >(tee -p "$scratch/ready.$host" >"$scratch/agent.$host.log") &
	eval "agent_$host=$!"
	daemons="$daemons $!"
	grep -m1 -q 'listening on' "$scratch/ready.$host"
	seed=2
done
seed=1
for host in one two; do
	FAKE_CUDA_HOST_SEED=$seed FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=$scratch/truth.$host ip netns exec "$tag-$host" "$flamegrid" run \
		--agent "$scratch/agent.$host" -- "$fake_launches" --devices 2 --streams 2 --threads 2 \
		--launches $((20000 * seed)) --kernels 3 >"$scratch/out.$host" 2>"$scratch/err.$host" &
	eval "job_$host=$!"
	seed=2
done
wait $job_one; same "job on node-one" $? 0
wait $job_two; same "job on node-two" $? 0
for pid in $agent_one $agent_two $aggregator; do
	kill -TERM "$pid"
	wait "$pid"
	same "a daemon's status" $? 0
done

for host in one two; do
	"$flamegrid" report "$scratch/profile.db" --by host --unit ns | grep "^node-$host;" |
		sum_folded >"$scratch/sum"
	same "node-$host: ns" "$(cat "$scratch/sum")" "$(truth_sum valid_ns "$scratch/truth.$host")"
done
same "hosts" "$(groups "$scratch/profile.db" host)" "node-one node-two"
truth_by_stream valid_ns "$scratch/truth.one" "$scratch/truth.two" >"$scratch/want"
by_stream "$scratch/profile.db" --unit ns >"$scratch/have"
same_lines "merged: time by GPU, stream and name" "$scratch/have" "$scratch/want"
