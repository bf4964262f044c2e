#!/usr/bin/env bash
# Threads that launch from the far socket, on fake CUDA and a machine that hwloc is told of (two_nodes.xml: CPU 0 and one GPU on node 0, CPU 1
# and the other on node 1). On a machine of one CPU nothing can be on node 1.
. "$(dirname "$0")/../support/harness.sh"
fake_windows=$BUILD/tests/fake_windows
xml=$(dirname "$0")/two_nodes.xml
list=$(devices 2)
export FAKE_CUDA_DEVICES=2
last=$(($(nproc) > 1 ? 1 : 0))
job=
at_end() { [ -z "$job" ] || kill -9 $job 2>/dev/null; }
mkfifo "$scratch/nothing"

# placed NAME CPU COMMAND...: until it was looked twice where the thread is.
placed() {
	local name=$1 cpu=$2
	shift 2
	rm -f "$scratch/over"
	timeout 120 "$flamegrid" run --devices "$list" -o "$scratch/$name" -- taskset -c "$cpu" "$fake_windows" --until "$scratch/over" \
		>"$scratch/$name.out" 2>"$scratch/$name.err" &
	job=$!
	for _ in $(seq 400); do
		[ "$(sql "$scratch/$name" 'select coalesce(sum(count), 0) from launch_cpus' 2>/dev/null)" -ge 2 ] 2>/dev/null && break
		[ -n "$NO_LOOKS" ] && [ "$(sql "$scratch/$name" 'select count(*) from totals' 2>/dev/null)" -ge 1 ] 2>/dev/null && break
		read -r -t 0.05 _ <>"$scratch/nothing"
	done
	touch "$scratch/over"
	wait $job
	same "$name: status" $? 0
	job=
	"$flamegrid" report "$scratch/$name" --ranks >"$scratch/$name.table" 2>&1
}

export HWLOC_XMLFILE=$xml NO_LOOKS=
placed far $last
same "far: devices and their nodes" "$(sql "$scratch/far" 'select d.device_index, t.numa_node, cast(s.data as text) from device_topology t
	join devices d on d.id = t.device join strings s on s.id = t.cpus order by 1' | tr "\t" " " | paste -sd, -)" "0 0 0,1 1 1"
same "far: where the thread was" "$(sql "$scratch/far" 'select distinct numa_node from launch_cpus')" $last
if [ $last = 1 ]; then
	contains "far: the report says so" "$scratch/far.table" "GPU0 (node 0): thread "
	contains "far: always" "$scratch/far.table" ", 100.0 % of "
	"$flamegrid" report "$scratch/far" --ranks --format json >"$scratch/far.json"
	same "far: JSON" "$(python3 -c 'import json, sys
row, = json.load(open(sys.argv[1]))["far_threads"]
print(row["gpu"], row["numa_node"], row["looks"] == row["far"] >= 2)' "$scratch/far.json")" "0 0 True"
	valid_report "$scratch/far" --ranks
	"$flamegrid" report "$scratch/far" --ranks --format csv >"$scratch/far.csv"
	same "far: CSV" "$(sed -n 's/^# far: //p' "$scratch/far.csv" | tail -n 1 | cut -d, -f3,4)" "0,0"
fi
placed near 0
same "near: where the thread was" "$(sql "$scratch/near" 'select distinct numa_node from launch_cpus')" 0
same "near: nothing is said" "$(grep -c 'far socket' "$scratch/near.table")" 0

# No PCI devices, as in a container without /sys: it is not known where the GPU is.
grep -v 'PCIDev' "$xml" >"$scratch/bare.xml"
HWLOC_XMLFILE=$scratch/bare.xml placed bare 0
contains "bare: says that it is not known" "$scratch/bare.table" "on which node the GPU is is not known"

# One node: nothing is looked at.
unset HWLOC_XMLFILE
HWLOC_SYNTHETIC="numa:1 pu:2" NO_LOOKS=yes placed one 0
same "one node: rows" "$(sql "$scratch/one" 'select (select count(*) from launch_cpus) + (select count(*) from device_topology)')" 0
same "one node: nothing is said" "$(grep -c 'far socket' "$scratch/one.table")" 0
