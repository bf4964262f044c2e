#!/usr/bin/env bash
# Everything that needs a real GPU, in one run: conformance of the fake CUDA's assumptions, exact counts on the sample
# programs, and what profiling costs against CUPTI's own floor (cupti_floor.c) and against no profiler, A/B/A/B.
#
# Usage: tests/gpu/measure.sh FLAMEGRID-ROOT OUT-DIR [PART...]
#   FLAMEGRID-ROOT  an unpacked tarball or a build folder (bin/flamegrid, lib/libflamegrid_inject.so)
#   OUT-DIR         reports and logs go there
#   PART            info conformance demo counts train ddp graph triton pythons capture modes soak overhead threads life
#                   restart windows timeline options api memory nvtx kineto inner (default: all of them)
# Needs nvcc for the launch-bound program, and PyTorch for the training ones; says what it left out.
# Exit status: 0 every check held, 1 one did not (its line begins with "NOT OK").
set -u
root=$(readlink -f "$1") || exit 1
out=$2
shift 2
here=$(dirname "$(readlink -f "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flamegrid=$root/bin/flamegrid
failed=0
gpus=$(nvidia-smi -L 2>/dev/null | wc -l)
mkdir -p "$out"

ok() { printf 'ok      %s\n' "$*"; }
not_ok() { printf 'NOT OK  %s\n' "$*"; failed=1; }
same() { if [ "$2" = "$3" ]; then ok "$1: $2"; else not_ok "$1: $2, expected $3"; fi; }
have_torch() { python3 -c 'import torch' 2>/dev/null; }
wants() { [ "$parts" = all ] || case " $parts " in *" $1 "*) true ;; *) false ;; esac; }

# Sum of the weights of folded lines whose leaf matches.
leaf_sum() { awk -v leaf="$2" '{ n = $NF; $NF = ""; if ($0 ~ leaf) s += n } END { printf "%d\n", s }' "$1"; }

cupti=$(python3 - 2>/dev/null <<'PY' || true
import glob, sysconfig
base = sysconfig.get_paths()['purelib']
hits = sorted(glob.glob(base + '/nvidia/*/lib/libcupti.so.*'))
print(hits[-1] if hits else '')
PY
)
[ -z "${FLAMEGRID_CUPTI:-}" ] || cupti=$FLAMEGRID_CUPTI
[ -n "$cupti" ] || cupti=$(ls /usr/local/cuda/lib64/libcupti.so /usr/local/cuda/extras/CUPTI/lib64/libcupti.so 2>/dev/null | head -n 1)

info() {
	nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader
	uname -sr
	ldd --version | head -n 1
	echo "libcupti: ${cupti:-none}"
	"$flamegrid" --version
}

build_programs() {
	mkdir -p "$scratch/programs"
	nvcc -O2 -g -arch=native -cudart shared -Xcompiler -fno-omit-frame-pointer "$here/programs/launch_bound.cu" \
		-o "$scratch/programs/launch_bound" 2>"$out/nvcc.log" || { not_ok "nvcc: $out/nvcc.log"; return 1; }
	nvcc -O2 -g -arch=native -cudart shared -Xcompiler -fno-omit-frame-pointer "$here/programs/timeline_work.cu" \
		-o "$scratch/programs/timeline_work" -L/usr/local/cuda/lib64/stubs -lcuda 2>>"$out/nvcc.log" ||
		{ not_ok "nvcc: $out/nvcc.log"; return 1; }
	nvcc -O2 -g -arch=native -cudart shared "$here/programs/occupancy.cu" -o "$scratch/programs/occupancy" \
		2>"$out/nvcc-occupancy.log" || { not_ok "nvcc: $out/nvcc-occupancy.log"; return 1; }
	gcc -O2 -shared -fPIC -I/usr/local/cuda/include "$here/programs/cupti_floor.c" -o "$scratch/libcupti_floor.so" \
		-Wl,-rpath,"$(dirname "$cupti")" "$cupti" 2>"$out/floor.log" || { not_ok "floor: $out/floor.log"; return 1; }
}

conformance() {
	local program

	program=$(ls "$root"/tests/cuda_conformance "$root"/../cuda_conformance 2>/dev/null | head -n 1)
	[ -n "$program" ] || { not_ok "conformance: the program is not in $root"; return; }
	if "$program" "$cupti" >"$out/conformance.txt" 2>&1; then ok "conformance on the real CUPTI"; else
		not_ok "conformance on the real CUPTI:"; grep '^not ok' "$out/conformance.txt"; fi
}

