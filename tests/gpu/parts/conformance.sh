# What the fake CUDA assumes, on the real one.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

conformance() {
	local program

	program=$(first_of "$root"/tests/cuda_conformance "$root"/../cuda_conformance)
	[ -n "$program" ] || { not_ok "conformance: the program is not in $root"; return; }
	if "$program" "$cupti" >"$out/conformance.txt" 2>&1; then ok "conformance on the real CUPTI"; else
		not_ok "conformance on the real CUPTI:"; grep '^not ok' "$out/conformance.txt"; fi
}
