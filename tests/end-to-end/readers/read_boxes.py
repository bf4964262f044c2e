"""The single pieces of GPU work on the time axis of the page of a range. Arguments: the page; the trace of the same range
in Chrome's format; folded stacks of its GPU work by time, and by count; the page of the whole profile.

The pieces are the slices of the trace: name, GPU, stream, begin, end, and the launch's time. Those that began within the
range are the folded stacks, to the nanosecond. Bins are what the pieces fill. Prints the number of pieces, and of those
that began before the range."""

import collections
import decimal
import json
import re
import sys

from read_strips import BUSY, LEVELS, PARTS, read_axis, unpack


def unzigzag(value):
    return -(value + 1) // 2 if value % 2 else value // 2


def read_pieces(path):
    profile, columns = unpack(path)
    timeline, strings = profile["timeline"], profile["strings"]
    levels, _, boxes, (parents, names) = read_axis(profile, columns)
    time, pieces = timeline["beginNs"], []

    def stack_of(node):
        stack = []
        while node:
            stack.append(strings[names[node]])
            node = node - parents[node] - 1
        return stack[::-1]

    for strip, part, start, length, wait, launch, context, stream, _, node, name in zip(*boxes):
        time += unzigzag(start)
        leaf = re.fullmatch(r"\[GPU(\d+)_(\w+)\](.*)", strings[name])
        assert int(leaf[1]) == timeline["strips"][strip][1], "a piece stands on another GPU's strip"
        assert wait <= length and part < PARTS
        pieces.append({"gpu": int(leaf[1]), "kind": leaf[2], "name": leaf[3], "leaf": leaf[0], "start": time, "end": time + length,
                       "before": unzigzag(launch - 1) if launch else None, "context": context, "stream": stream, "strip": strip,
                       "stack": stack_of(node)})
    return timeline, levels, pieces


def read_slices(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    threads, open_slices, slices, launches, works = {}, {}, [], {}, collections.defaultdict(list)
    for event in trace["traceEvents"]:
        where, time = (event["pid"], event["tid"]), int(event.get("ts", 0) * 1000)
        if event["ph"] == "M" and event["name"] == "thread_name":
            threads[where] = event["args"]["name"]
        elif event["ph"] == "B" and " stream " in threads[where]:
            gpu, stream, context = re.search(r"GPU (\d+).* stream (\d+) of context (\d+)", threads[where]).groups()
            open_slices[where] = {"gpu": int(gpu), "stream": int(stream), "context": int(context), "name": event["name"], "start": time}
        elif event["ph"] == "E" and where in open_slices:
            slices.append({**open_slices.pop(where), "end": time, "where": where, "before": None})
        elif event["ph"] == "s":
            launches[event["id"]] = time
        elif event["ph"] == "t":
            works[where, time].append(event["id"])
    for piece in slices:
        ids = works.get((piece.pop("where"), piece["start"]))
        if ids:
            piece["before"] = piece["start"] - launches[ids.pop(0)]
    return slices


def check_slices(pieces, slices, begin):
    """The trace has the host's clock, and the page counts from the first event. The trace has no launch from before."""
    for pieces_or_slices in pieces, slices:
        first = min(piece["start"] for piece in pieces_or_slices)
        for piece in pieces_or_slices:
            piece["key"] = (piece["start"] - first, piece["end"] - first, piece["gpu"], piece["context"], piece["stream"], piece["name"])
        pieces_or_slices.sort(key=lambda piece: piece["key"])
    assert [piece["key"] for piece in pieces] == [slice_["key"] for slice_ in slices], "pieces are not the slices"
    for piece, slice_ in zip(pieces, slices):
        assert piece["before"] == slice_["before"] or (slice_["before"] is None and piece["start"] - piece["before"] < begin)


def check_stacks(pieces, timeline, by_time, by_count):
    time, count = collections.Counter(), collections.Counter()
    for piece in pieces:
        if piece["start"] >= timeline["beginNs"]:
            stack = ";".join([*piece["stack"], piece["leaf"]])
            time[stack] += piece["end"] - piece["start"]
            count[stack] += 1
    for sums, path in ((time, by_time), (count, by_count)):
        with open(path, encoding="utf-8") as file:
            folded = {stack: int(value) for stack, _, value in (line.rstrip("\n").rpartition(" ") for line in file)}
        assert folded == {stack: value for stack, value in sums.items() if value}, f"{path} differs from the pieces"


def check_bins(pieces, timeline, levels):
    """Rounding takes less than a level of each bin."""
    bins, bin_ns, begin = timeline["bins"], timeline["binNs"], timeline["beginNs"]
    for strip in range(len(timeline["strips"])):
        busy, end = [0] * bins, begin
        for piece in sorted((piece for piece in pieces if piece["strip"] == strip), key=lambda piece: piece["start"]):
            at, to = max(end, piece["start"]), min(piece["end"], begin + timeline["spanNs"])
            end = max(end, to)
            while at < to:
                bin_ = (at - begin) // bin_ns
                size = min(to, begin + (bin_ + 1) * bin_ns) - at
                busy[bin_] += size
                at += size
        for bin_ in range(bins):
            width = min(bin_ns, timeline["spanNs"] - bin_ * bin_ns)
            level = sum(levels[(strip * PARTS + part) * bins + bin_] for part in range(BUSY))
            assert abs(level - busy[bin_] * LEVELS / width) <= 0.5, f"bin {bin_} of strip {strip}"


def main(page, trace, by_time, by_count, whole):
    timeline, levels, pieces = read_pieces(page)
    slices = read_slices(trace)
    assert timeline["isPart"] and not unpack(whole)[0]["timeline"]["isPart"]
    check_slices(pieces, slices, timeline["beginNs"])
    check_stacks(pieces, timeline, by_time, by_count)
    check_bins(pieces, timeline, levels)
    print(len(pieces), sum(piece["start"] < timeline["beginNs"] for piece in pieces))


main(*sys.argv[1:])
