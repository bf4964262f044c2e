# Calls of the API, and occupancy.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# calls NAME EXPRESSION: how often functions that match were called, by its profile.
calls() { awk -F, -v want="$2" '$2 ~ want { s += $3 } END { printf "%.0f\n", s }' "$out/$1.calls.csv"; }

# One timed run each without a profiler, without counting, with a short list, with all: ns a launch or us a step.
api_cost() {
	local name=$1 cut=$2 kind
	shift 2

	for _ in 1 2 3 4 5; do
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
