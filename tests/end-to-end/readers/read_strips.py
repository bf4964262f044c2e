"""The time axis of a page, and the busy times of the same profile's report. Arguments: the page, the report as JSON, and
"nccl" for a line that says whether kernels of NCCL move, are not split, and wait.

Prints the number of strips and of steps, and "exact" if each strip is as busy as its device, as far as whole
percents can tell, no bin has more than 100 %, and the bins are 1,000, or as many fewer as whole nanoseconds leave."""

import base64
import json
import re
import sys
import zlib

PARTS, LEVELS, BINS, BOX_COLUMNS = 7, 100, 1000, 11
BUSY = PARTS - 1  # the last part is time that was not captured
NCCL = (2, 3, 4)


def unpack(page):
    packed = re.search(r'id="profile">(.*?)</script>', open(page, encoding="utf-8").read(), re.S)[1]
    text, _, columns = zlib.decompress(base64.b64decode(packed)).partition(b"\0")
    return json.loads(text), columns


def read_column(columns, at, length):
    """The column that begins there, and where the next one does. A run of zeros is a 0 and its length less one."""
    values = []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = columns[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while len(values) < length:
        value = varint()
        values += [0] * (varint() + 1) if value == 0 else [value]
    assert len(values) == length, "a run of zeros is longer than its column"
    return values, at


def read_axis(profile, columns):
    """The levels, the ticks' times, and the columns of the boxes. They are the last ones of the page."""
    timeline, at = profile["timeline"], 0
    lengths = [profile["nodes"]] * 2 + [profile["dimensions"] * 9] + [profile["leaves"]] * 6
    if profile["frameworks"]:
        lengths.append(len(profile["strings"]))
    nodes = []
    for length in lengths:
        column, at = read_column(columns, at, length)
        nodes.append(column)
    if profile["hasDurations"]:
        bins, at = read_column(columns, at, profile["leaves"])
        for _ in range(2):
            _, at = read_column(columns, at, sum(bins) - sum(1 for nr in bins if nr))
    levels, at = read_column(columns, at, len(timeline["strips"]) * PARTS * timeline["bins"])
    ticks, boxes = [], []
    for _ in range(2):
        column, at = read_column(columns, at, timeline["ticks"])
        ticks.append(column)
    for _ in range(BOX_COLUMNS if timeline["boxes"] else 0):
        column, at = read_column(columns, at, timeline["boxes"])
        boxes.append(column)
    assert at == len(columns), "something stands behind the last column"
    return levels, ticks, boxes, nodes[:2]


def main(page, report, word=None):
    profile, columns = unpack(page)
    timeline, busy = profile["timeline"], {}
    levels, _, _, _ = read_axis(profile, columns)
    for device in json.load(open(report, encoding="utf-8"))["devices"]:
        busy[device["host"], device["gpu"]] = device["busy_ns"]
    bins, span = timeline["bins"], timeline["spanNs"]
    widths = [min(timeline["binNs"], span - i * timeline["binNs"]) for i in range(bins)]
    if bins > BINS or bins != -(-span // timeline["binNs"]) or timeline["binNs"] != -(-span // BINS):
        sys.exit(f"{bins} bins of {timeline['binNs']} ns for {span} ns")
    print(len(timeline["strips"]), timeline["ticks"])
    for i, (host, gpu, _) in enumerate(timeline["strips"]):
        of_bin = [sum(levels[(i * PARTS + part) * bins + bin_] for part in range(BUSY)) for bin_ in range(bins)]
        is_busy = sum(level * width for level, width in zip(of_bin, widths)) / LEVELS
        if max(of_bin) > LEVELS or abs(is_busy - busy[host, gpu]) > span / LEVELS / 2:
            sys.exit(f"{host} GPU{gpu}: {is_busy} ns, and the report says {busy[host, gpu]}; at most {max(of_bin)}")
    print("exact")
    if word == "pauses":
        pauses = [sum(levels[(i * PARTS + BUSY) * bins:(i + 1) * PARTS * bins]) for i in range(len(timeline["strips"]))]
        print("not captured", *(round(100 * level / LEVELS / bins) for level in pauses))
    if word == "nccl":
        sums = [sum(sum(levels[(i * PARTS + part) * bins:(i * PARTS + part + 1) * bins]) for i in range(len(timeline["strips"]))) for part in NCCL]
        print("moves", sums[0] > 0, "not split", sums[1] > 0, "waits", sums[2] > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
