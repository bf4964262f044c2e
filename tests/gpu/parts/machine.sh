# The machine: its GPUs, its CUPTI, what is installed.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# The first of these files that is there; nothing if none is.
first_of() {
	local file

	for file in "$@"; do
		[ -e "$file" ] || continue
		printf '%s\n' "$file"
		return
	done
}

have_torch() { python3 -c 'import torch' 2>/dev/null; }

info() {
	nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader
	uname -sr
	ldd --version | head -n 1
	echo "libcupti: ${cupti:-none}"
	"$flamegrid" --version
}
