"""read_steps.py TRACE RECORDS CSV: counts the parts of each step again, and compares them with `timeline --steps`.

Begins and ends of steps and times of launches are a Perfetto trace's; GPU work is what the fake CUDA delivered. One number
lies between the two clocks. Exits with 1 where a part of a step differs by a nanosecond."""

import collections
import csv
import sys

from read_perfetto import path_of, read

HOST_NS = 1000000


def read_work(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            _, kind, _, start, end = line.rstrip("\n").split("\t")
            yield int(start), int(end), "compute_ns" if kind == "kernel" else "copies_ns"


def join(work, slices):
    """(start, end, part, time of its launch) of each piece of work, by the trace's clock."""
    launches = {item["flow"]: item["start"] for item in slices if item["path"][-1].startswith("thread") and item["flow"]}
    shown = sorted((item["start"], item["end"], launches.get(item["flow"])) for item in slices if "stream" in item["path"][-1])
    offset = min(work)[0] - shown[0][0]
    work = sorted((start - offset, end - offset, part) for start, end, part in work)
    assert [piece[:2] for piece in work] == [piece[:2] for piece in shown], "the trace is not the truth"
    by_time = collections.defaultdict(list)
    for start, end, launched in shown:
        by_time[start, end].append(launched)
    return [(*piece, by_time[piece[:2]].pop()) for piece in work]


def pieces(work):
    """(begin, end, part) over all time; idle time has its reason."""
    times = sorted({time for start, end, _, _ in work for time in (start, end)})
    idle, running, following = 0, [], 0
    for time, until in zip([0] + times, times + [1 << 63]):
        running = [piece for piece in running if piece[1] > time]
        while following < len(work) and work[following][0] <= time:
            running.append(work[following])
            following += 1
        if running:
            yield time, until, min((piece[2] for piece in running), key=["compute_ns", "copies_ns"].index)
            continue
        if following == len(work):
            yield time, until, "idle_unknown_ns"
            continue
        launched = min(piece[3] for piece in work if piece[0] == work[following][0])
        launched = min(max(launched, time), until)
        yield time, launched, "idle_launches_ns" if launched - time < HOST_NS else "idle_host_ns"
        yield launched, until, "idle_start_ns"


def main():
    trace, records, table = sys.argv[1:4]
    slices, tracks = read(trace)
    for item in slices:
        item["path"] = path_of(tracks, item["track"])
    work = join(list(read_work(records)), slices)
    steps = {int(item["name"][5:]): (item["start"], item["end"]) for item in slices if item["name"].startswith("step ")}
    wanted = {number: collections.Counter() for number in steps}
    for begin, end, part in pieces(work):
        for number, (first, last) in steps.items():
            wanted[number][part] += max(0, min(end, last) - max(begin, first))
    with open(table, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    parts = [name for name in rows[0] if name.endswith("_ns") and name not in ("begin_ns", "step_ns", "launched_earlier_ns", "longest_gap_ns")]
    for row in rows:
        number = int(row["step"])
        have = {name: int(row[name]) for name in parts}
        assert int(row["step_ns"]) == steps[number][1] - steps[number][0] == sum(have.values()), f"step {number}"
        assert have == {name: wanted[number][name] for name in parts}, f"step {number}: {have} is not {wanted[number]}"
    slowest = max(rows, key=lambda row: int(row["step_ns"]))
    print("steps", *sorted(int(row["step"]) for row in rows))
    longest = max((item for item in slices if item["path"][-1] == "idle"), key=lambda item: item["end"] - item["start"])
    print("longest", longest["name"])
    print("slowest", slowest["step"], "idle", max(have, key=lambda name: int(slowest[name])))


main()
