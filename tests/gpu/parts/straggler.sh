# Which rank is late, and why: a training of all GPUs, whose last rank is planted late in three ways, and in none.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# straggler_check PLANT CAUSE: who is named, and with what.
straggler_check() {
	python3 - "$out/straggler_$1.json" "$gpus" "$1" "$2" <<'PY' || failed=1
import json, sys
report, gpus, plant, cause = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3], sys.argv[4]
late = [rank['rank'] for rank in report['ranks'] if rank['late']]
causes = report['ranks'][0]['causes'] if report['ranks'] else []
first = causes[0]['cause'] if causes else ''
compared = sum(communicator['compared'] for communicator in report['communicators'])
by_gpu = sum(communicator['by_gpu'] for communicator in report['communicators'])
good = [('collectives compared, all by kernels: %d' % compared, compared > 0 and compared == by_gpu),
        ('late: %s' % late, late == ([] if plant == 'none' else [gpus - 1])),
        ('why: %s' % first, cause in first)]
for what, held in good:
    print('%s straggler %s: %s' % ('ok     ' if held else 'NOT OK ', plant, what))
sys.exit(not all(held for _, held in good))
PY
}

# What report --clocks builds on: no kernel of a collective ends before those of all ranks have begun, by CUPTI's clock, give or take what CLOCK_EVIDENCE_GPU_NS
# allows each of two.
straggler_order() {
	"$flamegrid" report "$scratch/straggler_$1" -f csv --rows collectives >"$out/straggler_$1_calls.csv"
	python3 - "$out/straggler_$1_calls.csv" "$1" <<'PY' || failed=1
import collections, csv, sys
calls = collections.defaultdict(list)
for row in csv.DictReader(open(sys.argv[1])):
    if row['gpu_ns'] and row['function'] in ('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all'):
        calls[row['communicator'], row['function'], row['function_sequence']].append((int(row['gpu_start_ns']), int(row['gpu_ns'])))
slack = sorted(min(s + n for s, n in call) - max(s for s, _ in call) for call in calls.values() if len(call) > 1)
held = bool(slack) and slack[0] >= -10000
print('%s straggler %s: from the last start to the first end, us: least %s, median %s, of %d collectives' % (
    'ok     ' if held else 'NOT OK ', sys.argv[2], slack and slack[0] / 1e3, slack and slack[len(slack) // 2] / 1e3, len(slack)))
sys.exit(not held)
PY
}

straggler() {
	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	local plant cause
	while read -r plant cause; do
		PLANT=$plant "$flamegrid" run --cpu-hz 199 --off-cpu 100us -o "$scratch/straggler_$plant" -- \
			torchrun --nproc_per_node="$gpus" "$here/programs/straggler_train.py" \
			>"$out/straggler_$plant.stdout" 2>"$out/straggler_$plant.stderr"
		same "straggler $plant: exit status" $? 0
		grep '^flamegrid' "$out/straggler_$plant.stderr"
		"$flamegrid" report "$scratch/straggler_$plant" --straggler | tee "$out/straggler_$plant.txt"
		"$flamegrid" report "$scratch/straggler_$plant" --straggler -f json >"$out/straggler_$plant.json"
		"$flamegrid" diff "$scratch/straggler_$plant" --rank $((gpus - 1)) -f html -o "$out/straggler_$plant.html"
		straggler_check "$plant" "$cause"
		straggler_order "$plant"
	done <<'END'
none
host augment
loader fetch_batch
gpu GPU kernels
END
}
