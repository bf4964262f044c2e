# What a step costs with a profiler over what it costs without, in one process: CUPTI alone, this product, PyTorch's.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# price_run MODEL WAY NUMBER PAIRS: one process; its pairs in $out/price.MODEL.WAY.NUMBER.
price_run() {
	local name=price.$1.$2.$3 program="$here/programs/price_train.py"

	case $2 in
	floor) FLOOR_WINDOWS=1 CUDA_INJECTION64_PATH=$scratch/libcupti_floor.so python3 "$program" "$1" "floor=$scratch/libcupti_floor.so" "$4" ;;
	torch | stacks) python3 "$program" "$1" "$2" "$4" ;;
	*)
		# shellcheck disable=SC2046 # words
		"$flamegrid" run -q --capture-range profiler $(price_options "$2") -o "$scratch/$name" -- python3 "$program" "$1" range "$4"
		"$flamegrid" report "$scratch/$name" -f json -o "$out/$name.json" ;;
	esac >"$out/$name" 2>"$out/$name.stderr" || echo "NOT OK  $name: $(tail -n 1 "$out/$name.stderr")"
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

# price_lane MODEL WAY NUMBER PAIRS: on GPU $lane, and on its part of the CPUs.
price_lane() {
	local cpus=$(($(nproc --all) / gpus))
	export CUDA_VISIBLE_DEVICES=$lane
	taskset -pc "$((lane * cpus))-$((lane * cpus + cpus - 1))" $$ >/dev/null
	price_run "$@"
}

price_table() {
	python3 - "$out" <<'PY'
import glob, json, os, statistics, sys
out, runs = sys.argv[1], {}
for path in glob.glob(out + '/price.*.*.[0-9]'):
    _, model, way, number = os.path.basename(path).split('.')
    pairs = [line.split() for line in open(path) if line.startswith('pair ')]
    inside = [int(line.split()[2]) for line in open(path) if line.startswith('steps inside')]
    if not pairs or not inside:
        continue
    without = statistics.median(float(p[1]) for p in pairs)
    ratio = statistics.median(float(p[2]) / float(p[1]) for p in pairs)
    cpu = statistics.mean(float(p[5]) - float(p[4]) for p in pairs)
    cost = json.load(open(path + '.json'))['cost'] if os.path.exists(path + '.json') else None
    runs.setdefault((model, way), []).append((without, ratio, cpu, cost, inside[0]))
print('%-9s %-6s %4s %10s %7s %-23s %10s  %s' % ('model', 'way', 'runs', 'us a step', 'ratio', 'of runs', 'cpu us', 'the meter'))
for (model, way), of in sorted(runs.items()):
    ratios = sorted(run[1] for run in of)
    meter = ''
    costs = [(cost, inside) for _, _, _, cost, inside in of if cost and cost['launches']]
    if costs:
        launches = sum(cost['launches'] for cost, _ in costs)
        part = lambda key: sum(cost[key] for cost, _ in costs) / launches
        meter = '%.1f us a step; %.0f ns a launch: entry %.0f native %.0f python %.0f intern %.0f exit %.0f; %.0f launches a step' % (
            statistics.mean(cost['guest_ns'] / inside / 1e3 for cost, inside in costs), part('launches_ns'), part('entry_ns'),
            part('native_ns'), part('python_ns'), part('intern_ns'), part('exit_ns'), launches / sum(inside for _, inside in costs))
    print('%-9s %-6s %4d %10.1f %7.4f %-23s %10.1f  %s' % (model, way, len(of), statistics.median(run[0] for run in of),
          statistics.median(ratios), ' '.join('%.3f' % r for r in ratios), statistics.mean(run[2] for run in of), meter))
PY
}

# A training on all GPUs: floor and this product by turns, as the runs above.
priceddp() {
	local number way name program="$here/programs/price_train.py"
	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	for ((number = 1; number <= ${PRICE_RUNS:-5}; number++)); do
		for way in floor whole bare; do
			name=price.ddp.$way.$number
			case $way in
			floor) FLOOR_WINDOWS=1 CUDA_INJECTION64_PATH=$scratch/libcupti_floor.so torchrun --nproc_per_node="$gpus" "$program" ddp \
				"floor=$scratch/libcupti_floor.so" 10 ;;
			*)
				# shellcheck disable=SC2046 # words
				"$flamegrid" run -q --capture-range profiler $(price_options $way) -o "$scratch/$name" -- \
					torchrun --nproc_per_node="$gpus" "$program" ddp range 10
				"$flamegrid" report "$scratch/$name" -f json -o "$out/$name.json" ;;
			esac >"$out/$name" 2>"$out/$name.stderr" || not_ok "$name: $(tail -n 1 "$out/$name.stderr")"
		done
	done
	price_table
}

# What it costs to keep each launch and piece of GPU work, by turns.
keepcost() {
	local number model way
	if ! have_torch; then echo "left out: no PyTorch"; return; fi
	for ((number = 1; number <= ${PRICE_RUNS:-5}; number++)); do
		for model in ${PRICE_MODELS:-tiny gpt}; do
			for way in whole kept; do price_run $model $way $number 10; done
		done
	done
	price_table
	for model in ${PRICE_MODELS:-tiny gpt}; do
		for way in whole kept; do
			python3 -c '
import json, statistics, sys
costs = [json.load(open(path))["cost"] for path in sys.argv[2:]]
print(sys.argv[1], *("%s %s" % (key, [cost[key] for cost in costs]) for key in sorted(costs[0]) if key.startswith("agent")))
' "$model $way" "$out"/price.$model.$way.*.json
		done
	done
}

