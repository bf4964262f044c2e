"""read_chrome.py JSON TRACE: compares a trace in Chrome's format with the Perfetto trace of the same events.

Reads it as the Trace Event Format says: begins and ends nest on each thread, times are microseconds, and a stack is a chain
of "stackFrames". Prints a line for each fact; exits with 1 where one is wrong."""

import collections
import decimal
import json
import sys

from read_perfetto import read_all

with open(sys.argv[1]) as file:
    trace = json.load(file, parse_float=decimal.Decimal)
slices, tracks, counters = read_all(sys.argv[2])
frames, names, processes = trace["stackFrames"], {}, {}


def stack_of(event):
    chain, frame = [], event.get("sf")
    while frame:
        chain.append(frames[frame]["name"])
        frame = frames[frame].get("parent")
    return tuple(reversed(chain))


def ns(event):
    time = event["ts"] * 1000
    assert time == int(time), "more digits than nanoseconds"
    return int(time)


found, opened, flows, values = [], collections.defaultdict(list), collections.defaultdict(list), []
for event in trace["traceEvents"]:
    where = event["pid"], event["tid"]
    kind = event["ph"]
    if kind == "M":
        (processes if event["name"] == "process_name" else names).setdefault(where, event["args"].get("name"))
    elif kind == "B":
        assert where in names, "a slice of a thread without a name"
        opened[where].append([ns(event), None, event["name"], stack_of(event)])
        found.append(opened[where][-1])
    elif kind == "E":
        opened[where].pop()[1] = ns(event)
    elif kind == "i":
        found.append([ns(event), ns(event), event["name"], stack_of(event)])
    elif kind in "st":
        flows[event["id"]].append(kind)
    elif kind == "C":
        values.append((ns(event), float(event["args"]["%"])))
assert not any(opened.values()), "a slice has no end"
want = sorted((s["start"], s["end"], s["name"], tuple(s["stack"] or ())) for s in slices)
assert sorted(map(tuple, found)) == want, "slices differ from Perfetto's"
print("slices", len(found))
assert sorted(values) == sorted(v for list in counters.values() for v in list), "counters differ"
print("values", len(values))
for kinds in flows.values():
    assert kinds.count("s") == 1 and len(kinds) > 1, "a flow without a launch, or without work"
print("flows", len(flows))
hosts = {name.split(" ")[1] for parent, name in tracks.values() if not parent}
assert all(any(host in name for host in hosts) for name in processes.values()), "a process without its host"
print("processes", len(processes))
