# Which rank is late, and why: a training of all GPUs with one rank that is planted late in six ways, and with none.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# train_ranks NAME PROGRAM OPTION...: NAME's profile and its --straggler reports; variables of the environment say what is planted.
train_ranks() {
	local name=$1 program=$2
	shift 2

	"$flamegrid" run --cpu-hz 199 --off-cpu 100us "$@" -o "$scratch/$name" -- \
		torchrun --nproc_per_node="$gpus" "$here/programs/$program" >"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	"$flamegrid" report "$scratch/$name" --straggler >"$out/$name.txt" 2>&1
	"$flamegrid" report "$scratch/$name" --straggler -f json >"$out/$name.json"
	grep '^late' "$out/$name.txt"
}

# straggler_check NAME PLANT LATE WORDS: that rank LATE alone is named, and its first cause has one of WORDS (a|b). No PLANT: nobody.
straggler_check() {
	python3 - "$out/$1.json" "$@" <<'PY' || failed=1
import json, sys
report, name, planted = json.load(open(sys.argv[1])), sys.argv[2], [int(sys.argv[4])] if sys.argv[3] else []
words = sys.argv[5].split('|')
late = [rank['rank'] for rank in report['ranks'] if rank['late']]
causes = [cause['cause'] for rank in report['ranks'] if rank['late'] for cause in rank['causes']]
first = causes[0] if causes else ''
compared = sum(communicator['compared'] for communicator in report['communicators'])
by_gpu = sum(communicator['by_gpu'] for communicator in report['communicators'])
good = [('collectives compared, all by kernels: %d' % compared, compared > 0 and compared == by_gpu),
        ('late: %s of %s' % (late, planted), late == planted),
        ('why: %s' % causes[:3], not planted or any(word in first for word in words))]
for what, held in good:
    print('%s %s: %s' % ('ok     ' if held else 'NOT OK ', name, what))
sys.exit(not all(held for _, held in good))
PY
}

# What report --clocks builds on: no kernel of a collective ends before those of all ranks have begun, by CUPTI's clock, give or take what CLOCK_EVIDENCE_GPU_NS
# allows each of two.
straggler_order() {
	"$flamegrid" report "$scratch/$1" -f csv --rows collectives >"$out/$1_calls.csv"
	python3 - "$out/$1_calls.csv" "$1" <<'PY' || failed=1
import collections, csv, sys
calls = collections.defaultdict(list)
for row in csv.DictReader(open(sys.argv[1])):
    if row['gpu_ns'] and row['function'] in ('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all'):
        calls[row['communicator'], row['function'], row['function_sequence']].append((int(row['gpu_start_ns']), int(row['gpu_ns'])))
slack = sorted(min(s + n for s, n in call) - max(s for s, _ in call) for call in calls.values() if len(call) > 1)
held = bool(slack) and slack[0] >= -10000
print('%s %s: from the last start to the first end, us: least %s, median %s, of %d collectives' % (
    'ok     ' if held else 'NOT OK ', sys.argv[2], slack and slack[0] / 1e3, slack and slack[len(slack) // 2] / 1e3, len(slack)))
sys.exit(not held)
PY
}

# straggler_words PLANT: what its cause has in it.
straggler_words() {
	case $1 in
	host) echo tokenize_batch ;;
	loader) echo load_shard ;;
	kernels) echo GPU kernels ;;
	garbage) echo 'collect_garbage|gc_collect' ;;
	pinned) echo no free CPU ;;
	worker) echo 'next_batch|dataloader.py' ;;
	esac
}

# Each plant on each rank in turn, STRAGGLER_ROUNDS times (default: once, on the last rank). STRAGGLER_PLANTS: which.
straggler() {
	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	local plant round rank name steps
	for ((round = 1; round <= ${STRAGGLER_ROUNDS:-1}; round++)); do
		rank=$(((gpus - round % gpus) % gpus))
		for plant in ${STRAGGLER_PLANTS:-host loader kernels garbage pinned worker none}; do
			name=straggler_$plant$round
			# 20 collections: of six, chance makes the same rank's one time in a thousand.
			steps=$([ "$plant" = garbage ] && echo 1000 || echo 300)
			PLANT=$plant LATE=$rank STEPS=$steps train_ranks "$name" straggler_train.py
			straggler_check "$name" "${plant/#none/}" "$rank" "$(straggler_words "$plant")"
			straggler_order "$name"
		done
	done
}

