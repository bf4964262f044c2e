"""read_gauges.py TRACE: the counters of each GPU in a Perfetto trace but for "busy": their least and greatest value.

Exits with 1 where values do not ascend in time, or lie outside of the time of the GPU's work by more than two seconds."""

import collections
import sys

from read_perfetto import path_of, read_all


def main():
    slices, tracks, counters = read_all(sys.argv[1])
    work = collections.defaultdict(list)
    for item in slices:
        work[tracks[item["track"]][0]] += [item["start"], item["end"]]
    for uuid, values in sorted(counters.items(), key=lambda pair: path_of(tracks, pair[0])):
        gpu, name = path_of(tracks, uuid)[-2:]
        if name == "busy":
            continue
        times = [time for time, _ in values]
        assert times == sorted(times), "a counter goes back"
        around = work[tracks[uuid][0]]
        assert min(around) - 2e9 <= times[0] and times[-1] <= max(around) + 2e9, "a counter of another time"
        print(gpu, name.replace(" ", "_"), *[f"{value:.0f}" for value in (min(v for _, v in values), max(v for _, v in values))])


main()
