# Training with PyTorch, and Triton.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

train() {
	have_torch || { echo "left out: no PyTorch"; return; }
	profile tiny_train python3 "$here/programs/tiny_train.py"
	whole tiny_train
	echo "tiny_train: under a line of the script: $(share tiny_train '^tiny_train.py:')"
	echo "tiny_train: forward (nn.Linear) under step(): $(share tiny_train 'tiny_train.py:step:.*Linear.forward')"
	echo "tiny_train: autograd threads: $(share tiny_train '^[^;]*;.*torch::autograd::Engine::thread_init')"
	echo "tiny_train: frames missing: $(share tiny_train 'frames missing')"
	"$flamegrid" report "$scratch/tiny_train" --format folded --demangle simple >"$out/tiny_train.simple.folded" 2>/dev/null
	cat "$out/tiny_train.stdout"
	cp "$scratch/tiny_train/flame.html" "$out/tiny_train.html"
}

# A row a rank; all have communicated, and what overlaps is part of that. Kernels and copies are all that the report has.
ddp_ranks() {
	"$flamegrid" report "$scratch/ddp" --ranks | tee "$out/ddp.ranks"
	"$flamegrid" report "$scratch/ddp" --ranks -f json >"$out/ddp.ranks.json"
	python3 - "$out/ddp.ranks.json" "$gpus" <<-'PY' >"$out/ddp.ranks.check" 2>&1
		import json, sys
		rows = json.load(open(sys.argv[1]))["ranks"]
		assert [row["rank"] for row in rows] == list(range(int(sys.argv[2]))), "a row a rank"
		for row in rows:
		    assert row["nccl_kernels"] >= 220, row # one bucket a step at least
		    assert 0 < row["overlap_ns"] <= row["nccl_busy_ns"] <= row["nccl_ns"], row
		    assert row["nccl_busy_ns"] <= row["busy_ns"] <= row["window_ns"], row
		    assert row["busy_ns"] + row["idle_ns"] == row["window_ns"] and row["late"] == 0, row
	PY
	if [ $? -eq 0 ]; then ok "ddp: --ranks"; else not_ok "ddp: --ranks: $(tail -n 1 "$out/ddp.ranks.check")"; fi
	same "ddp: kernels of all ranks" \
		"$(python3 -c 'import json, sys; print(sum(row["kernels"] for row in json.load(open(sys.argv[1]))["ranks"]))' "$out/ddp.ranks.json")" \
		"$("$flamegrid" report "$scratch/ddp" -f json | python3 -c 'import json, sys; print(json.load(sys.stdin)["totals"]["kernels"])')"
}

ddp() {
	have_torch || { echo "left out: no PyTorch"; return; }
	[ "$gpus" -ge 2 ] || { echo "left out: ddp.py wants two GPUs"; return; }
	profile ddp torchrun --nproc_per_node="$gpus" "$here/programs/ddp.py"
	whole ddp
	cat "$out/ddp.stdout"
	for ((gpu = 0; gpu < gpus; gpu++)); do
		if grep -q "\\[GPU${gpu}_Kernel\\]" "$out/ddp.count.folded"; then ok "ddp: GPU$gpu is there"; else
			not_ok "ddp: GPU$gpu is missing"; fi
	done
	ddp_ranks
	cp "$scratch/ddp/flame.html" "$out/ddp.html"
}

triton() {
	python3 -c 'import triton' 2>/dev/null || { echo "left out: no Triton"; return; }
	profile triton python3 "$here/programs/triton_add.py"
	# Each kernel's launcher is a library of its own, whose first launches come before its unwind table.
	whole triton 95
	same "triton: kernels under launch_triton_add()" \
		"$(leaf_sum <(grep 'triton_add.py:launch_triton_add:' "$out/triton.count.folded") '_Kernel\]add_kernel')" 500
}

# The other kinds of stacks, on the training step.
modes() {
	have_torch || { echo "left out: no PyTorch"; return; }
	for mode in full native python; do
		FLAMEGRID_STACKS=$mode profile "train_$mode" python3 "$here/programs/tiny_train.py"
		whole "train_$mode"
	done
}
