# What GPM says of work whose use of the GPU is known: memory by a copying kernel, half of the multiprocessors by one that waits.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# use_check JSON TRUTH: the GPU that did work, and the program's last line.
use_check() {
	python3 - "$1" "$2" <<'PY' || failed=1
import json, sys
row, = [device['telemetry']['gpm'] for device in json.load(open(sys.argv[1]))['devices'] if device['records']]
words = sys.argv[2].split()
print(json.dumps(row))
held = row is not None and row['refusal'] == 'none' and row['of'] == 'computing'
print('%s nothing is refused, and means are of computing' % ('ok     ' if held else 'NOT OK '))
checks = [('computing', 0.95, 1), ('tensor', 0, 0.01)] if held else []
if held:
    checks += [(name, float(value) - 0.05, float(value) + 0.05) for name, value in zip(words[::2], words[1::2])]
for name, least, most in checks:
    good = row[name] is not None and least <= row[name] <= most
    print('%s %s: %s, expected %.3f to %.3f' % ('ok     ' if good else 'NOT OK ', name, row[name], least, most))
    held &= good
sys.exit(not held)
PY
}

# mix_check JSON TRUTH TOTAL SAMPLE-NS: each kernel of `use mix` or `use loop` by what is known of it. TOTAL: the sum of all folded lines of memory.
# SAMPLE-NS: the length of samples of counters over which it is fitted, 0: over telemetry.
mix_check() {
	python3 - "$1" "$2" "$3" "$4" <<'PY' || failed=1
import json, sys
row, = json.load(open(sys.argv[1]))['resources']
words = sys.argv[2].split()
moved, half, quarter = (float(words[i]) for i in (1, 3, 5))
kernels = {kernel['kernel'].split('(')[0]: kernel for kernel in row['kernels']}
# Amounts are of the time between readings alone, which begin some time after the first kernel.
def mean(kernel, meter): return kernels[kernel][meter]['added_per_second'] / 1e9
copied = kernels['copy']['dram']['added_per_second'] * kernels['copy']['ns'] / 1e9
# GPM has one value a second, in which several kernels run. The confidence is medium.
checks = [('bytes of memory of copy', copied, moved * 0.9, moved * 1.1), ('SM active of spin', mean('spin', 'sm'), half - 0.05, half + 0.05),
          ('occupancy of spin', mean('spin', 'occupancy'), quarter - 0.05, quarter + 0.05),
          ('SM active of wait_on_all', mean('wait_on_all', 'sm'), 0.95, 1.01), ('occupancy of wait_on_all', mean('wait_on_all', 'occupancy'), 0.2, 0.3),
          ('tensor cores of multiply', mean('multiply', 'tensor'), 0.8, 1.01), ('tensor cores of copy', mean('copy', 'tensor'), 0, 0.1),
          ('bytes in folded lines, of those counted', int(sys.argv[3]), row['dram']['amount'], row['dram']['amount']),
          ('length of samples', row['sm']['sample_ns'] or 0, int(sys.argv[4]) * 0.999, int(sys.argv[4]) * 1.001)]
held = True
for name, value, least, most in checks:
    good = least <= value <= most
    print('%s %s: %.4g, expected %.4g to %.4g' % ('ok     ' if good else 'NOT OK ', name, value, least, most))
    held &= good
sys.exit(not held)
PY
}

use() {
	local mode

	mkdir -p "$scratch/programs"
	nvcc -O2 -arch=native -cudart shared "$here/programs/use.cu" -o "$scratch/programs/use" 2>>"$out/nvcc.log" ||
		{ not_ok "nvcc: $out/nvcc.log"; return; }
	"$flamegrid" doctor >"$out/use_doctor.txt"
	if ! grep -q 'use and traffic (GPM) of [1-9]' "$out/use_doctor.txt"; then
		echo "left out: this GPU has no GPM"
		return
	fi
	for mode in stream half; do
		CUDA_VISIBLE_DEVICES=0 "$flamegrid" run -o "$scratch/use_$mode" -- "$scratch/programs/use" $mode 10 >"$out/use_$mode.stdout" 2>"$out/use_$mode.stderr"
		same "use: $mode: exit status" $? 0
		"$flamegrid" report "$scratch/use_$mode" -f json >"$out/use_$mode.json" 2>/dev/null
		"$flamegrid" report "$scratch/use_$mode" -f table 2>/dev/null | grep -A 1 'SM active'
		use_check "$out/use_$mode.json" "$(tail -n 1 "$out/use_$mode.stdout")"
	done
	CUDA_VISIBLE_DEVICES=0 "$flamegrid" run --timeline all -o "$scratch/use_mix" -- "$scratch/programs/use" mix 60 >"$out/use_mix.stdout" 2>"$out/use_mix.stderr"
	same "use: mix: exit status" $? 0
	"$flamegrid" report "$scratch/use_mix" --planes use -f table 2>&1 | tee "$out/use_mix.table" | head -n 20
	"$flamegrid" report "$scratch/use_mix" --planes use -f json >"$out/use_mix.json" 2>/dev/null
	mix_check "$out/use_mix.json" "$(tail -n 1 "$out/use_mix.stdout")" \
		"$("$flamegrid" report "$scratch/use_mix" --planes use --weight dram -f folded 2>/dev/null | awk '{ s += $NF } END { printf "%.0f", s }')" 0
}

