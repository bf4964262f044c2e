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

# mix_check JSON TRUTH TOTAL: each kernel of `use mix` by what is known of it; TOTAL: the sum of all folded lines of memory.
mix_check() {
	python3 - "$1" "$2" "$3" <<'PY' || failed=1
import json, sys
row, = json.load(open(sys.argv[1]))['use']
words = sys.argv[2].split()
moved, half, quarter = (float(words[i]) for i in (1, 3, 5))
kernels = {kernel['kernel'].split('(')[0]: kernel for kernel in row['kernels']}
def mean(kernel, meter): return kernels[kernel][meter]['amount'] / kernels[kernel]['ns']
copied = kernels['copy']['dram']['amount']
# GPM has one value a second, in which several kernels run. The confidence is medium.
checks = [('bytes of memory of copy', copied, moved * 0.9, moved * 1.1), ('SM active of spin', mean('spin', 'sm'), half - 0.05, half + 0.05),
          ('occupancy of spin', mean('spin', 'occupancy'), quarter - 0.05, quarter + 0.05),
          ('SM active of wait_on_all', mean('wait_on_all', 'sm'), 0.95, 1.01), ('occupancy of wait_on_all', mean('wait_on_all', 'occupancy'), 0.2, 0.3),
          ('tensor cores of multiply', mean('multiply', 'tensor'), 0.8, 1.01), ('tensor cores of copy', mean('copy', 'tensor'), 0, 0.1),
          ('bytes in folded lines, of those counted', int(sys.argv[3]), row['dram']['amount'], row['dram']['amount'])]
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
		"$("$flamegrid" report "$scratch/use_mix" --planes use --weight dram -f folded 2>/dev/null | awk '{ s += $NF } END { printf "%.0f", s }')"
}
