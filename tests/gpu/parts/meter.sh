# What the guest costs a launch: by its meter, and counted from outside.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# A libcupti that counts what the guest does in its callback.
timed_cupti() {
	gcc -O2 -shared -fPIC -I/usr/local/cuda/include -DREAL="\"$cupti\"" "$here/programs/cupti_timed.c" \
		-o "$scratch/libcupti_timed.so" -Wl,--no-as-needed -Wl,-rpath,"$(dirname "$cupti")" "$cupti" \
		2>"$out/timed.log" || { not_ok "timed: $out/timed.log"; return 1; }
}

# timed_run NAME MODEL OPTION...: a training beside the count, which is left in $out/NAME.outside.
timed_run() {
	local name=$1 model=$2
	shift 2
	FLAMEGRID_CUPTI=$scratch/libcupti_timed.so TIMED_TO=$out/$name.outside "$flamegrid" run -q "$@" \
		-o "$scratch/$name" -- python3 "$here/programs/price_train.py" "$model" none 3 >"$out/$name.stdout" 2>&1
}

# meter_check MODEL KIND: what the guest's meter says of its launches, beside stamps around its callback. A full meter's
# own stamps are in the latter alone, so no agreement is asked of it.
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
	local model kind
	if ! have_torch; then echo "left out: no PyTorch"; return; fi
	timed_cupti || return
	for model in ${PRICE_MODELS:-tiny gpt resnet compiled}; do
		for kind in sampled full; do
			timed_run "meter.$model.$kind" "$model" --meter $kind
			"$flamegrid" report "$scratch/meter.$model.$kind" -f json -o "$out/meter.$model.$kind.json"
			meter_check "$model" $kind
		done
	done
}

# Where the slow calls come from: the same count, without the first half of the calls, for less and less of a stack.
tails() {
	local model stacks
	if ! have_torch; then echo "left out: no PyTorch"; return; fi
	timed_cupti || return
	for model in ${PRICE_MODELS:-tiny gpt resnet compiled}; do
		for stacks in none native leaf; do
			TIMED_SKIP=45000 timed_run "tails.$model.$stacks" "$model" --stacks $stacks
			echo "$model --stacks $stacks: $(tr '\n' ' ' <"$out/tails.$model.$stacks.outside")"
		done
	done
}
