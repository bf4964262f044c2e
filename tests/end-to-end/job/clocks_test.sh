#!/usr/bin/env bash
# Two agents with clocks of their own (time namespaces, in network namespaces on a bridge) and an aggregator: what is found is what was
# planted, within the bound that is told. Needs root.
. "$(dirname "$0")/../support/harness.sh"
tag=fgc subnet=10.213.78
. "$(dirname "$0")/../support/hosts.sh"
"$flamegrid" keygen "$scratch/keys" >"$scratch/out"
same "keygen" $? 0
mkfifo "$scratch/ready"
ip netns exec "$tag-hub" "$BUILD/bin/flamegrid-aggregator" --keys "$scratch/keys/aggregator.keys" --listen tcp://10.213.78.1:5599 \
	--store "$scratch/profile.db" 2> >(tee -p "$scratch/ready" >"$scratch/aggregator.log") &
aggregator=$!
daemons=$aggregator
grep -m1 -q 'listening on' "$scratch/ready"

planted_one=5
planted_two=-3
agents=
for host in one two; do
	planted=planted_$host
	FAKE_CUDA_DEVICES=1 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.$host"
	mkfifo "$scratch/ready.$host"
	ip netns exec "$tag-$host" unshare -T --monotonic "${!planted}" "$BUILD/bin/flamegrid-agent" --keys "$scratch/keys/agent.keys" \
		--connect tcp://10.213.78.1:5599 --socket "$scratch/agent.$host" --node-name "node-$host" --devices "$scratch/devices.$host" \
		2> >(tee -p "$scratch/ready.$host" >"$scratch/agent.$host.log") &
	agents="$agents $!"
	daemons="$daemons $!"
	grep -m1 -q 'listening on' "$scratch/ready.$host"
done

# Results come a few round trips after the connection; a report reads what is stored so far.
field() { "$flamegrid" report "$scratch/profile.db" --clocks --format csv 2>/dev/null | awk -F, -v host="$1" -v column="$2" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == host { print $at[column] }'; }
mkfifo "$scratch/nothing"
turns=0
until [ "$(field node-one compared)" = 1 ] && [ "$(field node-two compared)" = 1 ] || [ $turns = 200 ]; do
	read -r -t 0.1 _ <>"$scratch/nothing"
	turns=$((turns + 1))
done
for pid in $agents $aggregator; do
	kill -TERM "$pid"
	wait "$pid"
	same "a daemon's status" $? 0
done

for host in one two; do
	planted=planted_$host
	offset=$(field node-$host offset_ns) bound=$(field node-$host bound_ns)
	off=$((offset - ${!planted} * 1000000000))
	check "node-$host: planted ${!planted} s, off by $off ns of $bound ns" [ "${off#-}" -le "$bound" ]
	check "node-$host: the bound is half the round trip, and little more" \
		[ $((2 * bound)) -ge "$(field node-$host round_trip_ns)" ]
	realtime=$(field node-$host realtime_ns)
	check "node-$host: CLOCK_REALTIME is the same, off by $realtime ns" [ "${realtime#-}" -le $((bound + 1000000)) ]
done
"$flamegrid" report "$scratch/profile.db" --clocks >"$scratch/table"
same "the table" $? 0
contains "has both hosts" "$scratch/table" "node-two"
contains "says how far apart they are" "$scratch/table" "CLOCK_REALTIME of 2 hosts: at most "
"$flamegrid" report "$scratch/profile.db" --clocks --format json >"$scratch/json"
same "JSON has them, too" "$(python3 -c 'import json, sys
print(*(row["host"] for row in json.load(open(sys.argv[1]))["clocks"]))' "$scratch/json")" "node-one node-two"
valid_report "$scratch/profile.db" --clocks
"$flamegrid" report "$scratch/profile.db" --clocks --ranks 2>"$scratch/err"
same "clocks and ranks at once" $? 2
"$flamegrid" report "$scratch/profile.db" --clocks --format html 2>"$scratch/err"
same "clocks as a flame graph" $? 2
contains "says what they are for" "$scratch/err" "--clocks cannot be written as html (--format table, json, csv, samples)"
