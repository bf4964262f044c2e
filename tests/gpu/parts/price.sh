# What a step costs with a profiler over what it costs without, in one process: CUPTI alone, this product, PyTorch's.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# price_run PART MODEL WAY NUMBER PAIRS: one process, or one on each GPU for the model ddp; its pairs in
# $out/PART.MODEL.WAY.NUMBER. Fails if it fails.
price_run() {
	local name=$1.$2.$3.$4 model=$2 way=$3 pairs=$5 program="$here/programs/price_train.py"
	local floor=$scratch/libcupti_floor.so start=(python3)

	[ "$model" != ddp ] || start=(torchrun "--nproc_per_node=$gpus")
	case $way in
	floor) FLOOR_WINDOWS=1 CUDA_INJECTION64_PATH=$floor "${start[@]}" "$program" "$model" "floor=$floor" "$pairs" ;;
	torch | stacks) "${start[@]}" "$program" "$model" "$way" "$pairs" ;;
	*)
		# shellcheck disable=SC2046 # words
		"$flamegrid" run -q --capture-range profiler $(price_options "$way") -o "$scratch/$name" -- \
			"${start[@]}" "$program" "$model" range "$pairs"
		"$flamegrid" report "$scratch/$name" -f json -o "$out/$name.json" ;;
	esac >"$out/$name" 2>"$out/$name.stderr" || {
		echo "NOT OK  $name: $(tail -n 1 "$out/$name.stderr")"
		return 1
	}
}

price_options() {
	case $1 in
	full) echo --meter full ;;
	bare) echo --stacks none ;;
	kept) echo --timeline all ;;
	stalls) echo --record stalls ;;
	exact) echo --sample-gpu 100/s ;;
	esac
}

# price_lane PART MODEL WAY NUMBER PAIRS: on GPU $lane, and on its part of the CPUs.
price_lane() {
	local cpus=$(($(nproc --all) / gpus))
	export CUDA_VISIBLE_DEVICES=$lane
	taskset -pc "$((lane * cpus))-$((lane * cpus + cpus - 1))" $$ >/dev/null
	price_run "$@" || true # it has said so
}

# price_table PART: of the part's runs.
price_table() {
	python3 - "$out" "$1" <<'PY'
import glob, json, os, re, statistics, sys
out, of_part, runs = sys.argv[1], sys.argv[2], {}
for path in glob.glob(out + '/' + of_part + '.*'):
    name = re.fullmatch(r'[^.]+\.([^.]+)\.([^.]+)\.[0-9]+', os.path.basename(path))
    if not name:
        continue
    pairs = [line.split() for line in open(path) if line.startswith('pair ')]
    inside = [int(line.split()[2]) for line in open(path) if line.startswith('steps inside')]
    if not pairs or not inside:
        continue
    without = statistics.median(float(p[1]) for p in pairs)
    ratio = statistics.median(float(p[2]) / float(p[1]) for p in pairs)
    cpu = statistics.mean(float(p[5]) - float(p[4]) for p in pairs)
    cost = json.load(open(path + '.json'))['cost'] if os.path.exists(path + '.json') else None
    runs.setdefault(name.groups(), []).append((without, ratio, cpu, cost, inside[0]))
print('%-9s %-6s %4s %10s %7s %-23s %10s  %s' % (
    'model', 'way', 'runs', 'us a step', 'ratio', 'of runs', 'cpu us', 'the meter'))
for (model, way), of in sorted(runs.items()):
    ratios = sorted(run[1] for run in of)
    meter = ''
    costs = [(cost, inside) for _, _, _, cost, inside in of if cost and cost['launches']]
    if costs:
        launches = sum(cost['launches'] for cost, _ in costs)
        parts = ' '.join('%s %.0f' % (key, sum(cost[key + '_ns'] for cost, _ in costs) / launches)
                         for key in ('entry', 'native', 'python', 'intern', 'exit'))
        meter = '%.1f us a step; %.0f ns a launch: %s; %.0f launches a step' % (
            statistics.mean(cost['guest_ns'] / inside / 1e3 for cost, inside in costs),
            sum(cost['launches_ns'] for cost, _ in costs) / launches, parts,
            launches / sum(inside for _, inside in costs))
    print('%-9s %-6s %4d %10.1f %7.4f %-23s %10.1f  %s' % (
        model, way, len(of), statistics.median(run[0] for run in of), statistics.median(ratios),
        ' '.join('%.3f' % r for r in ratios), statistics.mean(run[2] for run in of), meter))
PY
}

# A training on all GPUs: floor and this product by turns, as the runs above.
priceddp() {
	local number way
	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	for ((number = 1; number <= ${PRICE_RUNS:-5}; number++)); do
		for way in floor whole bare; do price_run priceddp ddp $way $number 10 || failed=1; done
	done
	price_table priceddp
}

# What it costs to keep each launch and piece of GPU work, by turns.
keepcost() {
	local number model way
	if ! have_torch; then echo "left out: no PyTorch"; return; fi
	for ((number = 1; number <= ${PRICE_RUNS:-5}; number++)); do
		for model in ${PRICE_MODELS:-tiny gpt}; do
			for way in whole kept; do price_run keepcost $model $way $number 10 || failed=1; done
		done
	done
	price_table keepcost
	for model in ${PRICE_MODELS:-tiny gpt}; do
		for way in whole kept; do
			python3 -c '
import json, sys
costs = [json.load(open(path))["cost"] for path in sys.argv[2:]]
agent = [key for key in sorted(costs[0]) if key.startswith("agent")]
print(sys.argv[1], *("%s %s" % (key, [cost[key] for cost in costs]) for key in agent))
' "$model $way" "$out"/keepcost.$model.$way.*.json
		done
	done
}

# PRICE_MODELS, PRICE_RUNS: which, and how often.
price() {
	if ! have_torch; then echo "left out: no PyTorch"; return; fi
	local model number
	sed -n 's/^model name.*: /cpu: /p' /proc/cpuinfo | sort -u
	dmesg 2>/dev/null | grep -m1 -o 'tsc: Detected.*'
	for model in ${PRICE_MODELS:-tiny gpt resnet compiled}; do
		# Inductor's cache is full after it.
		[ "$model" = compiled ] && python3 "$here/programs/price_train.py" compiled none 1 >/dev/null 2>&1
		for ((number = 1; number <= ${PRICE_RUNS:-5}; number++)); do
			printf '%s\n' "price $model floor $number 10" "price $model whole $number 10"
		done
		printf '%s\n' "price $model full 1 6" "price $model bare 1 10" "price $model torch 1 4" "price $model stacks 1 4"
	done | sort -s -k 4,4n >"$scratch/price_list"
	export flamegrid out scratch here gpus
	export -f price_lane price_run price_options
	xargs -P "$gpus" -L 1 --process-slot-var=lane bash -c 'price_lane "$@"' _ <"$scratch/price_list" |
		tee "$scratch/price_said"
	! grep -q '^NOT OK' "$scratch/price_said" || failed=1
	price_table price
}