# late_ranks NAME: "1 stage" if rank 1 is late as a stage of a pipeline, "1 expert" as one of experts, "1" otherwise.
late_ranks() {
	python3 - "$out/$1.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
stages = [rank for stage in (report['pipeline'] or {'stages': []})['stages'] if stage['late'] for rank in stage['ranks']]
experts = [expert['rank'] for expert in report['experts'] if not expert['imbalance']]
late = {rank['rank'] for rank in report['ranks'] if rank['late']}
print(', '.join(['%s stage' % rank for rank in stages] + ['%s expert' % rank for rank in experts if rank not in stages] +
                ['%s' % rank for rank in sorted(late) if rank not in stages and rank not in experts]) or 'none')
PY
}

# A pipeline with a slow stage, experts of whom one gets twice the tokens, and the same without.
parallel() {
	if ! have_torch || [ "$gpus" -lt 3 ]; then echo "left out: no PyTorch, or fewer than three GPUs"; return; fi
	local kind plant expected rank
	for kind in pipeline experts; do
		for plant in none 1 2; do
			rank=${plant/none/0}
			expected=none
			[ "$plant" = none ] || expected="$rank $([ $kind = pipeline ] && echo stage || echo expert)"
			KIND=$kind PLANT=$([ "$plant" = none ] && echo none || echo late) LATE=$rank \
				train_ranks "parallel_$kind$plant" parallel_train.py
			same "parallel $kind $plant: late" "$(late_ranks "parallel_$kind$plant")" "$expected"
		done
	done
}

# watch_check NAME LATE RERUN...: LATE alone is named within 10 s of the onset, and let go; the predicted step against the
# mean of the RERUNs', which are before and after it, as runs themselves differ by more than the prediction may.
watch_check() {
	python3 - "$out" "$@" <<'PY' || failed=1
import datetime, json, re, sys
out, name, late, reruns = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
events = [json.loads(line) for line in open('%s/%s.events' % (out, name))]
said = open('%s/%s.stdout' % (out, name)).read()
onset, over = [float(at) for at in re.findall(r'^step \d+ at ([\d.]+)', said, re.M)][:2]
step = {what: float(ms) for what, ms in re.findall(r'^ms a step, (\w+): ([\d.]+)', said, re.M)}
clean = [float(re.search(r'^ms a step, planted: ([\d.]+)', open('%s/%s.stdout' % (out, rerun)).read(), re.M)[1]) for rerun in reruns]
without = sum(clean) / len(clean)

def at(event):
    return datetime.datetime.fromisoformat(event['time'].replace('Z', '+00:00')).timestamp()

named = [event for event in events if event['event'] == 'late' and at(event) > onset - 1]
gone = [event for event in events if event['event'] == 'recovered' and at(event) > over - 1]
others = [event['name'] for event in events if 'rank %s ' % late not in event['name'] + ' ']
good = [('named %.1f s after the onset: %s' % (at(named[0]) - onset if named else -1, named and named[0]['text']),
         bool(named) and 0 < at(named[0]) - onset <= 10),
        ('let go %.1f s after the end' % (at(gone[0]) - over if gone else -1), bool(gone) and at(gone[0]) > over),
        ('cause: %s' % (named and named[0]['cause']), bool(named)), ('others named: %s' % others, not others)]
for what, held in good:
    print('%s %s: %s' % ('ok     ' if held else 'NOT OK ', name, what))
if named and named[0]['step_without_ns']:
    predicted = named[0]['step_without_ns'] / 1e6
    print('        %s: ms a step: late %.3f (seen %.3f), without, predicted %.3f; reruns %s, mean %.3f (%+.1f %%), this run outside %.3f (%+.1f %%)' % (
        name, step['planted'], named[0]['step_ns'] / 1e6, predicted, ', '.join('%.3f' % ms for ms in clean), without,
        100 * (predicted / without - 1), step['without'],
        100 * (predicted / step['without'] - 1)))
sys.exit(not all(held for _, held in good))
PY
}

# watch_clean NUMBER: the same without a plant.
watch_clean() {
	STEPS=1500 FROM=300 TO=1500 PLANT=none train_ranks "watch_none$1" straggler_train.py --watch "cat >>'$out/watch_none.events'"
}

# What flamegrid run --watch says of a rank that is late for 1,200 steps.
watch() {
	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	local plant clean=1
	: >"$out/watch_none.events"
	watch_clean 1
	for plant in ${WATCH_PLANTS:-host loader kernels}; do
		STEPS=3000 FROM=900 TO=2100 PLANT=$plant LATE=1 train_ranks "watch_$plant" straggler_train.py \
			--watch "cat >>'$out/watch_$plant.events'"
		watch_clean $((clean + 1))
		watch_check "watch_$plant" 1 "watch_none$clean" "watch_none$((clean + 1))"
		clean=$((clean + 1))
		# The report on the whole run says the same.
		straggler_check "watch_$plant" "$plant" 1 "$(straggler_words "$plant")"
	done
	same "watch none: events" "$(wc -l <"$out/watch_none.events")" 0
}
