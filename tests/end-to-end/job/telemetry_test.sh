#!/usr/bin/env bash
# Clocks, power and energy of GPUs over time, which a fake NVML tells: sums are exact, in one place and folded on nodes, and what NVML refuses is
# said and stops nothing.
. "$(dirname "$0")/../support/harness.sh"
readers=$(cd "$(dirname "$0")/../readers" && pwd)
fake_windows=$BUILD/tests/fake_windows
cuda=$LD_LIBRARY_PATH
nvml=$BUILD/lib/fake-nvml
list=$(devices 2)
bus() { awk -v index_="$1" '$1 == index_ { print tolower(substr($2, 6, 2)) }' "$list"; }
export FAKE_CUDA_DEVICES=2 FAKE_NVML_LOG=$scratch/log XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkfifo "$scratch/nothing"
jobs=()
at_end() { [ ${#jobs[@]} -eq 0 ] || kill -9 "${jobs[@]}" 2>/dev/null; }

pause() { read -r -t 0.05 _ <>"$scratch/nothing"; }
# begin NAME [OPTION...]: a run in the background, until end.
begin() {
	local name=$1
	touch "$scratch/log"
	shift
	LD_LIBRARY_PATH=$library:$cuda timeout 120 "$flamegrid" run --devices "$list" "$@" -o "$scratch/$name" -- "$fake_windows" \
		--threads "$gpus" --devices "$gpus" --until "$scratch/over" >"$scratch/$name.out.$#" 2>"$scratch/$name.err.$#" &
	jobs+=($!)
}
await_readings() { # COUNT: of all GPUs
	for _ in $(seq 1200); do
		[ "$(wc -l <"$scratch/log" 2>/dev/null || echo 0)" -ge "$1" ] && return
		pause
	done
}
end() { # NAME
	local job
	touch "$scratch/over"
	for job in "${jobs[@]}"; do
		wait "$job"
		same "$1: status" $? 0
	done
	jobs=()
	rm -f "$scratch/over" "$scratch/log"
}
library=$nvml gpus=2 # that do work
# Rows of one GPU add up; all but its first begin where the one before ended.
gpu_rows="(select device, device_index, max(refusal) as refusal, sum(readings) as readings, sum(observed_ns) as observed_ns, sum(energy_ns) as energy_ns,
	sum(energy_mj) as energy_mj, sum(sw_power_cap_ns) as sw_power_cap_ns, sum(hw_thermal_ns) as hw_thermal_ns, sum(free_ns) as free_ns,
	min(sm_min_mhz) as sm_min_mhz, max(sm_max_mhz) as sm_max_mhz, max(max_celsius) as max_celsius, sum(ecc_corrected) as ecc_corrected
	from device_telemetry join devices on id = device group by device)"
# exact NAME GPUS: what FAKE_NVML below says, by SQL.
exact() {
	same "$1: rows, all known, read often" "$(sql "$scratch/$1" "select count(*), max(refusal), min(readings) > 3 from $gpu_rows" | tr '\t' ' ')" \
		"$2 0 1"
	same "$1: times of reasons add up to the time observed" "$(sql "$scratch/$1" 'select sum(observed_ns - idle_ns - hw_thermal_ns
		- hw_power_brake_ns - hw_slowdown_ns - sw_thermal_ns - sw_power_cap_ns - sync_boost_ns - set_clocks_ns - other_ns - free_ns),
		min(observed_ns) > 0 from device_telemetry' | tr '\t' ' ')" "0 1"
	same "$1: energy is the counter's difference" "$(sql "$scratch/$1" "select sum(energy_mj - (readings - 1) * iif(device_index = 0, 87500, 125000)),
		sum(energy_ns - observed_ns) from $gpu_rows" | tr '\t' ' ')" "0 0"
	same "$1: clocks and power by time" "$(sql "$scratch/$1" 'select sum(sm_cycles - clock_ns / 1000 * iif(device_index = 0, 1410, 1980)),
		sum(memory_cycles - clock_ns / 1000 * 2619), sum(power_nj - power_ns / 1000 * iif(device_index = 0, 350000, 500000))
		from device_telemetry join devices on id = device' | tr '\t' ' ')" "0 0 0"
	# The first GPU is as the fake's default, of the second one FAKE_NVML says more.
	same "$1: GPM spans all the time between readings" "$(sql "$scratch/$1" 'select max(gpm_refusal),
		sum(abs(computing_known_ns - observed_ns) + abs(sm_known_ns - observed_ns) + abs(occupancy_known_ns - observed_ns)
		+ abs(tensor_known_ns - observed_ns) + abs(dram_known_ns - observed_ns) + abs(pcie_sent_known_ns - observed_ns)
		+ abs(pcie_received_known_ns - observed_ns) + abs(nvlink_sent_known_ns - observed_ns)
		+ abs(nvlink_received_known_ns - observed_ns)) from device_telemetry' | tr '\t' ' ')" "0 0"
	same "$1: use by time" "$(sql "$scratch/$1" 'select sum(computing_ns - observed_ns / 1000 * iif(device_index = 0, 800, 500)),
		sum(sm_ns - observed_ns / 1000 * iif(device_index = 0, 600, 375)), sum(occupancy_ns - observed_ns / 1000 * 300),
		sum(tensor_ns - observed_ns / 1000 * 200), sum(dram_ns - observed_ns / 1000 * iif(device_index = 0, 400, 750))
		from device_telemetry join devices on id = device' | tr '\t' ' ')" "0 0 0 0 0"
	same "$1: bytes by direction" "$(sql "$scratch/$1" 'select sum(pcie_sent_bytes - observed_ns / 1000 * 16384),
		sum(pcie_received_bytes - observed_ns / 1000 * 32768), sum(nvlink_sent_bytes - observed_ns / 1000 * 65536),
		sum(nvlink_received_bytes - observed_ns / 1000 * 81920) from device_telemetry' | tr '\t' ' ')" "0 0 0 0"
	same "$1: bytes of memory, by its peak" "$(sql "$scratch/$1" 'select sum(dram_bytes_known_ns - dram_known_ns),
		sum(dram_bytes - observed_ns / 1000 * iif(device_index = 0, 1340928, 2514240))
		from device_telemetry join devices on id = device' | tr '\t' ' ')" "0 0"
}

# ---- one place: the first GPU is at its power limit, the second one is too hot each second time
export FAKE_NVML="$(bus 0):sm=1410,reasons=4,power=350000,energy=87500,ecc=2 $(bus 1):reasons=0x48,then=0,computing=50000,active=37500,dram=75000"
# unfitted NAME PLANE: whether a GPU's kernels count alike because their process worked on several.
unfitted() {
	"$flamegrid" report "$scratch/$1" --planes "$2" -f json 2>/dev/null | python3 -c 'import json, sys
print({resource["unfitted"] == "several_gpus" for gpu in json.load(sys.stdin)["resources"] for resource in gpu.values() if isinstance(resource, dict)})'
}
begin run --timeline all
await_readings 12
end run
exact run 2
same "run: the timeline tells kernels of a process on both GPUs apart" "$(unfitted run energy) $(unfitted run use)" "{False} {False}"
same "run: held by power" "$(sql "$scratch/run" "select sw_power_cap_ns = observed_ns, sm_min_mhz, sm_max_mhz, max_celsius,
	ecc_corrected = 2 * (readings - 1) from $gpu_rows where device_index = 0" | tr '\t' ' ')" "1 1410 1410 60 1"
same "run: held by heat, at times" "$(sql "$scratch/run" "select hw_thermal_ns > 0, free_ns > 0, hw_thermal_ns + free_ns = observed_ns
	from $gpu_rows where device_index = 1" | tr '\t' ' ')" "1 1 1"
"$flamegrid" report "$scratch/run" -f table 2>&1 | tr -s " " >"$scratch/table"
contains "run: the table's columns" "$scratch/table" "SM MHz held down by"
contains "run: the table's row" "$scratch/table" " 1410 power cap 100.0% 350 W "
# The first GPU computed in 80 % of the time. The second one's memory was used for longer than it computed.
contains "run: the table has the GPUs' use" "$scratch/table" "computing SM active occupancy tensor DRAM NVLink out/in PCIe out/in"
contains "run: use, of the time in which it computed" "$scratch/table" " 80.0% 75.0% 37.5% 25.0% 50.0% 65.5/81.9 GB/s 16.4/32.8 GB/s "
contains "run: use, of all time" "$scratch/table" " 50.0% 37.5% 30.0% 20.0% 75.0% 65.5/81.9 GB/s 16.4/32.8 GB/s "
same "run: which is of all time" "$(grep -c "; its use is of all time" "$scratch/table")" 1
valid_report "$scratch/run"
same "run: JSON" "$(python3 -c 'import json, sys
row, = (device["telemetry"] for device in json.load(open(sys.argv[1]))["devices"] if device["gpu"] == 0)
print(row["refusal"], row["sm_mhz"], row["power_mw"], row["energy_mj"] == (row["readings"] - 1) * 87500, sum(row["reasons_ns"].values()) == row["observed_ns"])' \
	"$scratch/valid.json")" "none 1410 350000 True True"
same "run: JSON of its use" "$(python3 -c 'import json, sys
for device in json.load(open(sys.argv[1]))["devices"]:
    row = device["telemetry"]["gpm"]
    us = device["telemetry"]["observed_ns"] // 1000
    print(row["refusal"], row["of"], row["known_ns"] == us * 1000, row["computing"], row["sm"], row["occupancy"], row["tensor"], row["dram"],
        row["tensor_ns"] == us * 200, row["nvlink_sent_bytes"] == us * 65536, row["pcie_received_bytes_per_second"])' "$scratch/valid.json" | tr '\n' ' ')" \
	"none computing True 0.8 0.75 0.375 0.25 0.5 True True 32768000000 none all True 0.5 0.375 0.3 0.2 0.75 True True 32768000000 "

# ---- a timeline has the same as counters
"$flamegrid" timeline "$scratch/run" -o "$scratch/t.perfetto" 2>"$scratch/err"
python3 "$readers/read_gauges.py" "$scratch/t.perfetto" >"$scratch/gauges" 2>&1
same "timeline: clocks, power and use of both GPUs" "$(tr '\n' ' ' <"$scratch/gauges")" \
	"GPU 0 DRAM 50 50 GPU 0 SM_active 75 75 GPU 0 SM_clock 1410 1410 GPU 0 memory_clock 2619 2619 GPU 0 power 350 350 GPU 0 tensor 25 25 \
GPU 1 DRAM 75 75 GPU 1 SM_active 38 38 GPU 1 SM_clock 1980 1980 GPU 1 memory_clock 2619 2619 GPU 1 power 500 500 GPU 1 tensor 20 20 "

# ---- merged, also with itself
"$flamegrid" merge -o "$scratch/merged" "$scratch/run" 2>/dev/null
exact merged 2
same "merged: the same" "$(sql "$scratch/merged" 'select * from device_telemetry')" "$(sql "$scratch/run" 'select * from device_telemetry')"

# ---- two nodes, which fold their profiles or do not
for way in central node; do
	for node in 0 1; do
		export PMIX_NAMESPACE=step$way OMPI_COMM_WORLD_RANK=$node OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0
		begin $way --aggregate $way --node-name node$node ${node:+--title $node$node}
		unset PMIX_NAMESPACE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK
	done
	await_readings 24
	end $way
	await_keepers
	exact $way 4
	same "$way: without it they count alike" "$(unfitted $way energy) $(unfitted $way use)" "{True} {True}"
done

# ---- refusals stop nothing, and are said; a GPU that does no work is not read
gpus=1
launched() { same "$1: the rest is there" "$("$flamegrid" report "$scratch/$1" --strict -f json 2>/dev/null | python3 -c 'import json, sys
profile = json.load(sys.stdin)
print(sum(device["records"] for device in profile["devices"]) > 0, {device["telemetry"]["refusal"] for device in profile["devices"]})')" "True {'$2'}"; }
for refusal in 3:not_supported 4:no_permission 15:failed; do
	name=${refusal#*:}
	export FAKE_NVML="*:result=${refusal%:*}"
	begin $name
	await_readings 4
	end $name
	launched $name $name
	same "$name: GPUs" "$(sql "$scratch/$name" 'select count(distinct device) from device_telemetry')" 1
	same "$name: nothing is claimed" "$(sql "$scratch/$name" 'select sum(clock_ns + power_ns + energy_ns + max_celsius + ecc_ns) from device_telemetry')" 0
	"$flamegrid" report "$scratch/$name" -f table >"$scratch/table" 2>&1
	contains "$name: the table says so" "$scratch/table" "; clocks and energy: "
done

# Without GPM all else is there. A GPU that has none is no news, and what was refused is.
for refusal in 3:not_supported 4:no_permission 999:failed; do
	name=${refusal#*:}
	export FAKE_NVML="*:gpm=${refusal%:*}"
	begin gpm_$name
	await_readings 4
	end gpm_$name
	launched gpm_$name none
	same "gpm_$name: nothing of it is claimed, and all else is known" "$(sql "$scratch/gpm_$name" 'select sum(computing_known_ns + sm_known_ns + pcie_sent_known_ns
		+ nvlink_received_known_ns), sum(clock_ns) > 0 and sum(energy_ns) > 0 from device_telemetry' | tr '\t' ' ')" "0 1"
	"$flamegrid" report "$scratch/gpm_$name" -f table >"$scratch/table" 2>&1
	same "gpm_$name: the table says so if it was refused" "$(grep -c "; its counters: " "$scratch/table")" "$([ $name = not_supported ] && echo 0 || echo 1)"
	same "gpm_$name: the table has no columns of it" "$(grep -c "SM active" "$scratch/table")" 0
	same "gpm_$name: JSON has the reason" "$("$flamegrid" report "$scratch/gpm_$name" -f json 2>/dev/null | python3 -c 'import json, sys
print({(device["telemetry"]["gpm"]["refusal"], device["telemetry"]["gpm"]["sm"]) for device in json.load(sys.stdin)["devices"]})')" "{('$name', None)}"
done

# A call that never returns.
export FAKE_NVML="*:hang=1"
begin hangs
for _ in $(seq 1200); do
	[ "$(sql "$scratch/hangs" 'select count(*) > 0 and min(refusal) = 7 from device_telemetry' 2>/dev/null)" = 1 ] && break
	pause
done
end hangs
launched hangs hangs
"$flamegrid" report "$scratch/hangs" -f table >"$scratch/table" 2>&1
contains "hangs: the table says so" "$scratch/table" "; clocks and energy: NVML hangs"

# No library.
library=$BUILD/lib/fake-cuda
begin missing
for _ in $(seq 1200); do
	[ "$(sql "$scratch/missing" 'select count(*) from device_telemetry' 2>/dev/null || echo 0)" -ge 1 ] 2>/dev/null && break
	pause
done
end missing
launched missing no_library

# ---- a late rank whose GPU is slower: its kernels take 1.4 times as long, and so does a cycle
list=$(devices 8)
export FAKE_CUDA_DEVICES=8 FAKE_NVML="$(bus 5):sm=1410,reasons=4"
# late NAME STEPS US, where others take 2 ms. The hosts run ahead, so what holds them up makes nobody late. GPUs are read once their first
# records have come, after half a second, so four seconds are enough.
late() {
	LD_LIBRARY_PATH=$nvml:$BUILD/lib/fake-nccl:$cuda "$flamegrid" run --devices "$list" -o "$scratch/$1" -- "$BUILD/tests/fake_ranks" \
		--ranks 8 --ahead --steps "$2" --gpu 2000-2000 --late-gpu "5:$3" >"$scratch/$1.out" 2>&1
	same "$1: status" $? 0
	"$flamegrid" report "$scratch/$1" --straggler -f json >"$scratch/$1.json"
	python3 -c 'import json, sys
late = [rank for rank in json.load(open(sys.argv[1]))["ranks"] if rank["late"]]
print([rank["rank"] for rank in late], late[0]["causes"][0]["cause"])' "$scratch/$1.json"
}
cause="slower GPU kernels (fake_compute, rank_compute)"
same "slow GPU: who is late, and why" "$(late slow 1500 2800 | tail -n 1)" \
	"[5] $cause, its GPU ran at 1,410 MHz, the others at 1,980 (power cap 100 % of the time)"
"$flamegrid" report "$scratch/slow" --straggler >"$scratch/table"
contains "slow GPU: the closing line" "$scratch/table" "$cause, its GPU ran at 1,410 MHz, the others at 1,980 (power cap 100 % of the time): "
valid_report "$scratch/slow" --straggler
# Ten times as long: the clock explains next to nothing of it.
same "longer work: who is late, and why" "$(late long 200 20000 | tail -n 1)" "[5] $cause"