# profile NAME COMMAND...: runs it under flamegrid, keeps folded outputs by stream.
profile() {
	local name=$1
	shift

	"$flamegrid" run -o "$scratch/$name" -- "$@" >"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	grep '^flamegrid:' "$out/$name.stderr"
	"$flamegrid" report "$scratch/$name" --format folded --unit ns >"$out/$name.ns.folded"
	"$flamegrid" report "$scratch/$name" --format folded --weight count >"$out/$name.count.folded"
	"$flamegrid" report "$scratch/$name" --format folded --weight count --by gpu,stream >"$out/$name.streams.folded"
	"$flamegrid" report "$scratch/$name" --format table --top 25 >"$out/$name.table"
	"$flamegrid" report "$scratch/$name" --format json >"$scratch/$name.json"
	"$flamegrid" report "$scratch/$name" --format table --strict >/dev/null 2>&1
	same "$name: nothing lost (report --strict)" $? 0
	same "$name: folded count and ns by device equal what CUPTI delivered" "$(python3 - "$scratch/$name/profile.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
folded = db.execute('select process, device_id, sum(count), sum(ns) from totals group by 1, 2 order by 1, 2').fetchall()
made = db.execute('select process, device_id, count, ns from ledger where reason = 5 order by 1, 2').fetchall()
print('equal' if folded == made and folded else f'{folded} and {made}')
PY
	)" equal
	same "$name: records without a launch" "$(grep -c '^\[unknown stack\]' "$out/$name.count.folded")" 0
}

check_launch_bound() {
	local name=$1 tiny spin

	tiny=$(sed -n 's/^launched tiny \([0-9]*\) spin .*/\1/p' "$out/$name.stdout")
	spin=$(sed -n 's/^launched tiny [0-9]* spin \([0-9]*\)/\1/p' "$out/$name.stdout")
	same "$name: tiny kernels" "$(leaf_sum "$out/$name.count.folded" '_Kernel\]tiny')" "$tiny"
	same "$name: spin kernels" "$(leaf_sum "$out/$name.count.folded" '_Kernel\]spin')" "$spin"
	same "$name: lines without launch_tiny or launch_spin above their kernel" \
		"$(grep '_Kernel\]' "$out/$name.count.folded" | grep -cvE 'launch_tiny.*\]tiny|launch_spin.*\]spin')" 0
	same "$name: memsets under worker" "$(grep '_Memset\]' "$out/$name.count.folded" | grep -c worker)" \
		"$(grep -c '_Memset\]' "$out/$name.count.folded")"
}

counts() {
	profile launch_bound "$scratch/programs/launch_bound" 200000
	whole launch_bound
	check_launch_bound launch_bound
	same "launch_bound: streams with kernels" \
		"$(grep '_Kernel\]tiny' "$out/launch_bound.streams.folded" | cut -d';' -f1,2 | sort -u | wc -l)" 4
	profile launch_threads "$scratch/programs/launch_bound" 100000 4 "$gpus"
	check_launch_bound launch_threads
	for ((gpu = 0; gpu < gpus; gpu++)); do
		same "launch_threads: tiny on GPU$gpu" \
			"$(leaf_sum "$out/launch_threads.count.folded" "\\[GPU${gpu}_Kernel\\]tiny")" $((4 * 5 * 100000 / gpus))
	done
}

# whole NAME [SHARE]: at least 99.9 % (or SHARE) of the launches reached a root, by the ledger; says what stopped the others.
whole() {
	python3 - "$scratch/$1/profile.db" "$1" "${2:-99.9}" <<'PY' || failed=1
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
count = dict(db.execute('select reason, sum(count) from ledger group by 1'))
names = {19: 'table not ready', 20: 'no usable rule', 21: 'truncated', 22: 'mismatch', 4: 'stack table full', 23: 'no Python frames'}
lacking = sum(count.get(reason, 0) for reason in (19, 20, 21, 4))
share = 100 * (1 - lacking / max(count.get(0, 0), 1))
print('%s %s: %.3f %% of %d launches reach a root (%s)' % (
    'ok     ' if share >= float(sys.argv[3]) else 'NOT OK ', sys.argv[2], share, count.get(0, 0),
    ', '.join('%s %d' % (names[r], count[r]) for r in names if count.get(r)) or 'none lacks anything'))
for (text,) in db.execute("select distinct cast(s.data as text) from process_notices n join strings s on s.id = n.text where cast(s.data as text) like '%unwind%' or cast(s.data as text) like '%native stacks%'"):
    print('        ', text)
sys.exit(share < float(sys.argv[3]))
PY
}

# share NAME EXPRESSION: how many of the GPU records counted in its folded lines match.
share() { awk -v want="$2" '{ n = $NF; all += n; if ($0 ~ want) s += n } END { printf "%d of %d\n", s, all }' "$out/$1.count.folded"; }

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
	cp "$scratch/ddp/flame.html" "$out/ddp.html"
}

