# Measured launches and ranges: DRAM bytes of an addition and FLOPs of a product are those that follow from their sizes, and what
# it costs.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# metrics_run NAME OPTIONS...: the report and what the program printed.
metrics_run() {
	local name=$1
	shift
	"$flamegrid" run -q "$@" -o "$scratch/$name" -- python3 "$here/programs/metrics_work.py" >"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	"$flamegrid" report "$scratch/$name" -f json -o "$scratch/$name.json" 2>/dev/null
}

metrics() {
	local name

	have_torch || { echo "left out: no PyTorch"; return; }
	for name in metrics.roofline metrics.sol metrics.all metrics.ranges metrics.rangeparts; do
		case $name in
		*.roofline) metrics_run $name --metrics roofline ;;
		*.sol) metrics_run $name --metrics sol,sm__ops_path_tensor_src_bf16_dst_fp32.sum --launches 3 ;; # two passes
		*.all) metrics_run $name --metrics roofline --launches 1000000 ;;
		*.ranges) metrics_run $name --metrics roofline --ranges '' --launches 5 ;;
		*.rangeparts) # two passes
			metrics_run $name --metrics sol,sm__ops_path_tensor_src_bf16_dst_fp32.sum --ranges '' --launches 3 ;;
		esac
		case $name in
		*.range*) python3 "$here/programs/ranges_check.py" "$scratch/$name.json" "$out/$name.stdout" || failed=1 ;;
		esac
		[[ $name = metrics.@(all|range*) ]] || python3 "$here/programs/metrics_check.py" "$scratch/$name.json" "$out/$name.stdout" 10 || failed=1
		"$flamegrid" report "$scratch/$name" --metrics -o "$out/$name.table" 2>/dev/null
	done
	metrics_run metrics.without
	grep -H '^seconds' "$out"/metrics.*.stdout | sed 's/.*metrics\.\(.*\)\.stdout:/cost: \1 /'
	sed -n '/^Measured/,/^$/p' "$out/metrics.roofline.table"
}
