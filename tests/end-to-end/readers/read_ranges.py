"""read_ranges.py TRACE: compares the ranges and steps of a Perfetto trace with the ranges in the stacks of its launches.

The guest takes both, but not from the same records. Prints the steps, the slowest one, and the largest gap between pieces of
GPU work; exits with 1 where a launch has other ranges than the slices around it."""

import sys

from read_perfetto import path_of, read


def main():
    slices, tracks = read(sys.argv[1])
    ranges, launches, work = {}, [], []
    for item in slices:
        path = path_of(tracks, item["track"])
        kind, _, tid = path[-1].rpartition(" ")
        if kind == "ranges of thread":
            ranges.setdefault(tid, []).append(item)
        elif kind == "thread":
            launches.append((tid, item))
        elif path[-1].startswith("stream"):
            work.append((item["start"], item["end"], item["name"]))
    checked = 0
    for tid, launch in launches:
        of_thread = ranges.get(tid, [])
        if not of_thread or launch["start"] < min(item["start"] for item in of_thread):
            continue
        around = [item for item in of_thread if item["start"] <= launch["start"] < item["end"]]
        names = ["[NVTX]" + ("step" if item["name"].startswith("step ") else item["name"]) for item in around]
        frames = [frame for frame in launch["stack"] if frame.startswith("[NVTX]")]
        if "--nvtx" in sys.argv:
            assert names == frames, f"{names} is not {frames}"
        checked += 1
    steps = sorted((int(item["name"][5:]), item["end"] - item["start"])
                   for items in ranges.values() for item in items if item["name"].startswith("step "))
    print("checked", checked)
    print("steps", *[number for number, _ in steps])
    print("times", *[f"{number}:{time}" for number, time in steps])
    print("names", *sorted({item["name"].replace(" ", "_") for items in ranges.values() for item in items}))
    if len(steps) > 2:
        slowest = max((step for step in steps if step[0] > 1), key=lambda step: step[1])[0]
        print("slowest", slowest)
        first = min(item["start"] for item in slices)
        for item in [item for items in ranges.values() for item in items if item["name"] == f"step {slowest}"]:
            print("inside", item["start"] + 1 - first, item["end"] - 1 - first)
    work.sort()
    print("work", *[name for _, _, name in work])
    end, gap = work[0][1], 0
    for start, stop, _ in work:
        gap = max(gap, start - end)
        end = max(end, stop)
    print("gap", f"{gap / 1e6:.3f}")


main()