# captured NAME LINE: every node's record stands under the code that captured it, LINE among it.
captured() {
	local name=$1 line=$2

	python3 - "$scratch/$name/profile.db" "$name" <<'PY' || failed=1
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
unknown = dict(db.execute('select reason, sum(count) from ledger group by 1')).get(25, 0)
print('%s %s: records of graph nodes whose capture is not known: %d' % ('NOT OK ' if unknown else 'ok     ', sys.argv[2], unknown))
sys.exit(unknown != 0)
PY
	echo "$name: under [captured at]: $(share "$name" ';.captured at.;')"
	echo "$name: captured by $line: $(share "$name" ";.captured at.;.*$line")"
	if grep -q "captured at.;.*$line" "$out/$name.count.folded"; then ok "$name: the captured line is there"; else
		not_ok "$name: nothing was captured by $line"; fi
}

graph() {
	have_torch || { echo "left out: no PyTorch"; return; }
	profile graph python3 "$here/programs/graph.py"
	whole graph
	captured graph graph.py:forward
	echo "graph: under replay(): $(share graph '^graph.py:<module>:[0-9]+;graph.py:replay:[0-9]+;')"
	profile graph_train python3 "$here/programs/graph_train.py"
	whole graph_train
	captured graph_train graph_train.py:forward
	cat "$out/graph_train.stdout"
	"$flamegrid" report "$scratch/graph_train" --format folded --demangle simple --weight count >"$out/graph_train.simple.folded" 2>/dev/null
	FLAMEGRID_GRAPHS=launch profile graph_launch python3 "$here/programs/graph_train.py"
	same "graph_launch: one record a replay" "$(leaf_sum "$out/graph_launch.count.folded" '_Graph\]')" 2500
	cat "$out/graph_launch.stdout"
}

# A long replay: device memory stays, no record comes without times. Argument by environment: SOAK_REPLAYS.
soak() {
	have_torch || { echo "left out: no PyTorch"; return; }
	profile soak python3 "$here/programs/graph_train.py" "${SOAK_REPLAYS:-8000}"
	captured soak graph_train.py:forward
	cat "$out/soak.stdout"
	tail -n 3 "$out/soak.table"
}

triton() {
	python3 -c 'import triton' 2>/dev/null || { echo "left out: no Triton"; return; }
	profile triton python3 "$here/programs/triton_add.py"
	# Each kernel's launcher is a library of its own, whose first launches come before its unwind table.
	whole triton 95
	same "triton: kernels under launch_triton_add()" \
		"$(leaf_sum <(grep 'triton_add.py:launch_triton_add:' "$out/triton.count.folded") '_Kernel\]add_kernel')" 500
}

# The interpreters of this machine: Python frames against sys._getframe().
pythons() {
	local script

	script=$(ls "$root"/../python_versions/python_versions.sh 2>/dev/null | head -n 1)
	[ -n "$script" ] || { not_ok "pythons: no python_versions/ beside $root"; return; }
	if sh "$script" "$(dirname "$script")/libpython_probe.so" "$(python3 -c 'import sys; print(sys.executable)')" \
		/usr/bin/python3 >"$out/pythons.txt" 2>&1; then ok "pythons"; else not_ok "pythons"; fi
	cat "$out/pythons.txt"
}

# What one capture costs here: 28 native frames and 10 Python ones.
capture() {
	local library

	library=$(ls "$root"/bench/libcapture_bench.so "$root"/../libcapture_bench.so 2>/dev/null | head -n 1)
	[ -n "$library" ] || { not_ok "capture: no libcapture_bench.so in $root"; return; }
	python3 "$here/../bench/capture_bench.py" "$library" | tee "$out/capture.txt"
}

# The other kinds of stacks, on the training step.
modes() {
	have_torch || { echo "left out: no PyTorch"; return; }
	for mode in full native python; do
		FLAMEGRID_STACKS=$mode profile "train_$mode" python3 "$here/programs/tiny_train.py"
		whole "train_$mode"
	done
}

# One timed run of each configuration, in turn, three rounds.
with() {
	case $1 in
	none) shift; "$@" ;;
	floor) shift; CUDA_INJECTION64_PATH=$scratch/libcupti_floor.so "$@" ;;
	flamegrid) shift; "$flamegrid" run -q -o "$scratch/timed" -- "$@" ;;
	record=*)
		local list=${1#record=}
		shift
		"$flamegrid" run -q --record "$list" -o "$scratch/timed" -- "$@" ;;
	memory) shift; "$flamegrid" run -q --record memory -o "$scratch/timed" -- "$@" ;;
	esac
}

