# Stacks of the interpreters here, and what one costs.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# The interpreters of this machine: Python frames against sys._getframe().
pythons() {
	local script

	script=$(first_of "$root"/../python_versions/python_versions.sh)
	[ -n "$script" ] || { not_ok "pythons: no python_versions/ beside $root"; return; }
	if sh "$script" "$(dirname "$script")/libpython_probe.so" "$(python3 -c 'import sys; print(sys.executable)')" \
		/usr/bin/python3 >"$out/pythons.txt" 2>&1; then ok "pythons"; else not_ok "pythons"; fi
	cat "$out/pythons.txt"
}

# Stacks of real programs, beside backtrace() and the interpreter's own frames, and recognised ones beside walked ones.
agreement() {
	local library model programs="$here/programs"

	library=$(first_of "$root"/tests/libstack_agreement.so)
	[ -n "$library" ] || { not_ok "agreement: no tests/libstack_agreement.so in $root"; return; }
	have_torch || { echo "left out: no PyTorch"; return; }
	for model in tiny gpt resnet compiled; do agree "$library" "$model" "$programs/price_train.py" $model none 1; done
	agree "$library" graph "$programs/graph_train.py"
	agree "$library" triton "$programs/triton_add.py"
	agree "$library" jax "$programs/jax_train.py"
}

# agree LIBRARY NAME PROGRAM [ARG...]: one of them.
agree() {
	local library=$1 name=$2
	shift 2

	if sh "$here/stack_agreement.sh" "$library" "$cupti" python3 "$@" >"$out/agreement.$name" 2>"$out/agreement.$name.stderr"; then
		ok "agreement: $name"
	else
		not_ok "agreement: $name"
		tail -n 2 "$out/agreement.$name.stderr"
	fi
	cat "$out/agreement.$name"
}

# What one capture costs here: 28 native frames and 10 Python ones.
capture() {
	local library

	library=$(first_of "$root"/bench/libcapture_bench.so "$root"/../libcapture_bench.so)
	[ -n "$library" ] || { not_ok "capture: no libcapture_bench.so in $root"; return; }
	python3 "$here/../bench/capture_bench.py" "$library" | tee "$out/capture.txt"
}