# Unwind tables of what PyTorch loads: once for a node, and from disk.
tables() {
	local bench=$root/bench/tables_bench libs
	[ -x "$bench" ] || { echo "left out: no $bench"; return; }
	libs=$(python3 -c 'import torch, os; print(os.path.dirname(torch.__file__) + "/lib")') || return
	for processes in 1 8; do
		"$bench" "$scratch/tables.$processes" $processes "$libs/libtorch_cpu.so" "$libs/libtorch_cuda.so" "$libs/libtorch_python.so"
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
		for ((number = 1; number <= ${PRICE_RUNS:-5}; number++)); do printf '%s\n' "$model floor $number 10" "$model whole $number 10"; done
		printf '%s\n' "$model full 1 6" "$model bare 1 10" "$model torch 1 4" "$model stacks 1 4"
	done | sort -s -k 3,3n >"$scratch/price_list"
	export flamegrid out scratch here gpus
	export -f price_lane price_run price_options
	xargs -P "$gpus" -L 1 --process-slot-var=lane bash -c 'price_lane "$@"' _ <"$scratch/price_list" |
		tee "$scratch/price_said"
	! grep -q '^NOT OK' "$scratch/price_said" || failed=1
	price_table
}

# Where the slow calls come from: the same count, without the first half of the calls, for less and less of a stack.
tails() {
	if ! have_torch; then echo "left out: no PyTorch"; return; fi
	local model stacks
	gcc -O2 -shared -fPIC -I/usr/local/cuda/include -DREAL="\"$cupti\"" "$here/programs/cupti_timed.c" -o "$scratch/libcupti_timed.so" \
		-Wl,--no-as-needed -Wl,-rpath,"$(dirname "$cupti")" "$cupti" 2>"$out/timed.log" || { not_ok "timed: $out/timed.log"; return; }
	for model in ${PRICE_MODELS:-tiny gpt resnet compiled}; do
		for stacks in none native leaf; do
			FLAMEGRID_CUPTI=$scratch/libcupti_timed.so TIMED_SKIP=45000 TIMED_TO=$out/tails.$model.$stacks "$flamegrid" run -q --stacks $stacks \
				-o "$scratch/tails.$model.$stacks" -- python3 "$here/programs/price_train.py" "$model" none 3 >"$out/tails.$model.$stacks.stdout" 2>&1
			echo "$model --stacks $stacks: $(tr '\n' ' ' <"$out/tails.$model.$stacks")"
		done
	done
}

# meter_check MODEL KIND: what the guest's meter says of its launches, beside stamps around its callback. A full meter's own
# stamps are in the latter alone, so no agreement is asked of it.
meter_check() {
	python3 - "$out/meter.$1.$2" <<'PY' || failed=1
import json, sys
outside = open(sys.argv[1] + '.outside').read().split()
outside = {outside[i]: float(outside[i + 1]) for i in range(0, 10, 2)}
cost = json.load(open(sys.argv[1] + '.json'))['cost']
share = (cost['launches_ns'] + cost['stacks_ns']) / outside['ns']
name = sys.argv[1].split('meter.')[-1]
print('%s: outside %d calls, cycles mean %.0f median %.0f p99 %.0f, %.0f ns a call' % (
    name, outside['calls'], outside['mean'], outside['median'], outside['p99'], outside['ns'] / outside['calls']))
print('%s: the meter %d launches, %.0f ns a launch, %d stacks, all %.4f of outside' % (
    name, cost['launches'], cost['launches_ns'] / cost['launches'], cost['stacks'], share))
held = name.endswith('.full') or abs(share - 1) <= 0.1
if not name.endswith('.full'):
    print('%s %s: the meter within 10 %% of outside' % ('ok     ' if held else 'NOT OK ', name))
sys.exit(not held)
PY
}

# The meter beside a count from outside: the same launches of the same process.
meter() {
	if ! have_torch; then echo "left out: no PyTorch"; return; fi
	local model kind
	gcc -O2 -shared -fPIC -I/usr/local/cuda/include -DREAL="\"$cupti\"" "$here/programs/cupti_timed.c" -o "$scratch/libcupti_timed.so" \
		-Wl,--no-as-needed -Wl,-rpath,"$(dirname "$cupti")" "$cupti" 2>"$out/timed.log" || { not_ok "timed: $out/timed.log"; return; }
	for model in ${PRICE_MODELS:-tiny gpt resnet compiled}; do
		for kind in sampled full; do
			FLAMEGRID_CUPTI=$scratch/libcupti_timed.so TIMED_TO=$out/meter.$model.$kind.outside "$flamegrid" run -q --meter $kind \
				-o "$scratch/meter.$model.$kind" -- python3 "$here/programs/price_train.py" "$model" none 3 >"$out/meter.$model.$kind.stdout" 2>&1
			"$flamegrid" report "$scratch/meter.$model.$kind" -f json -o "$out/meter.$model.$kind.json"
			meter_check "$model" $kind
		done
	done
}