median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# overhead_of NAME SED-EXPRESSION COMMAND...: the figures that the expression cuts out, without each run's first.
overhead_of() {
	local name=$1 cut=$2 round kind
	shift 2

	for round in 1 2 3 4 5; do
		for kind in none floor flamegrid; do
			with $kind "$@" 2>/dev/null | sed -n "$cut" | tr ' ' '\n' | grep -v '^$' | tail -n +2 |
				tee -a "$scratch/$name.$kind" | median >>"$out/$name.$kind.rounds"
		done
	done
	local none floor ours
	none=$(median <"$scratch/$name.none")
	floor=$(median <"$scratch/$name.floor")
	ours=$(median <"$scratch/$name.flamegrid")
	for kind in none floor flamegrid; do
		printf '%-12s %-10s median of each round: %s\n' "$name" $kind "$(tr '\n' ' ' <"$out/$name.$kind.rounds")"
	done
	awk -v n="$none" -v f="$floor" -v o="$ours" -v name="$name" 'BEGIN {
		printf "%s: none %.0f, floor %.0f, flamegrid %.0f: floor %+.0f, %.3f x floor, %.3f x none\n",
			name, n, f, o, o - f, o / f, o / n }'
}

overhead() {
	overhead_of launch_bound 's/^thread 0 device 0 ns.launch://p' "$scratch/programs/launch_bound" 200000
	have_torch && overhead_of tiny_train 's/^ *us.step://p' python3 "$here/programs/tiny_train.py"
	have_torch && overhead_of graph_train 's/^ *us.step://p' python3 "$here/programs/graph_train.py"
}

# Several threads that launch at once: what the guest's lanes cost, and where CUPTI itself serialises.
threads() {
	overhead_of launch_threads4 's/^thread 0 device 0 ns.launch://p' "$scratch/programs/launch_bound" 50000 4 1
}

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
	local name=$1 cut=$2 round kind
	shift 2

	for round in 1 2 3 4 5; do
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
	cp "$scratch/memory_pattern/memory.folded" "$out/memory_pattern.memory.folded"
	cp "$scratch/memory_pattern/leaks.folded" "$out/memory_pattern.leaks.folded"
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
		cp "$scratch/memory_train/memory.folded" "$out/memory_train.memory.folded"
		reserved=$(awk '$1 == "reserved_peak" { print $2 }' "$out/memory_train.stdout")
		peak=$(memory_of memory_train peak_bytes)
		if [ "$peak" -ge "$reserved" ]; then ok "memory_train: our peak $peak holds PyTorch's $reserved, and $((peak - reserved)) of others"; else
			not_ok "memory_train: our peak $peak is below PyTorch's $reserved"; fi
		same "memory_train: bytes under a line of the script, of all" \
			"$(awk '{ all += $NF; if (/memory_train.py:/) ours += $NF } END { print (ours > 0.9 * all) ? "most" : ours " of " all }' "$out/memory_train.memory.folded")" most
	else
		echo "left out: no PyTorch"
	fi
	cost_of alloc_bound 's/^ns.pair://p' "$scratch/programs/alloc_bound" 100000
	if [ -x "$scratch/programs/launch_bound" ] || build_programs; then
		cost_of launch_bound 's/^thread 0 device 0 ns.launch://p' "$scratch/programs/launch_bound" 200000
	fi
}

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
	[ "$kernels" -gt 0 ] && [ "$kernels" -lt "$launched" ] && ok "$name: $kernels kernels of $launched" ||
		not_ok "$name: $kernels kernels of $launched"
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

# calls NAME EXPRESSION: how often functions that match were called, by its profile.
calls() { awk -F, -v want="$2" '$2 ~ want { s += $3 } END { printf "%d\n", s }' "$out/$1.calls.csv"; }

# One timed run each without a profiler, without counting, with a short list, with all: ns a launch or us a step.
api_cost() {
	local name=$1 cut=$2 round kind
	shift 2

	for round in 1 2 3 4 5; do
		for kind in none off short all; do
			case $kind in
			none) "$@" ;;
			off) with flamegrid "$@" ;;
			short) FLAMEGRID_API='cudaMalloc*,cuMemcpy*' with flamegrid "$@" ;;
			all) FLAMEGRID_API=all with flamegrid "$@" ;;
			esac 2>/dev/null | sed -n "$cut" | tr ' ' '\n' | grep -v '^$' | tail -n +2 >>"$scratch/$name.api.$kind"
		done
	done
	for kind in none off short all; do printf '%-12s %-6s %s\n' "$name" $kind "$(median <"$scratch/$name.api.$kind")"; done |
		tee "$out/$name.api.txt"
	awk -v name="$name" '{ v[$2] = $3 } END { printf "%s: a short list costs %+.0f, all %+.0f, over flamegrid without --api\n",
		name, v["short"] - v["off"], v["all"] - v["off"] }' "$out/$name.api.txt"
}

