# The account of memory.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

build_memory_programs() {
	local program

	mkdir -p "$scratch/programs"
	for program in memory_pattern alloc_bound; do
		gcc -O2 -g -fno-omit-frame-pointer -D_GNU_SOURCE -I/usr/local/cuda/include "$here/programs/$program.c" \
			-o "$scratch/programs/$program" -L/usr/local/cuda/lib64 -Wl,-rpath,/usr/local/cuda/lib64 \
			-lcudart -lpthread 2>"$out/$program.log" || { not_ok "$program: $out/$program.log"; return 1; }
	done
}

# memory_of NAME KEY [SPACE]: a figure of the JSON report's first row of memory in that space, device if not given.
memory_of() {
	python3 - "$scratch/$1.json" "$2" "${3:-device}" <<'PY'
import json, sys
rows = [row for row in json.load(open(sys.argv[1])).get('memory', []) if row['space'] == sys.argv[3]]
print(rows[0][sys.argv[2]] if rows else 'none')
PY
}

# cost_of NAME SED-EXPRESSION COMMAND...: without a profiler, with it, and with memory recorded, in turn.
cost_of() {
	local name=$1 cut=$2 kind
	shift 2

	for _ in 1 2 3 4 5; do
		for kind in none flamegrid memory; do
			with $kind "$@" 2>/dev/null | sed -n "$cut" | tr ' ' '\n' | grep -v '^$' | tail -n +2 \
				>>"$scratch/cost.$name.$kind"
		done
	done
	awk -v n="$(median <"$scratch/cost.$name.none")" -v f="$(median <"$scratch/cost.$name.flamegrid")" \
		-v m="$(median <"$scratch/cost.$name.memory")" -v name="$name" 'BEGIN {
		printf "%s: none %.0f, flamegrid %.0f, with memory %.0f: memory %+.0f, %.3f x none\n", name, n, f, m, m - f, m / n }'
}

memory() {
	local pairs reserved peak

	build_memory_programs || return
	FLAMEGRID_RECORD=memory profile memory_pattern "$scratch/programs/memory_pattern" --rounds 400
	cat "$out/memory_pattern.stdout"
	cp "$scratch/memory_pattern/memory.bytes.folded" "$out/memory_pattern.memory.folded"
	cp "$scratch/memory_pattern/leaks.bytes.folded" "$out/memory_pattern.leaks.folded"
	same "memory_pattern: peak of the device, in bytes" "$(memory_of memory_pattern peak_bytes)" \
		"$(awk '$1 == "peak" { print $3 }' "$out/memory_pattern.stdout")"
	same "memory_pattern: never freed" "$(memory_of memory_pattern live) $(memory_of memory_pattern live_bytes)" \
		"$(awk '$1 == "leaked" { print $3, $4 }' "$out/memory_pattern.stdout")"
	same "memory_pattern: leaks are from leak_buffer" "$(grep -c '_Memory' "$out/memory_pattern.leaks.folded") $(grep -c ';leak_buffer;cudaMalloc;\[GPU0_Memory\]device' "$out/memory_pattern.leaks.folded")" "1 1"
	same "memory_pattern: pinned and managed peaks" "$(memory_of memory_pattern peak_bytes host) $(memory_of memory_pattern peak_bytes managed)" "65536 32768"
	same "memory_pattern: events left out" "$(memory_of memory_pattern left_out)" 0
	same "memory_pattern: frees without an allocation" "$(memory_of memory_pattern unknown_frees)" 0
	echo "memory_pattern: peak $(memory_of memory_pattern peak_bytes), by cudaMemGetInfo $(awk '$1 == "used" { print $3 }' "$out/memory_pattern.stdout") (with the pool's and the driver's own)"
	FLAMEGRID_RECORD=memory profile memory_threads "$scratch/programs/memory_pattern" --rounds 400 --threads 8
	same "memory_threads: never freed" "$(memory_of memory_threads live) $(memory_of memory_threads live_bytes)" \
		"$(awk '$1 == "leaked" { print $3, $4 }' "$out/memory_threads.stdout")"
	echo "memory_threads: peak $(memory_of memory_threads peak_bytes), by the program's count $(awk '$1 == "peak" { print $3 }' "$out/memory_threads.stdout"), left out $(memory_of memory_threads left_out)"
	FLAMEGRID_RECORD=memory profile alloc_bound "$scratch/programs/alloc_bound" 20000
	pairs=$(awk '$1 == "pairs" { print $2 }' "$out/alloc_bound.stdout")
	same "alloc_bound: allocations and frees" "$(memory_of alloc_bound allocs) $(memory_of alloc_bound frees)" "$pairs $pairs"
	same "alloc_bound: peak" "$(memory_of alloc_bound peak_bytes)" 65536
	if have_torch; then
		FLAMEGRID_RECORD=memory profile memory_train python3 "$here/programs/memory_train.py"
		cat "$out/memory_train.stdout"
		cp "$scratch/memory_train/memory.bytes.folded" "$out/memory_train.memory.folded"
		reserved=$(awk '$1 == "reserved_peak" { print $2 }' "$out/memory_train.stdout")
		peak=$(memory_of memory_train peak_bytes)
		if [ "$peak" -ge "$reserved" ]; then ok "memory_train: our peak $peak holds PyTorch's $reserved, and $((peak - reserved)) of others"; else
			not_ok "memory_train: our peak $peak is below PyTorch's $reserved"; fi
		same "memory_train: bytes under a line of the script, of all" \
			"$(awk '{ all += $NF; if (/memory_train.py:/) ours += $NF } END { if (ours > 0.9 * all) print "most"; else printf "%.0f of %.0f\n", ours, all }' "$out/memory_train.memory.folded")" most
	else
		echo "left out: no PyTorch"
	fi
	cost_of alloc_bound 's/^ns.pair://p' "$scratch/programs/alloc_bound" 100000
	if [ -x "$scratch/programs/launch_bound" ] || build_programs; then
		cost_of launch_bound 's/^thread 0 device 0 ns.launch://p' "$scratch/programs/launch_bound" 200000
	fi
}
