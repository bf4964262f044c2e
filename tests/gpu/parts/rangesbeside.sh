# Measured ranges and launches beside captures, graphs, and kernels that wait for each other: none of them ends late, breaks or hangs.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# rangesbeside_run NAME BESIDE OPTION...: the program's kernels are the profile's but for CUPTI's own, and something was measured;
# of several passes it may be too little time. With both beside, a graph may have a kernel that waits, so what follows is not
# measured, and the profile says so.
rangesbeside_run() {
	local name=rangesbeside.$1 beside=$2
	shift 2
	# shellcheck disable=SC2086 # words
	timeout -k 5 90 "$flamegrid" run "$@" -o "$scratch/$name" -- "$scratch/ranges_beside" "${RANGESBESIDE_S:-6}" $beside \
		>"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	"$flamegrid" report "$scratch/$name" -f json -o "$out/$name.json" 2>/dev/null
	"$flamegrid" report "$scratch/$name" --weight count -o "$scratch/$name.folded" 2>/dev/null
	same "$name: kernels" "$(awk '/_Kernel\]/ && !/_Kernel\]WaitNs/ { s += $NF } END { printf "%.0f", s }' "$scratch/$name.folded")" \
		"$(sed -n 's/^kernels //p' "$out/$name.stdout")"
	tr '\n' ' ' <"$out/$name.stdout"
	python3 - "$out/$name.json" "$name" "$beside" <<'PY' || failed=1
import json, sys
report = json.load(open(sys.argv[1]))
rows = report.get('kernel_metrics', [])
measured = sum(row['measured'] for row in rows)
ledger = {row['reason']: row['count'] for row in report['ledger'] if row['reason'].startswith('metric_')}
said = 'are no longer measured: a kernel that may wait' in json.dumps(report)
good = said if len(sys.argv[3].split()) == 2 else not said and (measured or '.passes.' in sys.argv[2])
print('\n%s %s: %d measured in %d rows%s; %s' % ('ok     ' if good else 'NOT OK ', sys.argv[2], measured, len(rows), ', and why no more' * said, ledger))
sys.exit(not good)
PY
}

rangesbeside() {
	local both="captures pairs" beside two_passes=sol,sm__ops_path_tensor_src_bf16_dst_fp32.sum

	nvcc -O2 -arch=native "$here/programs/ranges_beside.cu" -o "$scratch/ranges_beside" 2>"$out/nvcc-rangesbeside.log" ||
		{ not_ok "nvcc: $out/nvcc-rangesbeside.log"; return; }
	# shellcheck disable=SC2086 # words
	timeout -k 5 90 "$scratch/ranges_beside" "${RANGESBESIDE_S:-6}" $both >"$out/rangesbeside.without.stdout" 2>&1
	same "rangesbeside: exit status without a profiler" $? 0
	for beside in captures pairs "$both"; do
		rangesbeside_run "ranges.${beside/ /.}" "$beside" --metrics roofline --ranges '' --launches 1000000
		rangesbeside_run "passes.${beside/ /.}" "$beside" --metrics $two_passes --ranges '' --launches 1000000
		rangesbeside_run "launches.${beside/ /.}" "$beside" --metrics roofline --launches 1000000
	done
}
