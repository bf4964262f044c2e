# One step in every so many, the same on all ranks; clocks and the far socket as this machine has them.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# steps_of NAME OPTION...: two ranks, at paces of their own.
steps_of() {
	local name=$1 rank
	shift
	for rank in 0 1; do
		env PMIX_NAMESPACE="$name" OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$rank \
			"$flamegrid" run "$@" -o "$scratch/$name" -- "$scratch/programs/steps" $((500 + 4000 * rank)) \
			>"$out/$name.stdout.$rank" 2>"$out/$name.stderr.$rank" &
	done
	wait
	grep '^flamegrid:' "$out/$name.stderr.0"
	"$flamegrid" report "$scratch/$name" --by rank --weight count >"$out/$name.folded" 2>"$out/$name.report"
	for rank in 0 1; do
		same "$name: rank $rank: steps" "$(grep "^rank$rank;" "$out/$name.folded" | grep -o 'in_step<[0-9]*>' | tr -dc '0-9\n' | sort -nu | paste -sd' ' -)" \
			"7 14 21 28 35 42 49 56"
		same "$name: rank $rank: anything else" "$(grep "^rank$rank;" "$out/$name.folded" | grep -c 'between')" 0
	done
}

steps() {
	nvcc -O2 -std=c++14 -arch=native -cudart shared "$here/programs/steps.cu" -o "$scratch/programs/steps" -ldl 2>>"$out/nvcc.log" ||
		{ not_ok "nvcc: $out/nvcc.log"; return; }
	steps_of steps_nvtx --step-range step --every-steps 7
	steps_of steps_pairs --every-steps 7
	"$flamegrid" report "$scratch/steps_nvtx" --clocks | tee "$out/steps.clocks"
	"$flamegrid" report "$scratch/steps_nvtx" --ranks | tee "$out/steps.ranks"
}
