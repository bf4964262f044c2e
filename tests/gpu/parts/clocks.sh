# Clocks, power and energy over time: that NVML answers, that sums fit one another, and what a reading costs. Settings of GPUs are only read.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# clocks_check JSON HIGHEST-MHZ...: the telemetry of each device that did work.
clocks_check() {
	python3 - "$@" <<'PY' || failed=1
import json, sys
highest = max(map(int, sys.argv[2:]))
devices = [device for device in json.load(open(sys.argv[1]))['devices'] if device['records']]
held = bool(devices)
for device in devices:
    row = device['telemetry'] or {}
    name = 'GPU%s' % device['gpu']
    print(name, json.dumps(row))
    seconds = (row.get('observed_ns') or 0) / 1e9
    drawn, energy = (row.get('power_mw') or 0) * (row.get('energy_ns') or 0) / 1e9, row.get('energy_mj') or 0
    checks = [
        ('NVML refuses nothing: %s' % row.get('refusal'), row.get('refusal') == 'none'),
        ('observed for %.1f s of the run' % seconds, seconds > 15),
        ('SM clock, MHz: %s (%s to %s), at most %d' % (row.get('sm_mhz'), row.get('sm_min_mhz'), row.get('sm_max_mhz'), highest),
         0 < (row.get('sm_min_mhz') or 0) <= row['sm_mhz'] <= row['sm_max_mhz'] <= highest),
        ('memory clock, MHz: %s' % row.get('memory_mhz'), (row.get('memory_mhz') or 0) > 0),
        ('times of reasons add up', sum(row.get('reasons_ns', {}).values()) == row.get('observed_ns')),
        ('not idle for 90 % of it', (row.get('clock_ns') or 0) >= 0.9 * row.get('observed_ns', 1)),
        ('energy %.1f J, mean power by time %.1f J: within 5 %%' % (energy / 1e3, drawn / 1e3),
         energy > 0 and abs(drawn - energy) <= 0.05 * energy),
        ('a reading each %.1f ms' % (1e3 * seconds / max(1, row.get('readings', 1) - 1)), row.get('readings', 0) > 3 * seconds),
    ]
    for what, good in checks:
        print('%s %s: %s' % ('ok     ' if good else 'NOT OK ', name, what))
        held &= good
sys.exit(not held)
PY
}

# 20 s of small kernels on one GPU.
clocks() {
	local highest

	mkdir -p "$scratch/programs"
	nvcc -O2 -g -arch=native -cudart shared "$here/programs/steady.cu" -o "$scratch/programs/steady" 2>>"$out/nvcc.log" ||
		{ not_ok "nvcc: $out/nvcc.log"; return; }
	highest=$(nvidia-smi --query-gpu=clocks.max.sm --format=csv,noheader,nounits | tr '\n' ' ')
	"$flamegrid" doctor >"$out/clocks_doctor.txt"
	same "doctor: NVML answers" "$(grep -c '^ok       NVML: answers' "$out/clocks_doctor.txt")" 1
	"$flamegrid" run -o "$scratch/clocks" -- "$scratch/programs/steady" 20 >"$out/clocks.stdout" 2>"$out/clocks.stderr"
	same "clocks: exit status" $? 0
	grep 'profiling cost' "$out/clocks.stderr"
	"$flamegrid" report "$scratch/clocks" -f json >"$out/clocks.json" 2>/dev/null
	"$flamegrid" report "$scratch/clocks" -f table 2>/dev/null | grep -A "$gpus" 'held down by'
	# shellcheck disable=SC2086 # one argument for each GPU
	clocks_check "$out/clocks.json" $highest
}
