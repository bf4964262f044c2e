# NCCL's time as waiting and moving: a loop of all-reduces, and calls of which one rank is late, beside what the GPUs' own events say.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# ncclsplit_check PLANT: reads ncclsplit_PLANT.{folded,whole,csv,stdout} of the output folder.
ncclsplit_check() {
	python3 - "$out/ncclsplit_$1" "$1" <<'PY'
import collections, csv, re, sys
base, plant = sys.argv[1:]
good = True

def verdict(what, holds):
    global good
    good &= bool(holds)
    print('%s ncclsplit %s: %s' % ('ok     ' if holds else 'NOT OK ', plant, what))

def kernels(name):
    """(rank, frames, ns) of each line of NCCL's kernels."""
    for line in open('%s.%s' % (base, name)):
        frames, _, ns = line.rstrip('\n').rpartition(' ')
        frames = frames.split(';')
        if re.search(r'Kernel\]\S*nccl\w*Kernel', frames[-1]):
            yield int(re.sub(r'\D', '', frames[0])), frames, int(ns)

def sums(name):
    found = collections.Counter()
    for rank, frames, ns in kernels(name):
        found[rank, frames[-1]] += ns
    return found

parts = collections.defaultdict(collections.Counter)
for rank, frames, ns in kernels('folded'):
    if any(re.search(r'nccl_loop\.py:(timed|late)_loop', frame) for frame in frames):
        parts[rank][frames[-2]] += ns
said = collections.defaultdict(dict)
for line in open(base + '.stdout'):
    found = re.match(r'rank (\d+) (\w+) ([\d.]+)$', line)
    if found:
        said[found[2]][int(found[1])] = float(found[3])
rows = list(csv.DictReader(open(base + '.csv')))
print('parts:', {rank: dict(found) for rank, found in parts.items()})
verdict('parts sum to the kernels, to the nanosecond, on %d ranks' % len(rows), sums('folded') and sums('folded') == sums('whole'))
left = sum(found['[not split]'] for found in parts.values())
verdict('not split: %d ns' % left, left == 0)
if plant == 'none':
    for rank, found in sorted(parts.items()):
        waits = sum(ns for part, ns in found.items() if 'waits' in part)
        verdict('rank %d only moves: it waits %.2f %%' % (rank, 100 * waits / sum(found.values())), waits < 0.05 * sum(found.values()))
    for row in rows:
        have, want = int(row['nccl_bus_bytes']) / int(row['nccl_moves_ns']), said['bus_gbs'][int(row['rank'])]
        verdict('rank %s: %.1f GB/s, the program says %.1f' % (row['rank'], have, want), abs(have - want) < 0.05 * want)
        peak = int(row['link_bytes_per_second'] or 0) / 1e9
        verdict('rank %s: peak of %s: %.1f GB/s, of which %.1f moved' % (row['rank'], row['link'] or 'no known link', peak, have), 0 < have < peak)
else:
    late = max(said['late_ns'], key=said['late_ns'].get)
    for rank, found in sorted(parts.items()):
        if rank == late:
            continue
        have, want = found['[waits for rank %d]' % late], said['late_ns'][late]
        verdict('rank %d waits for rank %d: %.3f ms, which was late by %.3f' % (rank, late, have / 1e6, want / 1e6), abs(have - want) < 0.02 * want)
    verdict('ranks that wait: %d' % (len(parts) - 1), len(parts) == (2 if plant == 'pair' else len(rows)))
sys.exit(not good)
PY
}

ncclsplit() {
	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	local plant base
	for plant in none late pair; do
		base=$out/ncclsplit_$plant
		PLANT=$plant timeout 300 "$flamegrid" run -o "$scratch/ncclsplit_$plant" -- \
			torchrun --nproc_per_node="$gpus" "$here/programs/nccl_loop.py" >"$base.stdout" 2>"$base.stderr"
		same "ncclsplit $plant: exit status" $? 0
		grep '^flamegrid:' "$base.stderr"
		"$flamegrid" report "$scratch/ncclsplit_$plant" --ranks | tee "$base.txt"
		"$flamegrid" report "$scratch/ncclsplit_$plant" --ranks -f csv >"$base.csv"
		"$flamegrid" report "$scratch/ncclsplit_$plant" --by rank -u ns >"$base.folded" 2>/dev/null
		"$flamegrid" report "$scratch/ncclsplit_$plant" --by rank -u ns --nccl whole >"$base.whole" 2>/dev/null
		ncclsplit_check "$plant" || failed=1
	done
}
