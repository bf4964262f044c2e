# Samples of running kernels: planted bottlenecks are named, and samples and times are exact.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# stalls_run NAME COMMAND...: its plane as folded text, and its report.
stalls_run() {
	local name=$1
	shift
	"$flamegrid" run -q --record stalls -o "$scratch/$name" -- "$@" >"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	"$flamegrid" report "$scratch/$name" --planes stalls -u ns -o "$scratch/$name.folded" 2>/dev/null
	"$flamegrid" report "$scratch/$name" --planes stalls -f json -o "$scratch/$name.json" 2>/dev/null
}

# STALLS_RUNS: how often.
stalls() {
	local number name

	nvcc -O2 -lineinfo -arch=native "$here/programs/stall_plants.cu" -o "$scratch/stall_plants" 2>"$out/nvcc-stalls.log" ||
		{ not_ok "nvcc: $out/nvcc-stalls.log"; return; }
	for ((number = 1; number <= ${STALLS_RUNS:-20}; number++)); do
		name=stalls.$number
		stalls_run "$name" "$scratch/stall_plants" 60
		python3 "$here/programs/stall_check.py" "$here/programs/stall_plants.cu" "$scratch/$name.folded" "$scratch/$name.json" \
			"$scratch/$name/profile.db" >"$out/$name.check" 2>&1 || failed=1
		grep '^NOT OK' "$out/$name.check"
	done
	cat "$out/$name.check"
	"$flamegrid" report "$scratch/$name" --planes stalls -f table -o "$out/stalls.table" 2>/dev/null
	cat "$out"/stalls.*.check | sort | sed 's/[0-9][0-9]*/N/g' | sort | uniq -c
	if have_torch; then
		stalls_run stalls_train python3 "$here/programs/tiny_train.py"
		python3 "$here/programs/stall_check.py" /dev/null "$scratch/stalls_train.folded" "$scratch/stalls_train.json" \
			"$scratch/stalls_train/profile.db" || failed=1
	fi
}