api() {
	local launched kernel threads bytes blocks registers static_bytes launches row wrong=0 nr=0

	FLAMEGRID_API=all profile api_launch_bound "$scratch/programs/launch_bound" 50000 2 1
	check_launch_bound api_launch_bound
	"$flamegrid" report "$scratch/api_launch_bound" --format csv --rows calls >"$out/api_launch_bound.calls.csv"
	cp "$scratch/api_launch_bound/api.txt" "$out/api_launch_bound.api.txt"
	launched=$(sed -n 's/^launched tiny \([0-9]*\) spin \([0-9]*\)/\1 \2/p' "$out/api_launch_bound.stdout" | awk '{ print $1 + $2 }')
	same "api: launches by the runtime" "$(calls api_launch_bound '^cudaLaunchKernel$')" "$launched"
	same "api: launches by the driver" "$(calls api_launch_bound '^cuLaunchKernel(Ex)?$')" "$launched"
	same "api: cudaMalloc" "$(calls api_launch_bound '^cudaMalloc$')" 2
	same "api: cudaStreamCreate" "$(calls api_launch_bound '^cudaStreamCreate$')" 8
	same "api: cudaDeviceSynchronize" "$(calls api_launch_bound '^cudaDeviceSynchronize$')" $((2 * 5 * (50000 / 1024 + 1)))
	same "api: the profiler's own questions" "$(calls api_launch_bound '^cuDeviceGetUuid')" 0
	same "api: rows outside of count times min and max" \
		"$(awk -F, 'NR > 1 && ($5 * $3 > $4 || $4 > $6 * $3)' "$out/api_launch_bound.calls.csv" | wc -l)" 0
	FLAMEGRID_API='cudaMalloc*,cuLaunchKernel*' profile api_short "$scratch/programs/launch_bound" 20000
	"$flamegrid" report "$scratch/api_short" --format csv --rows calls >"$out/api_short.calls.csv"
	same "api: a list counts what it names" "$(cut -d, -f2 "$out/api_short.calls.csv" | grep -vcE '^(function|cudaMalloc.*|cuLaunchKernel.*)$')" 0

	profile occupancy "$scratch/programs/occupancy"
	"$flamegrid" report "$scratch/occupancy" --format csv --rows configurations --demangle none >"$out/occupancy.csv"
	while read -r _ kernel threads bytes blocks registers static_bytes launches; do
		nr=$((nr + 1))
		row=$(awk -F, -v k="$kernel" -v t="$threads" -v b="$bytes" '$1 == k && $6 == t && $10 == b { print $17, $11, $9, $13 }' \
			"$out/occupancy.csv")
		# CUPTI tells registers as they are allocated: at least 16.
		[ "$registers" -lt 16 ] && registers=16
		[ "$row" = "$blocks $registers $static_bytes $launches" ] && continue
		wrong=$((wrong + 1))
		echo "         $kernel $threads threads, $bytes bytes: $row, CUDA says $blocks $registers $static_bytes $launches"
	done < <(grep '^occupancy ' "$out/occupancy.stdout")
	same "occupancy: configurations that differ from CUDA's word, of $nr" "$wrong" 0

	api_cost launch_bound 's/^thread 0 device 0 ns.launch://p' "$scratch/programs/launch_bound" 200000
	have_torch || { echo "left out: no PyTorch"; return; }
	FLAMEGRID_API=all profile api_train python3 "$here/programs/tiny_train.py"
	cp "$scratch/api_train/api.txt" "$out/api_train.api.txt"
	head -n 30 "$out/api_train.api.txt"
	api_cost tiny_train 's/^ *us.step://p' python3 "$here/programs/tiny_train.py"
}

demo() {
	local program

	program=$(ls "$root"/bin/flamegrid-demo-train "$root"/share/flamegrid/flamegrid-demo-train 2>/dev/null | head -n 1)
	PATH=$(dirname "$program"):$PATH profile demo "$(basename "$program")"
	sed -n 's/^launched \([0-9]*\) \([a-z0-9_]*\) \([0-9]*\)/\1 \2 \3/p' "$out/demo.stdout" | sort >"$scratch/demo.want"
	awk '{ n = $NF; nr = split($0, f, ";"); leaf = f[nr]; sub(/ [0-9]+$/, "", leaf)
		if (match(leaf, /^\[GPU[0-9]+_Kernel\]/)) { gpu = substr(leaf, 5, RLENGTH - 12); sum[gpu " " substr(leaf, RLENGTH + 1)] += n } }
		END { for (k in sum) print k, sum[k] }' "$out/demo.count.folded" | sort >"$scratch/demo.have"
	same "demo: counts by GPU and kernel" "$(tr '\n' ' ' <"$scratch/demo.have")" "$(tr '\n' ' ' <"$scratch/demo.want")"
	cp "$scratch/demo/flame.html" "$out/demo.html"
	head -n 40 "$out/demo.table"
}

