# What profiling costs, against CUPTI's own floor and against no profiler.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

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
	local name=$1 cut=$2 kind
	shift 2

	for _ in 1 2 3 4 5; do
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

# OVERHEAD_OF: launch_bound, tiny_train, graph_train; all of them if it is not set.
overhead() {
	local programs=" ${OVERHEAD_OF:-launch_bound tiny_train graph_train} "

	case $programs in *" launch_bound "*) overhead_of launch_bound 's/^thread 0 device 0 ns.launch://p' "$scratch/programs/launch_bound" 200000 ;; esac
	have_torch || return 0
	case $programs in *" tiny_train "*) overhead_of tiny_train 's/^ *us.step://p' python3 "$here/programs/tiny_train.py" ;; esac
	case $programs in *" graph_train "*) overhead_of graph_train 's/^ *us.step://p' python3 "$here/programs/graph_train.py" ;; esac
}

# Several threads that launch at once: what the guest's lanes cost, and where CUPTI itself serialises.
threads() {
	overhead_of launch_threads4 's/^thread 0 device 0 ns.launch://p' "$scratch/programs/launch_bound" 50000 4 1
}

# What each part of CUPTI costs a launch by itself, in one process.
cuptishare() {
	nvcc -O2 -arch=native -cudart shared "$here/programs/cupti_share.cu" -o "$scratch/programs/cupti_share" \
		-I/usr/local/cuda/extras/CUPTI/include -I/usr/local/cuda/include -Xlinker -rpath="$(dirname "$cupti")" -Xlinker "$cupti" \
		2>"$out/nvcc-cupti_share.log" || { not_ok "nvcc: $out/nvcc-cupti_share.log"; return; }
	"$scratch/programs/cupti_share" 15 | tee "$out/cupti_share"
}
