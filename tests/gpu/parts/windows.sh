# Capture windows.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# phases FILE ON-MS PERIOD-MS: medians of steady's batches within windows and between them.
phases() {
	awk -v on="$2" -v period="$3" '/^batch/ { at = $2 % period
		if (at > on / 10 && at < on * 0.9) print "in", $3
		else if (at > on + period / 10 && at < period - 50) print "out", $3 }' "$1" >"$scratch/phases"
	printf 'within windows %s ns, between them %s ns a launch\n' \
		"$(sed -n 's/^in //p' "$scratch/phases" | median)" "$(sed -n 's/^out //p' "$scratch/phases" | median)"
}

# windows_of NAME ON-MS PERIOD-MS SECONDS ARGUMENTS-OF-STEADY...
windows_of() {
	local name=$1 on=$2 period=$3 duration=$4 launched kernels
	shift 4

	timeout 120 "$flamegrid" run --duty "${on}ms/${period}ms" -o "$scratch/$name" -- "$scratch/programs/steady" "$duration" "$@" \
		>"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	grep '^flamegrid:' "$out/$name.stderr"
	"$flamegrid" report "$scratch/$name" --format table --top 5 >"$out/$name.table"
	"$flamegrid" report "$scratch/$name" --format json >"$out/$name.json"
	"$flamegrid" report "$scratch/$name" --format folded --weight count >"$out/$name.count.folded"
	launched=$(sed -n 's/^launched //p' "$out/$name.stdout")
	kernels=$(leaf_sum "$out/$name.count.folded" '_Kernel')
	if [ "$kernels" -gt 0 ] && [ "$kernels" -lt "$launched" ]; then ok "$name: $kernels kernels of $launched"; else
		not_ok "$name: $kernels kernels of $launched"; fi
	phases "$out/$name.stdout" "$on" "$period"
}

# Capture windows: what launches cost within and between them; that none hangs, loses or leaks.
windows() {
	nvcc -O2 -g -arch=native -cudart shared "$here/programs/steady.cu" -o "$scratch/programs/steady" 2>>"$out/nvcc.log" ||
		{ not_ok "nvcc: $out/nvcc.log"; return; }
	"$scratch/programs/steady" 4 >"$out/steady.stdout"
	echo "steady, no profiler: $(sed -n 's/^batch [0-9]* //p' "$out/steady.stdout" | median) ns a launch"
	windows_of windows 1000 4000 14
	windows_of windows_cycles 100 300 32
	windows_of windows_threads 200 1000 8 4 1
	windows_of windows_hold 500 2000 10 1 1 hold
	[ "$gpus" -gt 1 ] && windows_of windows_devices 200 1000 8 2 2
	"$scratch/programs/steady" 4 >"$out/steady2.stdout"
	echo "steady, no profiler: $(sed -n 's/^batch [0-9]* //p' "$out/steady2.stdout" | median) ns a launch"
}
