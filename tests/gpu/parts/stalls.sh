# Samples of running kernels: planted bottlenecks are named, and samples and times are exact.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# stalls_run NAME COMMAND...: its plane as folded text, and its report.
stalls_run() {
	local name=$1
	shift
	"$flamegrid" run -q --record stalls -o "$scratch/$name" -- "$@" >"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	"$flamegrid" report "$scratch/$name" --planes stalls -u ns -o "$scratch/$name.folded" 2>/dev/null
	"$flamegrid" report "$scratch/$name" --planes stalls -f json -o "$scratch/$name.json" 2>/dev/null
}

# STALLS_RUNS: how often.
stalls() {
	local number name

	nvcc -O2 -lineinfo -arch=native "$here/programs/stall_plants.cu" -o "$scratch/stall_plants" 2>"$out/nvcc-stalls.log" ||
		{ not_ok "nvcc: $out/nvcc-stalls.log"; return; }
	for ((number = 1; number <= ${STALLS_RUNS:-20}; number++)); do
		name=stalls.$number
		stalls_run "$name" "$scratch/stall_plants" 60
		python3 "$here/programs/stall_check.py" "$here/programs/stall_plants.cu" "$scratch/$name.folded" "$scratch/$name.json" \
			"$scratch/$name/profile.db" >"$out/$name.check" 2>&1 || failed=1
		grep '^NOT OK' "$out/$name.check"
	done
	cat "$out/$name.check"
	"$flamegrid" report "$scratch/$name" --planes stalls -f table -o "$out/stalls.table" 2>/dev/null
	cat "$out"/stalls.*.check | sort | sed 's/[0-9][0-9]*/N/g' | sort | uniq -c
	if have_torch; then
		stalls_run stalls_train python3 "$here/programs/tiny_train.py"
		python3 "$here/programs/stall_check.py" /dev/null "$scratch/stalls_train.folded" "$scratch/stalls_train.json" \
			"$scratch/stalls_train/profile.db" || failed=1
	fi
}

# exact_check BOTH NAME: says how far the ways agree in the profile BOTH, and whether no exact sample is missing.
exact_check() {
	"$flamegrid" report "$scratch/$1" --planes stalls -f json -o "$out/$1.json" 2>/dev/null
	python3 - "$out/$1.json" "$scratch/$1/profile.db" "$2" <<'PY'
import json, sqlite3, sys
rows = json.load(open(sys.argv[1])).get("sampling_agreement")
ledger = sqlite3.connect(sys.argv[2]).execute("select reason, sum(count), sum(ns) from ledger where reason between 75 and 79 group by 1").fetchall()
count = {reason: sum for reason, sum, ns in ledger}
if not rows:
    sys.exit("NOT OK  exact %s: nothing to compare; %s" % (sys.argv[3], count))
for row in rows:
    print("        exact %s: %s: lines %.4f launches %s of %d exact samples beside %d" % (
        sys.argv[3], row["kernel"] or "all", row["lines_agree"], row["launches_agree"], row["exact_samples"], row["samples"]))
shown = rows[0]["exact_samples"]
held = count.get(75, 0) == shown + count.get(76, 0) + count.get(77, 0)
print("%s exact %s: samples %d = shown %d + others %d + lost %d; without launch %d; %d windows of %.1f ms together" % (
    "ok     " if held else "NOT OK ", sys.argv[3], count.get(75, 0), shown, count.get(76, 0), count.get(77, 0), count.get(78, 0),
    count.get(79, 0), sum(ns for reason, number, ns in ledger if reason == 79) / 1e6))
if sys.argv[3] == "all":
    held &= rows[0]["lines_agree"] >= 0.97
    print("%s exact: both ways agree for %.2f %% of samples" % ("ok     " if held else "NOT OK ", 100 * rows[0]["lines_agree"]))
sys.exit(not held)
PY
}

# exact_agree NUMBER: profiles the plants both ways, and compares. One run has too few samples for more than a guess.
exact_agree() {
	local always=exact.always.$1 windows=exact.windows.$1 both=exact.both.$1

	stalls_run "$always" "$scratch/stall_plants" 400
	"$flamegrid" run -q --sample-gpu "${EXACT_RATE:-10000}/s" -o "$scratch/$windows" -- "$scratch/stall_plants" 400 \
		>"$out/$windows.stdout" 2>"$out/$windows.stderr"
	same "$windows: exit status" $? 0
	"$flamegrid" merge "$scratch/$always" "$scratch/$windows" -o "$scratch/$both" >/dev/null 2>&1
	exact_check "$both" "$1"
}

# EXACT_RUNS: how often. The cost: a training with windows and without, in turns within one process. Each turn begins a session,
# whose first launch takes 0.08 s.
exact() {
	local number way

	nvcc -O2 -lineinfo -arch=native "$here/programs/stall_plants.cu" -o "$scratch/stall_plants" 2>"$out/nvcc-exact.log" ||
		{ not_ok "nvcc: $out/nvcc-exact.log"; return; }
	for ((number = 1; number <= ${EXACT_RUNS:-20}; number++)); do
		exact_agree "$number" || failed=1
	done
	"$flamegrid" merge "$scratch"/exact.always.*/ "$scratch"/exact.windows.*/ -o "$scratch/exact.both" >/dev/null 2>&1
	exact_check exact.both all || failed=1
	have_torch || { echo "left out: no PyTorch"; return; }
	for ((number = 1; number <= ${PRICE_RUNS:-3}; number++)); do
		for way in whole stalls exact; do price_run exact gpt $way $number 20 || failed=1; done
	done
	price_table exact
}

# What exact windows cost in the long run: steps that stand out, with them and without.
exactlong() {
	local way rate

	have_torch || { echo "left out: no PyTorch"; return; }
	for way in none 100 10000 none 100; do
		rate=
		[ $way = none ] || rate="--sample-gpu $way/s"
		# shellcheck disable=SC2086 # words
		"$flamegrid" run -q $rate -o "$scratch/exactlong" -- python3 "$here/programs/exact_long.py" "${LONG_S:-40}" |
			sed "s/^/exact samples $way a second: /"
		rm -rf "$scratch/exactlong"
	done
}
