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
}
