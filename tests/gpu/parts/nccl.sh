# Calls of NCCL in processes without a guest, as the kernel sees them: both ranks of a job must tell the same.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# Reads rows of `report --rows collectives`. A line for each communicator with what its ranks say; then checks, a line each that begins with
# "ok" or "NOT OK".
nccl_check() {
	python3 - "$1" "$2" <<'PY'
import csv, sys

def verdict(what, holds):
    print(('ok      ' if holds else 'NOT OK  ') + what)
    return holds

rows = list(csv.DictReader(open(sys.argv[1])))
ranks = int(sys.argv[2])
calls = [row for row in rows if row['function'] != 'group']
whole = {}
for row in calls:
    if row['communicator'] and row['ranks'] == str(ranks):
        rank = whole.setdefault(row['communicator'], {}).setdefault(int(row['communicator_rank']), {})
        function = 'send or recv' if row['function'] in ('send', 'recv') else row['function']
        rank[int(row['sequence'])] = (function, row['type'], row['op'], row['count'], row['bytes'], row['result'])
for key, by_rank in whole.items():
    for rank, by_sequence in sorted(by_rank.items()):
        print('nccl: %s rank %d: %d calls, sequence %d..%d, %d bytes, %s' % (
            key, rank, len(by_sequence), min(by_sequence), max(by_sequence), sum(int(call[4]) for call in by_sequence.values()),
            ' '.join(sorted(set(call[0] for call in by_sequence.values())))))
good = verdict('nccl: a communicator of all %d ranks is there' % ranks, len(whole) > 0)
good &= verdict('nccl: calls of communicators that are not known: %d' % sum(not row['communicator'] for row in calls),
                all(row['communicator'] for row in calls))
good &= verdict('nccl: calls that failed: %d' % sum(row['result'] not in '07' for row in calls), all(row['result'] in '07' for row in calls))
for key, by_rank in whole.items():
    good &= verdict('nccl: %s: every rank' % key, sorted(by_rank) == list(range(ranks)))
    first = by_rank[min(by_rank)]
    good &= verdict('nccl: %s: sequences without gaps' % key, sorted(first) == list(range(1, len(first) + 1)))
    good &= verdict('nccl: %s: function, type, count and bytes of each number the same on all ranks' % key,
                    all(other == first for other in by_rank.values()))
    good &= verdict('nccl: %s: bytes' % key, all(int(call[4]) > 0 for call in first.values()))
sys.exit(not good)
PY
}

nccl() {
	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	timeout 300 "$flamegrid" run --host-calls on --bpf-buffer 131072 -o "$scratch/nccl" -- \
		torchrun --nproc_per_node=2 "$here/programs/ddp.py" >"$out/nccl.stdout" 2>"$out/nccl.stderr"
	same "nccl: exit status" $? 0
	cat "$out/nccl.stdout"
	grep '^flamegrid:' "$out/nccl.stderr"
	"$flamegrid" report "$scratch/nccl" --format table --collectives --strict | tee "$out/nccl.table"
	same "nccl: nothing lost (report --strict)" "${PIPESTATUS[0]}" 0
	"$flamegrid" report "$scratch/nccl" --format csv --rows collectives >"$out/nccl.csv"
	# As the program was: 220 steps, each with the same gradients.
	at_least "nccl: all_reduces" "$(grep -c ',all_reduce,' "$out/nccl.csv")" 440
	nccl_check "$out/nccl.csv" 2 || failed=1
}

