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

# What one capture costs here: 28 native frames and 10 Python ones.
capture() {
	local library

	library=$(first_of "$root"/bench/libcapture_bench.so "$root"/../libcapture_bench.so)
	[ -n "$library" ] || { not_ok "capture: no libcapture_bench.so in $root"; return; }
	python3 "$here/../bench/capture_bench.py" "$library" | tee "$out/capture.txt"
}
