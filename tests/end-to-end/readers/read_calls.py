"""read_calls.py TRACE CALLS.csv: compares the calls of NCCL in a Perfetto trace with `report --rows collectives --format csv`.

Each call is there, to the nanosecond; the calls of a collective and their kernels on all ranks have one flow, and no others."""

import collections
import csv
import sys

from read_perfetto import path_of, read


def main():
    slices, tracks = read(sys.argv[1])
    shown, work = [], collections.defaultdict(dict)
    for item in slices:
        path = path_of(tracks, item["track"])
        pid = path[1].split()[-1]
        if path[-1].startswith("collectives of thread "):
            name, _, size = item["name"].partition(" of ")
            thread = path[-1].split()[3]
            shown.append((pid, thread, name, int(size.split()[0]) if size else 0, item["start"], item["end"] - item["start"],
                          tuple(item["flows"])))
        elif path[-1].startswith("stream"):
            work[pid][item["start"]] = item
    with open(sys.argv[2], encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(line for line in file if not line.startswith("#"))]
    truth = sorted((row["pid"], row["thread"], row["function"], int(row["bytes"] or 0), int(row["start_ns"]),
                    int(row["duration_ns"])) for row in rows)
    assert sorted(item[:6] for item in shown) == truth, f"{len(shown)} calls are not the {len(truth)} of the report"
    flows = {(item[0], item[4]): item[6] for item in shown}
    collectives = collections.defaultdict(list)
    for row in rows:
        if row["function"] not in ("send", "recv", "group") and int(row["sequence"]) > 0:
            collectives[row["communicator"], row["sequence"]].append(row)
    seen, joined, kernels = set(), 0, 0
    # CUPTI's clock less the trace's: one number for each process, which has compared the clocks by itself.
    offsets = collections.defaultdict(collections.Counter)
    for row in rows:
        if row["gpu_start_ns"]:
            for start, item in work[row["pid"]].items():
                if item["name"].startswith("nccl"):  # other kernels may lie as far from one another as these
                    offsets[row["pid"]][int(row["gpu_start_ns"]) - start] += 1
    offset = {pid: counts.most_common(1)[0][0] for pid, counts in offsets.items()}
    for calls in collectives.values():
        of = {flows[row["pid"], int(row["start_ns"])] for row in calls}
        assert len(of) == 1, "calls of a collective have several flows"
        flow = of.pop()
        assert len(flow) == (len(calls) > 1) and not seen & set(flow), "a flow of two collectives, or of none"
        seen |= set(flow)
        joined += len(flow)
        for row in calls if flow else []:
            start = int(row["gpu_start_ns"]) - offset[row["pid"]] if row["gpu_start_ns"] else None
            kernel = work[row["pid"]].get(start)
            kernels += kernel is not None and flow[0] in kernel["flows"]
    print("calls", len(shown), "joined", joined, "kernels", kernels)


main()