# The same through NCCL's profiler interface, in processes with the guest: each call has the launch that carries it.
ncclplugin_check() {
	python3 - "$1" "$2" "$3" <<'PY'
import csv, sys

def verdict(what, holds):
    print(('ok      ' if holds else 'NOT OK  ') + what)
    return holds

rows = list(csv.DictReader(open(sys.argv[1])))
ranks, kernels = int(sys.argv[2]), int(sys.argv[3])
good = verdict('ncclplugin: calls: %d' % len(rows), len(rows) > 0)
good &= verdict('ncclplugin: all told by the profiler interface', all(row['origin'] == 'profiler' for row in rows))
good &= verdict('ncclplugin: calls without a launch: %d' % sum(row['correlation_id'] == '0' for row in rows),
                all(row['correlation_id'] != '0' for row in rows))
launches = set((row['host'], row['pid'], row['correlation_id']) for row in rows)
good &= verdict('ncclplugin: launches that carry calls: %d; kernels of NCCL that ran: %d' % (len(launches), kernels), len(launches) == kernels)
whole = {}
for row in rows:
    if row['ranks'] == str(ranks):
        rank = whole.setdefault(row['communicator'], {}).setdefault(int(row['communicator_rank']), {})
        rank[int(row['sequence'])] = (row['function'], row['function_sequence'], row['type'], row['count'], row['bytes'])
good &= verdict('ncclplugin: communicators of all %d ranks: %d' % (ranks, len(whole)), len(whole) > 0)
for key, by_rank in whole.items():
    first = by_rank[min(by_rank)]
    good &= verdict('ncclplugin: %s: every rank, %d calls each' % (key, len(first)), sorted(by_rank) == list(range(ranks)))
    good &= verdict('ncclplugin: %s: sequences without gaps' % key, sorted(first) == list(range(1, len(first) + 1)))
    same = sum(by_rank[rank].get(sequence) == call for rank in by_rank for sequence, call in first.items())
    good &= verdict('ncclplugin: %s: %d of %d match by sequence' % (key, same, len(first) * ranks), same == len(first) * ranks)
good &= verdict('ncclplugin: host time', all(int(row['duration_ns']) > 0 for row in rows))
good &= verdict('ncclplugin: stacks', all(row['stack'] for row in rows))
sys.exit(not good)
PY
}

nccl_conformance() {
	local library cudart

	library=$(python3 -c 'import glob, sysconfig; print((glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/nccl/lib/libnccl.so.2") + [""])[0])')
	cudart=$(python3 -c 'import glob, sysconfig; print((sorted(glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib/libcudart.so.*")) + [""])[0])')
	[ -n "$cudart" ] || cudart=libcudart.so
	if [ -z "$library" ]; then echo "left out: no libnccl.so.2 beside PyTorch"; return; fi
	gcc -O2 -D_GNU_SOURCE -shared -fPIC -I"$here/../.." "$here/nccl_conformance_plugin.c" -o "$scratch/libnccl_conformance_plugin.so" &&
		gcc -O2 -D_GNU_SOURCE -I"$here/../.." "$here/nccl_conformance.c" -o "$scratch/nccl_conformance" -ldl -lpthread ||
		{ not_ok "ncclplugin: the conformance program"; return; }
	if timeout 120 "$scratch/nccl_conformance" "$scratch/libnccl_conformance_plugin.so" "$library" "$cudart" >"$out/nccl_conformance.txt" 2>&1; then
		ok "ncclplugin: conformance on the real NCCL"
	else
		not_ok "ncclplugin: conformance on the real NCCL:"
		grep '^not ok' "$out/nccl_conformance.txt"
	fi
	grep -E '^NCCL |^a ' "$out/nccl_conformance.txt"
}

ncclplugin() {
	local kernels

	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	nccl_conformance
	timeout 300 "$flamegrid" run -o "$scratch/ncclplugin" -- \
		torchrun --nproc_per_node=2 "$here/programs/ddp.py" >"$out/ncclplugin.stdout" 2>"$out/ncclplugin.stderr"
	same "ncclplugin: exit status" $? 0
	cat "$out/ncclplugin.stdout"
	grep '^flamegrid:' "$out/ncclplugin.stderr"
	"$flamegrid" report "$scratch/ncclplugin" --format table --collectives --strict | tee "$out/ncclplugin.table"
	same "ncclplugin: nothing lost (report --strict)" "${PIPESTATUS[0]}" 0
	"$flamegrid" report "$scratch/ncclplugin" --format csv --rows collectives >"$out/ncclplugin.csv"
	kernels=$("$flamegrid" report "$scratch/ncclplugin" --format folded --weight count |
		awk '/Kernel\][^;]*nccl[A-Za-z]*Kernel/ { sum += $NF } END { printf "%.0f\n", sum }')
	at_least "ncclplugin: all_reduces" "$(grep -c ',all_reduce,' "$out/ncclplugin.csv")" 440
	ncclplugin_check "$out/ncclplugin.csv" 2 "$kernels" || failed=1
}