# pm_run NAME OPTION...: `use loop` with samples of counters, by what is known of its kernels.
pm_run() {
	local name=$1
	shift
	CUDA_VISIBLE_DEVICES=0 FLAMEGRID_CUPTI=$cupti "$flamegrid" run "$@" -o "$scratch/$name" -- "$scratch/programs/use" loop 20 >"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	"$flamegrid" report "$scratch/$name" --planes use -f table >"$out/$name.table" 2>&1
	grep -A 20 'SM active.*occupancy' "$out/$name.table" | head -n 12
	grep -h '^profiling cost' "$out/$name.table"
	"$flamegrid" report "$scratch/$name" --planes use -f json >"$out/$name.json" 2>/dev/null
	python3 -c 'import json, sys
for device in json.load(open(sys.argv[1]))["devices"]:
    if device["records"]: print(json.dumps(device["counters"]))' "$out/$name.json"
}

# Kernels of a loop, which run in the same proportion all the time: with samples of counters each has its values, with high confidence, and steps of a
# training take as long as without.
pm() {
	local rate kind

	mkdir -p "$scratch/programs"
	nvcc -O2 -arch=native -cudart shared "$here/programs/use.cu" -o "$scratch/programs/use" 2>>"$out/nvcc.log" ||
		{ not_ok "nvcc: $out/nvcc.log"; return; }
	FLAMEGRID_CUPTI=$cupti "$flamegrid" doctor | grep -A 2 'counters' | tee "$out/pm_doctor.txt"
	if ! grep -q 'sample-counters works: [1-9]' "$out/pm_doctor.txt"; then
		echo "left out: counters cannot be sampled here"
		return
	fi
	pm_run pm_none --timeline all
	for rate in 1000 10000; do
		pm_run pm_$rate --timeline all --sample-counters $rate/s
		mix_check "$out/pm_$rate.json" "$(tail -n 1 "$out/pm_$rate.stdout")" \
			"$("$flamegrid" report "$scratch/pm_$rate" --planes use --weight dram -f folded 2>/dev/null | awk '{ s += $NF } END { printf "%.0f", s }')" $((1000000000 / rate))
		python3 - "$out/pm_$rate.json" <<'PY' || failed=1
import json, sys
profile = json.load(open(sys.argv[1]))
row, = profile['resources']
counters, = [device['counters'] for device in profile['devices'] if device['records']]
# The loop never lets the GPU rest. So no more than medium is claimed.
sure = [(kernel['kernel'].split('(')[0], meter, kernel[meter]['confidence'], kernel[meter]['apart']) for kernel in row['kernels'] for meter in ('sm', 'occupancy', 'tensor', 'dram')
        if kernel['kernel'].split('(')[0] in ('copy', 'spin', 'wait_on_all', 'multiply')]
checks = [('nothing is refused', counters['refusal'] == 'none'), ('no sample is missing', counters['overflows'] == counters['unsent'] == 0),
          ('each kernel is told apart: %s' % [one for one in sure if one[3] < 0.9], len(sure) == 16 and all(one[2] == 'medium' and one[3] >= 0.9 for one in sure))]
for what, good in checks:
    print('%s %s' % ('ok     ' if good else 'NOT OK ', what))
sys.exit(not all(good for _, good in checks))
PY
	done
	pm_run pm_kept --sample-counters 1000/s
	if ! have_torch; then echo "steps are left out: no PyTorch"; return; fi
	for _ in 1 2 3 4 5; do
		for kind in off 1000 10000; do
			case $kind in
			off) "$flamegrid" run -q -o "$scratch/pm_steps" -- python3 "$here/programs/tiny_train.py" ;;
			*) FLAMEGRID_CUPTI=$cupti "$flamegrid" run -q --sample-counters $kind/s -o "$scratch/pm_steps" -- python3 "$here/programs/tiny_train.py" ;;
			esac 2>/dev/null | sed -n 's/^ *us.step://p' | tr ' ' '\n' | grep -v '^$' | tail -n +2 >>"$scratch/pm_steps.$kind"
			rm -rf "$scratch/pm_steps"
		done
	done
	for kind in off 1000 10000; do printf 'tiny_train, us a step, samples %-6s %s\n' $kind "$(median <"$scratch/pm_steps.$kind")"; done | tee "$out/pm_steps.txt"
}

# How much earlier GPM's counters were what NVML tells (docs/telemetry.md).
gpmdelay() {
	nvcc -O1 -arch=native "$here/programs/gpm_delay.cu" -o "$scratch/gpm_delay" 2>>"$out/nvcc.log" ||
		{ not_ok "nvcc: $out/nvcc.log"; return; }
	CUDA_VISIBLE_DEVICES=0 "$scratch/gpm_delay" 20000 14 >"$out/gpm_often.txt" &&
		CUDA_VISIBLE_DEVICES=0 "$scratch/gpm_delay" 1000000 20 >"$out/gpm_seldom.txt" ||
		{ not_ok "gpmdelay: the program failed"; return; }
	python3 "$here/programs/gpm_delay_check.py" "$out/gpm_often.txt" "$out/gpm_seldom.txt" || failed=1
}
