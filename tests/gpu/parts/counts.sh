# Exact counts of the sample programs.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

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

demo() {
	local program

	program=$(first_of "$root"/bin/flamegrid-demo-train "$root"/libexec/flamegrid-demo-train)
	PATH=$(dirname "$program"):$PATH profile demo "$(basename "$program")"
	sed -n 's/^launched \([0-9]*\) \([a-z0-9_]*\) \([0-9]*\)/\1 \2 \3/p' "$out/demo.stdout" | sort >"$scratch/demo.want"
	awk '{ n = $NF; nr = split($0, f, ";"); leaf = f[nr]; sub(/ [0-9]+$/, "", leaf)
		if (match(leaf, /^\[GPU[0-9]+_Kernel\]/)) { gpu = substr(leaf, 5, RLENGTH - 12); sum[gpu " " substr(leaf, RLENGTH + 1)] += n } }
		END { for (k in sum) print k, sum[k] }' "$out/demo.count.folded" | sort >"$scratch/demo.have"
	same "demo: counts by GPU and kernel" "$(tr '\n' ' ' <"$scratch/demo.have")" "$(tr '\n' ' ' <"$scratch/demo.want")"
	cp "$scratch/demo/flame.html" "$out/demo.html"
	head -n 40 "$out/demo.table"
}
