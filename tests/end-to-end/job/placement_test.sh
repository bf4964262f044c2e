#!/usr/bin/env bash
# Threads that launch from the far socket, on fake CUDA and a machine that hwloc is told of (two_nodes.xml: CPU 0 and one GPU on node 0, CPU 1
# and the other on node 1). On a machine of one CPU nothing can be on node 1. And the GPUs' links, which a fake NVML tells.
. "$(dirname "$0")/../support/harness.sh"
fake_windows=$BUILD/tests/fake_windows
xml=$(dirname "$0")/two_nodes.xml
list=$(devices 2)
export FAKE_CUDA_DEVICES=2
last=$(($(nproc) > 1 ? 1 : 0))
job=
at_end() { [ -z "$job" ] || kill -9 $job 2>/dev/null; }
mkfifo "$scratch/nothing"

# placed NAME CPU COMMAND...: until it was looked twice where the thread is, or until the SQL of AWAITED gives a number above 0.
placed() {
	local name=$1 cpu=$2
	shift 2
	rm -f "$scratch/over"
	timeout 120 "$flamegrid" run --devices "$list" -o "$scratch/$name" -- taskset -c "$cpu" "$fake_windows" --until "$scratch/over" \
		>"$scratch/$name.out" 2>"$scratch/$name.err" &
	job=$!
	for _ in $(seq 400); do
		[ "$(sql "$scratch/$name" "${AWAITED:-select coalesce(sum(count), 0) > 1 from launch_cpus}" 2>/dev/null)" -ge 1 ] 2>/dev/null && break
		read -r -t 0.05 _ <>"$scratch/nothing"
	done
	touch "$scratch/over"
	wait $job
	same "$name: status" $? 0
	job=
	"$flamegrid" report "$scratch/$name" --ranks >"$scratch/$name.table" 2>&1
}

export HWLOC_XMLFILE=$xml AWAITED=
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
export AWAITED="select count(*) from totals"
HWLOC_SYNTHETIC="numa:1 pu:2" placed one 0
same "one node: rows" "$(sql "$scratch/one" 'select (select count(*) from launch_cpus) + (select count(*) from device_topology)')" 0
same "one node: nothing is said" "$(grep -c 'far socket' "$scratch/one.table")" 0

# Links do not depend on NUMA nodes.
export HWLOC_SYNTHETIC="numa:1 pu:2" AWAITED="select count(*) > 1 from device_links"
LD_LIBRARY_PATH=$BUILD/lib/fake-nvml${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} placed links 0
same "links: rows" "$(sql "$scratch/links" 'select d.device_index, l.link, l.bytes_per_second from device_links l
	join devices d on d.id = l.device order by 1' | tr "\t" " " | paste -sd, -)" "0 1 478116000000,1 1 478116000000"
contains "links: the report says so" "$scratch/links.table" " 478.12 NVLink "
"$flamegrid" report "$scratch/links" --ranks -f csv >"$scratch/links.csv"
same "links: CSV" "$(python3 -c 'import csv, sys
print(*(row["link"] + " " + row["link_bytes_per_second"] for row in csv.DictReader(open(sys.argv[1]))))' \
	"$scratch/links.csv")" "NVLink 478116000000"
valid_report "$scratch/links" --ranks
"$flamegrid" merge -o "$scratch/merged" "$scratch/links" 2>/dev/null
same "links: merged" "$(sql "$scratch/merged" 'select count(*), min(bytes_per_second) from device_links' | tr "\t" " ")" "2 478116000000"
