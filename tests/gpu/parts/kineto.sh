# A second user of CUPTI's activity API.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# A second user of CUPTI's activity API: what CUPTI does, and PyTorch's profiler beside ours.
kineto() {
	gcc -O2 "$here/programs/activity_probe.c" -o "$scratch/activity_probe" -ldl || { not_ok "activity_probe"; return; }
	timeout 120 "$scratch/activity_probe" "$cupti" >"$out/activity_probe.txt" 2>&1
	echo "activity_probe: status $?"
	cat "$out/activity_probe.txt"
	have_torch || { echo "left out: no PyTorch"; return; }
	local steps=(20000 20000 400000)
	python3 "$here/programs/torch_profiler.py" "${steps[@]}" >"$out/torch_profiler.alone" 2>&1
	FLAMEGRID_PROFILER_PATIENCE=20 "$flamegrid" run -o "$scratch/torch_profiler" -- \
		python3 "$here/programs/torch_profiler.py" "${steps[@]}" >"$out/torch_profiler.stdout" 2>"$out/torch_profiler.stderr"
	same "torch_profiler: exit status" $? 0
	grep '^flamegrid:' "$out/torch_profiler.stderr"
	same "torch_profiler: its session sees what it sees alone" "$(grep '^session' "$out/torch_profiler.stdout")" \
		"$(grep '^session' "$out/torch_profiler.alone")"
	"$flamegrid" report "$scratch/torch_profiler" --weight count >"$out/torch_profiler.folded"
	for phase in outside_before inside outside_after; do
		echo "torch_profiler: records under $phase(): $(leaf_sum <(grep ":$phase:" "$out/torch_profiler.folded") '_Kernel\]')"
	done
	"$flamegrid" report "$scratch/torch_profiler" --format json | tr -d '\n' | grep -o '"ledger":\[[^]]*\]'
}
