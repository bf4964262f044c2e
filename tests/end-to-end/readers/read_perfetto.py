"""read_perfetto.py TRACE RECORDS [OFFSET FROM TO]: compares a Perfetto trace with the records that the fake CUDA delivered.

A decoder of its own, by the numbers of fields that Perfetto publishes in protos/perfetto/trace: trace.proto,
trace_packet.proto, trace_packet_defaults.proto, clock_snapshot.proto, interned_data/interned_data.proto,
profiling/profile_common.proto, track_event/track_event.proto and track_event/track_descriptor.proto. Prints a line for
each fact; exits with 1 where one is wrong. OFFSET, FROM, TO: CUPTI's clock less the trace's, and a part of the trace's time."""

import collections
import os
import struct
import sys


def fields(data):
    """(number, value) of each field; values are integers or bytes."""
    at = 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            value = varint()
        elif tag & 7 == 1:
            value = struct.unpack_from("<Q", data, at)[0]
            at += 8
        elif tag & 7 == 2:
            size = varint()
            value = data[at:at + size]
            assert len(value) == size, "a field is cut"
            at += size
        else:
            raise ValueError(f"wire type {tag & 7}")
        yield tag >> 3, value


def message(data):
    values = collections.defaultdict(list)
    for number, value in fields(data):
        values[number].append(value)
    return values


class Sequence:
    def __init__(self):
        self.now, self.names, self.functions, self.frames, self.stacks = None, {}, {}, {}, {}

    def clock(self, snapshot):
        for clock in message(snapshot)[1]:
            values = message(clock)
            if values[1] == [64]:
                assert values[3] == [1], "the own clock is not incremental"
                self.now = values[2][0]

    def intern(self, data):
        values = message(data)
        for field, table in ((2, self.names), (5, self.functions)):
            for item in values[field]:
                item = message(item)
                table[item[1][0]] = item[2][0].decode()
        for item in values[6]:
            item = message(item)
            self.frames[item[1][0]] = self.functions[item[2][0]]
        for item in values[7]:
            item = message(item)
            self.stacks[item[1][0]] = [self.frames[frame] for frame in item[2]]


def read(path):
    """(slices, tracks): a slice is a dict; tracks: uuid to (parent, name)."""
    return read_all(path)[:2]


def read_all(path):
    """The same, and counters: uuid to a list of (time, value)."""
    counters, units = collections.defaultdict(list), {}
    tracks, slices, sequences, stacks = {}, [], collections.defaultdict(Sequence), collections.defaultdict(list)
    with open(path, "rb") as file:
        packets = message(file.read())[1]
    for packet in map(message, packets):
        sequence = sequences[packet[10][0]]
        if packet[6]:
            sequence.clock(packet[6][0])
        if packet[60]:
            track = message(packet[60][0])
            tracks[track[1][0]] = ((track[5] or [0])[0], track[2][0].decode())
            if track[8]:
                units[track[1][0]] = message(track[8][0])[6][0].decode()
        if packet[12]:
            sequence.intern(packet[12][0])
        if not packet[11]:
            continue
        assert packet[13] == [2], "an event does not say that it needs its sequence's state"
        event = message(packet[11][0])
        sequence.now += packet[8][0]
        kind, track = event[9][0], event[11][0]
        assert track in tracks, "an event before its track"
        if kind == 4:
            assert track in units, "a value of a track that is no counter"
            counters[track].append((sequence.now, struct.unpack("<d", struct.pack("<Q", event[44][0]))[0]))
            continue
        if kind == 2:
            stacks[track].pop()["end"] = sequence.now
            continue
        made = {"track": track, "name": sequence.names[event[10][0]], "start": sequence.now, "end": sequence.now,
                "flow": (event[47] or [0])[0], "flows": event[47], "stack": sequence.stacks[event[56][0]] if event[56] else None}
        slices.append(made)
        if kind == 1:
            stacks[track].append(made)
    assert not any(stacks.values()), "a slice has no end"
    return slices, tracks, counters


def path_of(tracks, uuid):
    names = []
    while uuid:
        uuid, name = tracks[uuid]
        names.insert(0, name)
    return names


def unite(work):
    """The stretches of time with work."""
    stretches = []
    for start, end in sorted(work):
        if stretches and start <= stretches[-1][1]:
            stretches[-1][1] = max(stretches[-1][1], end)
        else:
            stretches.append([start, end])
    return stretches


def reasons(gaps, slices, tracks, gpu):
    """The idle times of a GPU, with the reason that the launch of the work behind each tells."""
    rank = tracks[gpu][0]
    launches = {item["flow"]: item["start"] for item in slices
                if item["flow"] and item["path"][-1].startswith("thread") and tracks[item["track"]][0] == rank}
    launched = collections.defaultdict(list)
    for item in slices:
        if tracks[item["track"]][0] == gpu and item["flow"] in launches:
            launched[item["start"]].append(launches[item["flow"]])
    for begin, end in gaps:
        if end not in launched:
            yield begin, end, "idle"
            continue
        middle = min(max(min(launched[end]), begin), end)
        if begin < middle:
            yield begin, middle, "idle: launch-bound" if middle - begin < 1000000 else "idle: host did not launch"
        if middle < end:
            yield middle, end, "idle: launched, not started"


