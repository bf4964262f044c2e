#!/usr/bin/env bash
# Everything that needs a real GPU, in one run: conformance of the fake CUDA's assumptions, exact counts on the sample
# programs, and what profiling costs against CUPTI's own floor (cupti_floor.c) and against no profiler, A/B/A/B.
#
# Usage: tests/gpu/measure.sh FLAMEGRID-ROOT OUT-DIR [PART...]
#   FLAMEGRID-ROOT  an unpacked tarball or a build folder (bin/flamegrid, lib/libflamegrid_inject.so)
#   OUT-DIR         reports and logs go there
#   PART            info conformance demo counts train ddp graph triton pythons capture modes soak overhead threads
#                   nvtx kineto
#                   (default: all of them)
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

parts=${*:-all}
info
if wants counts || wants overhead || wants threads; then build_programs; fi
for part in conformance demo counts train ddp graph triton pythons capture modes soak overhead threads nvtx kineto; do
	if wants $part; then
		echo "--- $part"
		$part
	fi
done
exit $failed
