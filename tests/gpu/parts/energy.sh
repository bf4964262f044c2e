# Energy of stacks: it sums to the board's counter, and products of matrices take more power than additions in memory.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

energy() {
	if ! have_torch; then echo "left out: no PyTorch"; return; fi
	CUDA_VISIBLE_DEVICES=0 "$flamegrid" run --timeline all -o "$scratch/energy" -- python3 "$here/programs/energy_work.py" \
		>"$out/energy.stdout" 2>"$out/energy.stderr"
	same "energy: exit status" $? 0
	"$flamegrid" report "$scratch/energy" --planes energy -f table 2>&1 | tee "$out/energy.table" | head -n 40
	"$flamegrid" report "$scratch/energy" --planes energy -o "$scratch/energy.folded" 2>/dev/null
	same "energy: mJ in folded lines, and the counter's difference" "$(awk '{ s += $NF } END { printf "%.0f", s }' "$scratch/energy.folded")" \
		"$(python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select sum(energy_mj) from device_telemetry").fetchone()[0])' "$scratch/energy/profile.db")"
	"$flamegrid" report "$scratch/energy" --planes energy -f json >"$out/energy.json" 2>/dev/null
	"$flamegrid" timeline "$scratch/energy" -o "$out/energy.perfetto" 2>/dev/null
	python3 "$here/../end-to-end/readers/read_gauges.py" "$out/energy.perfetto"
	same "energy: the timeline's counters" $? 0
}