build_driver_program() {
	gcc -O2 -D_GNU_SOURCE -I/usr/local/cuda/include "$here/../cli/process_life/life_driver.c" -o "$scratch/driver_program" \
		-ldl 2>"$out/driver_program.log" || not_ok "driver program: $out/driver_program.log"
}

# What the fake assumes of the driver's end and of forked children; and the program is the same with us.
life() {
	local how

	build_driver_program
	for how in "" child after; do
		"$scratch/driver_program" $how >"$out/life.plain" 2>"$out/life.plain.err"
		same "life $how: status without us" $? 0
		"$flamegrid" run -q -o "$scratch/life" -- "$scratch/driver_program" $how >"$out/life.run" 2>"$out/life.run.err"
		same "life $how: status with us" $? 0
		same "life $how: output" "$(cat "$out/life.run" "$out/life.run.err")" "$(cat "$out/life.plain" "$out/life.plain.err")"
		same "life $how: kernels in the profile" \
			"$("$flamegrid" report "$scratch/life" --format folded --weight count 2>/dev/null | awk '{ s += $NF } END { print s + 0 }')" 300
		grep -E 'forked child|exit handler' "$out/life.plain"
	done
	same "life: CUDA in a forked child (NOT_INITIALIZED)" "$("$scratch/driver_program" child | sed -n 's/in a forked child: //p')" 3
	same "life: CUDA after its exit handler (DEINITIALIZED)" "$("$scratch/driver_program" after | sed -n "s/after CUDA's exit handler: //p")" 4
	for how in /usr/local/cuda*/lib64/libcupti.so.1? /usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1? "$cupti"; do
		[ -r "$how" ] || continue
		FLAMEGRID_CUPTI=$how "$flamegrid" run -q -o "$scratch/life" -- "$scratch/driver_program" >/dev/null 2>&1
		same "life with $how: status" $? 0
		"$flamegrid" report "$scratch/life" --format json 2>/dev/null | grep -A3 '^"notices"'
	done
}

# The agent killed and started again in the middle of a job: every kernel once.
restart() {
	local launches=300000 agent job aggregator

	build_driver_program
	"$flamegrid" aggregate --listen "ipc://$scratch/aggregator" --store "$scratch/restart.db" 2>"$out/restart.aggregator" &
	aggregator=$!
	"$flamegrid" agent --connect "ipc://$scratch/aggregator" --socket "$scratch/agent" 2>"$out/restart.agent" &
	agent=$!
	until [ -S "$scratch/agent" ]; do sleep 0.1; done
	"$flamegrid" run --agent "$scratch/agent" -- "$scratch/driver_program" $launches >"$out/restart.stdout" 2>"$out/restart.stderr" &
	job=$!
	for _ in 1 2 3; do
		sleep 6
		kill -9 $agent
		wait $agent 2>/dev/null
		"$flamegrid" agent --connect "ipc://$scratch/aggregator" --socket "$scratch/agent" 2>>"$out/restart.agent" &
		agent=$!
	done
	wait $job
	same "restart: the job's status" $? 0
	kill -TERM $agent
	wait $agent
	kill -TERM $aggregator
	wait $aggregator
	same "restart: kernels" "$("$flamegrid" report "$scratch/restart.db" --format folded --weight count 2>/dev/null |
		awk '{ s += $NF } END { print s + 0 }')" $launches
	"$flamegrid" report "$scratch/restart.db" --strict >"$out/restart.table" 2>&1
	same "restart: nothing lost (report --strict)" $? 0
	grep -i 'lost' "$out/restart.table"
}

# plane NAME PLANE: the folded counts and bytes of a plane.
plane() {
	"$flamegrid" report "$scratch/$1" --planes "$2" --weight count >"$out/$1.$2.count.folded" 2>/dev/null
	"$flamegrid" report "$scratch/$1" --planes "$2" --unit ns >"$out/$1.$2.ns.folded" 2>/dev/null
	"$flamegrid" report "$scratch/$1" --planes "$2" --weight bytes >"$out/$1.$2.bytes.folded" 2>/dev/null
}
at_least() { if [ "$2" -ge "$3" ]; then ok "$1: $2 (at least $3)"; else not_ok "$1: $2, expected at least $3"; fi; }
# under FILE FUNCTION LEAF: the sum of the lines with that function and that leaf.
under() { awk -v function_name="$2" -v leaf="$3" '{ n = $NF; $NF = ""; if ($0 ~ function_name && $0 ~ leaf) s += n } END { printf "%d\n", s }' "$1"; }

