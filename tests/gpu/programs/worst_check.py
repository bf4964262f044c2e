"""worst_check.py TRACE FOLDED STEP RANKS FROM TO: what a Perfetto trace of the slowest step of all ranks has.

FOLDED has the ns of the profile of the same time, from FROM to TO, in seconds. So it has the work that began then. The decoder is tests/end-to-end/readers/read_perfetto.py."""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../end-to-end/readers"))
from read_perfetto import path_of, read_all

trace, folded, step, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
length = round((float(sys.argv[6]) - float(sys.argv[5])) * 1e9)
slices, tracks, counters = read_all(trace)
work, launches, flows, steps = collections.Counter(), collections.Counter(), collections.defaultdict(set), {}
pieces = []
failed = 0


def check(held, words):
    global failed
    failed |= not held
    print("ok     " if held else "NOT OK ", words)


for item in slices:
    path = path_of(tracks, item["track"])
    rank, kind = path[1], path[-1]
    if kind.startswith("stream"):
        work[rank] += 1
        pieces.append((item["start"], item["end"]))
    elif kind.startswith("thread"):
        launches[rank] += 1
    elif kind.startswith("ranges of") and item["name"].startswith("step "):
        steps.setdefault(item["name"], {})[rank] = item["end"] - item["start"]
    for flow in item["flows"]:
        flows[flow].add(rank)
events = len(slices) + sum(map(len, counters.values()))
begin, end = min(item["start"] for item in slices), max(item["end"] for item in slices)
print("%d events in %.3f s, %.1f bytes each; work %s; launches %s" % (
    events, (end - begin) / 1e9, os.path.getsize(trace) / events, sorted(work.values()), sorted(launches.values())))
for name, of in sorted(steps.items()):
    print("  ", name, {rank: "%.3f s" % (ns / 1e9) for rank, ns in sorted(of.items())})
check(len(work) == ranks and min(work.values()) > 0, "worst: work of %d ranks" % len(work))
saving = [ns for rank, ns in steps.get("step %d" % step, {}).items() if rank.startswith("rank %d," % (ranks - 1))]
check(saving and saving[0] >= 1800000000, "worst: step %d of the rank that saved in it: %s ns" % (step, saving))
check(any(len(of) == ranks for of in flows.values()), "worst: flows through all ranks: %d" % sum(len(of) == ranks for of in flows.values()))
begin = min(item["start"] for item in slices if item["name"].startswith("step ") and abs(item["end"] - item["start"] - length) <= 1000)
work_ns = sum(end - start for start, end in pieces if begin <= start < begin + length)
sums = sum(int(line.rsplit(" ", 1)[1]) for line in open(folded) if "[GPU" in line)
check(sums == work_ns, "worst: %d ns of work, %d in the profile of the same time" % (work_ns, sums))
sys.exit(failed)