def check_busy(slices, tracks, counters):
    """A GPU's counter and idle time are those of a recount. Returns the number of values, and of idle times."""
    step, idle = 1000, 0
    units = [number * 10**power for power in range(3, 18) for number in (1, 2, 5)]
    for uuid, values in counters.items():
        parent = tracks[uuid][0]
        work = [(item["start"], item["end"]) for item in slices if tracks[item["track"]][0] == parent and "stream" in item["path"][-1]]
        rank = tracks[parent][0]
        span = [(item["start"], item["end"]) for item in slices
                if "stream" in item["path"][-1] and tracks[tracks[item["track"]][0]][0] == rank]
        span = max(end for _, end in span) - min(start for start, _ in span)
        step = next(unit for unit in units if span // unit < 998)
        stretches = unite(work)
        want = collections.Counter()
        for start, end in stretches:
            while start < end:
                until = min(end, (start // step + 1) * step)
                want[start // step] += until - start
                start = until
        have = collections.Counter()
        for (time, value), (until, _) in zip(values, values[1:] + [(values[-1][0], 0)]):
            assert time % step == 0, "a counter changes between steps"
            for number in range(time // step, until // step) if value else ():
                have[number] = round(value * step / 100)
        assert values[-1][1] == 0 and have == +want, "a counter is not the recount"
        gaps = [(left[1], right[0]) for left, right in zip(stretches, stretches[1:]) if right[0] - left[1] >= 10000]
        shown = sorted((item["start"], item["end"], item["name"]) for item in slices if tracks[item["track"]] == (parent, "idle"))
        assert shown == sorted(reasons(gaps, slices, tracks, parent)), "idle time is not the recount"
        idle += len(gaps)
    return sum(map(len, counters.values())), idle


def main():
    trace, records = sys.argv[1:3]
    slices, tracks, counters = read_all(trace)
    work, launches = [], []
    for item in slices:
        item["path"] = path_of(tracks, item["track"])
        if not item["path"][-1].startswith(("ranges of", "collectives of", "idle")):
            (work if "stream" in item["path"][-1] else launches).append(item)
    truth = []
    with open(records, encoding="utf-8") as file:
        for line in file:
            gpu, kind, name, start, end = line.rstrip("\n").split("\t")
            truth.append((f"GPU {gpu}", {"kernel": name, "memcpy": f"Memcpy {name}", "memset": "Memset"}[kind], int(start),
                          int(end)))
    # The trace's clock is CLOCK_MONOTONIC; the records' is CUPTI's. One number is between the two.
    if len(sys.argv) > 3:
        offset, low, high = map(int, sys.argv[3:6])
        truth = [item for item in truth if item[3] - offset >= low and item[2] - offset < high]
    else:
        offset = min(item[2] for item in truth) - min(item["start"] for item in work)
    shown = sorted((item["path"][2], item["name"], item["start"] + offset, item["end"] + offset) for item in work)
    print("work", len(shown), "ns", sum(end - start for _, _, start, end in shown))
    first, starts = min(item["start"] for item in slices), sorted(item["start"] for item in work)
    print("launches", len(launches), "first", first, "offset", offset)
    print("quarters", starts[len(starts) // 4] - first, starts[len(starts) * 3 // 4] - first)
    values, idle = check_busy(slices, tracks, counters)
    print("busy", values, "idle", idle)
    print("bytes", round(os.path.getsize(trace) / (len(slices) + values), 1))
    assert shown == sorted(truth), f"{len(shown)} events are not the {len(truth)} of the truth"
    print("exact")
    flows = collections.defaultdict(list)
    for item in slices:
        if item["flow"]:
            flows[item["flow"]].append(item)
    for items in flows.values():
        assert items[0]["path"][-1].startswith("thread"), "a flow begins elsewhere than at a launch"
        assert len(items) == 2 and items[1]["path"][1] == items[0]["path"][1]
        assert items[0]["start"] < items[1]["end"], "GPU work ended before its launch"
        assert items[0]["stack"], "a launch without a stack"
        # The program launches each kernel from a function that is named after it.
        if items[1]["name"].startswith("k"):
            assert any(f"launch_from_{items[1]['name']}" in frame for frame in items[0]["stack"]), items
    print("flows", len(flows), "without", sum(not item["flow"] for item in work))
    print("paths", *sorted({"/".join(part.split(" ")[0] for part in item["path"]) for item in slices}))


if __name__ == "__main__":
    main()