# Waits, overhead, unified memory and loads of code, in known numbers.
timeline() {
	local rounds=30 mib=67108864

	FLAMEGRID_RECORD=sync,overhead,um,modules profile timeline "$scratch/programs/timeline_work" $rounds
	cat "$out/timeline.stdout"
	for name in sync overhead um modules; do
		plane timeline $name
		echo "-- $name: count"
		cat "$out/timeline.$name.count.folded"
	done
	same "timeline: waits for the device" "$(under "$out/timeline.sync.count.folded" wait_for_device '_Sync.context')" $rounds
	same "timeline: waits for a stream" "$(under "$out/timeline.sync.count.folded" wait_for_stream '_Sync.stream')" $rounds
	same "timeline: waits for an event" "$(under "$out/timeline.sync.count.folded" wait_for_event '_Sync.event')" $rounds
	same "timeline: streams that wait for an event" "$(under "$out/timeline.sync.count.folded" order_streams '_Sync.stream wait event')" $rounds
	same "timeline: waits without a GPU" "$(grep -c 'GPU?_Sync' "$out/timeline.sync.count.folded")" 0
	same "timeline: waits without a call" "$(grep -c '^\[unknown stack' "$out/timeline.sync.count.folded")" 0
	for call in cuModuleLoadData cuModuleGetFunction; do
		same "timeline: $call" "$(under "$out/timeline.modules.count.folded" load_module "_Module.$call")" $rounds
	done
	for call in cuLibraryLoadData cuLibraryGetKernel cuKernelGetFunction; do
		same "timeline: $call" "$(under "$out/timeline.modules.count.folded" load_library "_Module.$call")" $rounds
	done
	at_least "timeline: bytes to the GPU" "$(leaf_sum "$out/timeline.um.bytes.folded" 'migration HtoD')" $((2 * rounds * mib))
	at_least "timeline: bytes to the host" "$(leaf_sum "$out/timeline.um.bytes.folded" 'migration DtoH')" $((2 * rounds * mib))
	at_least "timeline: page faults of the GPU" "$(leaf_sum "$out/timeline.um.count.folded" 'GPU page fault')" $rounds
	at_least "timeline: page faults of the host" "$(leaf_sum "$out/timeline.um.count.folded" 'CPU page fault')" $rounds
	at_least "timeline: overhead" "$(leaf_sum "$out/timeline.overhead.count.folded" _Overhead)" 1
	same "timeline: gpu.folded has GPU work alone" "$(grep -cE '_(Sync|Overhead|UM|Module)\]' "$scratch/timeline/gpu.folded")" 0
	cp "$scratch/timeline/flame.html" "$out/timeline.html"
	if have_torch; then
		FLAMEGRID_RECORD=sync,overhead,um,modules profile timeline_train python3 "$here/programs/tiny_train.py"
		for name in sync overhead modules; do
			plane timeline_train $name
			echo "timeline_train: $name: $(awk '{ s += $NF } END { print s + 0 }' "$out/timeline_train.$name.count.folded") records"
		done
		"$flamegrid" report "$scratch/timeline_train" --planes all --format table --top 40
	fi
}

# What each option costs where launches are all there is: the median of launch_bound over CUPTI's floor.
options() {
	local kind round figures floor

	for round in 1 2 3 4 5; do
		for kind in floor flamegrid record=sync record=overhead record=um record=modules record=sync,overhead,um,modules; do
			with $kind "$scratch/programs/launch_bound" 200000 2>/dev/null |
				sed -n 's/^thread 0 device 0 ns.launch://p' | tr ' ' '\n' | grep -v '^$' | tail -n +2 \
				>>"$scratch/options.$kind"
		done
	done
	floor=$(median <"$scratch/options.floor")
	for kind in floor flamegrid record=sync record=overhead record=um record=modules record=sync,overhead,um,modules; do
		figures=$(median <"$scratch/options.$kind")
		awk -v k="$kind" -v v="$figures" -v f="$floor" 'BEGIN { printf "launch_bound %-36s %.0f ns a launch, floor %+.0f\n", k, v, v - f }'
	done
}

# NVTX ranges and streams of a training loop, and what ranges cost.
nvtx() {
	have_torch || { echo "left out: no PyTorch"; return; }
	FLAMEGRID_RECORD=nvtx profile nvtx_train python3 "$here/programs/nvtx_train.py"
	local folded=$out/nvtx_train.count.folded
	same "nvtx_train: forward under [NVTX]forward" \
		"$(grep 'Linear.forward' "$folded" | grep -cvE '^\[NVTX\]step [0-9#]+;\[NVTX\]forward;')" 0
	same "nvtx_train: 64 steps by number" \
		"$(cut -d';' -f1 "$folded" | grep '^\[NVTX\]step [0-9]*$' | sort -u | wc -l)" 64
	same "nvtx_train: the others are one" "$(cut -d';' -f1 "$folded" | grep '^\[NVTX\]step #$' | sort -u | wc -l)" 1
	same "nvtx_train: copies on a stream of priority -1" \
		"$(grep 'Memcpy\]HtoD' "$out/nvtx_train.streams.folded" | grep -c '^GPU0;stream[0-9]* (priority -1);')" \
		"$(grep 'Memcpy\]HtoD' "$out/nvtx_train.streams.folded" | grep -c '\[NVTX\]input')"
	grep -E 'context [0-9]+ stream' "$out/nvtx_train.table"
	echo "tiny_train with --nvtx, and without:"
	FLAMEGRID_RECORD=nvtx with flamegrid python3 "$here/programs/tiny_train.py" 2>/dev/null | tail -n 1
	with flamegrid python3 "$here/programs/tiny_train.py" 2>/dev/null | tail -n 1
}

# A second user of CUPTI's activity API: what CUPTI does, and PyTorch's profiler beside ours.
kineto() {
	gcc -O2 "$here/programs/activity_probe.c" -o "$scratch/activity_probe" -ldl || { not_ok "activity_probe"; return; }
	timeout 120 "$scratch/activity_probe" "$cupti" >"$out/activity_probe.txt" 2>&1
	echo "activity_probe: status $?"
	cat "$out/activity_probe.txt"
	have_torch || { echo "left out: no PyTorch"; return; }
	local steps='20000 20000 400000'
	python3 "$here/programs/torch_profiler.py" $steps >"$out/torch_profiler.alone" 2>&1
	FLAMEGRID_PROFILER_PATIENCE=20 "$flamegrid" run -o "$scratch/torch_profiler" -- \
		python3 "$here/programs/torch_profiler.py" $steps >"$out/torch_profiler.stdout" 2>"$out/torch_profiler.stderr"
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

# Graphs within graphs: every run of every node under its launch and its capture.
inner() {
	local folded=$out/inner_graphs.count.folded kernel at=';cudaGraphLaunch;\[captured at\];.*'

	nvcc -O2 -g -arch=native -cudart shared -Xcompiler -fno-omit-frame-pointer "$here/programs/inner_graphs.cu" \
		-o "$scratch/inner_graphs" 2>"$out/nvcc-inner.log" || { not_ok "nvcc: $out/nvcc-inner.log"; return; }
	"$flamegrid" run -o "$scratch/inner" -- "$scratch/inner_graphs" 200 >"$out/inner_graphs.stdout" 2>"$out/inner_graphs.stderr"
	same "inner_graphs: exit status" $? 0
	"$flamegrid" report "$scratch/inner" --weight count --strict >"$folded" 2>"$out/inner_graphs.report"
	same "inner_graphs: nothing lost" $? 0
	for kernel in in_child in_parent in_branch in_loop; do
		same "inner_graphs: $kernel" "$(leaf_sum "$folded" "_Kernel\\]$kernel")" \
			"$(awk -v kernel="$kernel" '$2 == kernel { print $3 }' "$out/inner_graphs.stdout")"
	done
	same "in_child: captured in capture_child" "$(grep ']in_child' "$folded" | grep -cvE ";replay_nested.*$at;capture_child")" 0
	same "in_parent: added in nest" "$(grep ']in_parent' "$folded" | grep -cvE ";replay_nested.*$at;nest.*;add_in")" 0
	same "in_branch: added in branch_body" \
		"$(grep ']in_branch' "$folded" | grep -cvE ";replay_conditional.*$at;decide.*;branch_body.*;add_in")" 0
	same "in_loop: captured in loop_body" "$(grep ']in_loop' "$folded" | grep -cvE ";replay_conditional.*$at;decide.*;loop_body")" 0
	same "copies and memsets: captured in capture_child" \
		"$(grep -E '_Mem(cpy|set)\]' "$folded" | grep -cvE ";replay_nested.*$at;capture_child")" 0
	same "no node is unknown" "$(grep -c capture_unknown "$out/inner_graphs.stderr")" 0
}

parts=${*:-all}
info
if wants counts || wants overhead || wants threads || wants windows || wants timeline || wants options || wants api ||
	wants memory || wants nvtx || wants kineto; then
	build_programs
fi
for part in conformance demo counts train ddp graph triton pythons capture modes soak overhead threads life restart windows \
	timeline options api memory nvtx kineto inner; do
	if wants $part; then
		echo "--- $part"
		$part
	fi
done
exit $failed
