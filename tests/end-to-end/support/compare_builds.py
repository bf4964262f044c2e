#!/usr/bin/env python3
"""Compares two builds: compare_builds.py OLD-BUILD NEW-BUILD [SCRIPT...]

First each build records the same programs, on the fake GPUs of the new build. Folded text, JSON and the dump of the store
must be equal, but for what VOLATILE_COLUMNS and VOLATILE_FIELDS name.
Then the given scripts of tests/end-to-end (without any: all) run with the new build. Every report and every diff that they
ask for is asked of the old build, too, of the same store, and both answers must be equal, byte for byte.
Prints what differs, with the folder where both sides lie. Exit status: 0 nothing differs, 1 something does."""

import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

# What two runs of one build do not have in common: "table.column", "*" for every table.
VOLATILE_COLUMNS = {
    "*.tid", "*.pid", "*.pid_namespace", "*.start_ticks", "*.instance", "*.boot_id", "epochs.epoch",
    "writers.writer", "communicators.key",
    # times, and what depends on when a thread or a message came
    "*.time_ns", "*.start_ns", "*.first_ns", "*.last_ns", "*.from_ns", "*.to_ns", "*.spoke_ns", "*.asked_ns",
    "*.peak_ns", "api_calls.total_ns", "api_calls.min_ns", "api_calls.max_ns", "host_clocks.realtime_offset_ns", "launch_delays.sum_ns", "launch_delays.max_ns",
    "timelines.busy_ns", "timelines.closed_ns", "timelines.horizon_ns", "timelines.nr_open", "epochs.durable_seq",
    "clock_offsets.*", "timeline_blocks.*", "idle_blocks.*", "idle_devices.*", "epoch_ids.*", "strings.*",
    "launch_cpus.*", "collective_kernels.*",
    # contexts are counted as threads make them, and the guest's own library is another file
    "*.context_id", "modules.build_id",
    # ids of frames and nodes, which are counted as they come: folded text and JSON have the stacks
    "frames.id", "nodes.*", "totals.node", "memory_stacks.node", "host_samples.node", "collectives.node",
}
VOLATILE_FIELDS = {"pid", "tid", "context", "first_ns", "last_ns", "busy_ns", "idle_ns", "overlap_ns", "peak_after_ns",
                   "total_ns", "min_ns", "max_ns"}
VOLATILE_TEXT = re.compile(r"\d+ rows, \d+ KiB, \d+ ms|[^' ]*/libflamegrid_inject\.so")

# Ids of strings, which are counted as the strings come: the dump has the strings in their place.
STRING_COLUMNS = {"*.name", "*.file", "*.path", "*.text", "*.command", "*.job", "*.software", "hosts.node", "devices.pci",
                  "device_topology.cpus"}

# What each build records: a name, options of `flamegrid run`, a program and its arguments.
RECORDINGS = [
    ("demo", [], ["bin/flamegrid-demo-train"]),
    ("launches", [], ["tests/fake_launches", "--launches", "500", "--kernels", "3", "--copies", "50"]),
    ("calls", ["--api", "all"], ["tests/fake_launches", "--launches", "500"]),
    ("more records", ["--record", "um,modules,memory,nvtx"], ["tests/fake_launches", "--launches", "500", "--copies", "50"]),
    ("graphs", [], ["tests/fake_graphs"]),
    ("memory", ["--record", "memory"], ["tests/fake_memory"]),
    ("ranks", [], ["tests/fake_ranks", "--ranks", "1", "--steps", "20"]),
]

WRAPPER = """#!/bin/bash
case ${1-} in report | diff) ;; *) exec "$NEW_BUILD/bin/flamegrid" "$@" ;; esac
case " $* " in *" -o "* | *" --output"* | *" --help"*) exec "$NEW_BUILD/bin/flamegrid" "$@" ;; esac
at=$(mktemp -d "$COMPARED/XXXXXX")
printf '%s\\n' "$*" >"$at/asked"
"$NEW_BUILD/bin/flamegrid" "$@" >"$at/new" 2>"$at/new.err"; status=$?
"$OLD_BUILD/bin/flamegrid" "$@" >"$at/old" 2>"$at/old.err"; echo $? $status >"$at/status"
"$NEW_BUILD/bin/flamegrid" "$@" >"$at/again" 2>/dev/null # somebody may be writing into the store
cat "$at/new.err" >&2
cat "$at/new"
exit $status
"""


def recorded(build, programs, folder, options, program):
    """Folded text, JSON and dump of what the build recorded of a program of the folder of programs."""
    environment = dict(os.environ, LD_LIBRARY_PATH=f"{programs}/lib/fake-nccl:{programs}/lib/fake-cuda",
                       FLAMEGRID_CUPTI=f"{programs}/lib/fake-cuda/libcupti.so.13")
    with open(folder + ".devices", "w") as devices:
        subprocess.run([f"{programs}/bin/fake-cuda-devices"], stdout=devices, env=environment, check=True)
    command = ["setarch", "-R", f"{build}/bin/flamegrid", "run", "--quiet", "-o", folder, "--devices",
               folder + ".devices", "--node-name", "host", *options, "--", f"{programs}/{program[0]}", *program[1:]]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    if ran.returncode:
        return {"run": ran.stderr}
    report = lambda *how: subprocess.run([f"{build}/bin/flamegrid", "report", folder, *how], capture_output=True,
                                         text=True, check=True).stdout
    return {"folded": report("--unit", "ns"), "JSON": steady_json(report("-f", "json")),
            "dump": steady_dump(folder + "/profile.db")}


def steady_json(text):
    def steady(value):
        if isinstance(value, dict):
            return {key: steady(inner) for key, inner in value.items() if key not in VOLATILE_FIELDS}
        if not isinstance(value, list):
            return value
        # Functions are sorted by the time in their calls.
        by_time = bool(value) and isinstance(value[0], dict) and "function" in value[0]
        values = [steady(inner) for inner in value]
        return sorted(values, key=json.dumps) if by_time else values
    return VOLATILE_TEXT.sub("", json.dumps(steady(json.loads(text)), indent=1))


def steady_dump(path):
    store = sqlite3.connect(path)
    strings = dict(store.execute("SELECT id, data FROM strings"))
    is_in = lambda columns, table, column: columns & {f"*.{column}", f"{table}.{column}", f"{table}.*"}
    lines = []
    for name, kind, sql in store.execute("SELECT name, type, sql FROM sqlite_master ORDER BY name").fetchall():
        lines.append(str(sql))
        columns = [row[1] for row in store.execute(f"PRAGMA table_info({name})")] if kind == "table" else []
        kept = [column for column in columns if not is_in(VOLATILE_COLUMNS, name, column)]
        if not kept:
            continue
        rows = []
        for row in store.execute(f"SELECT {', '.join(kept)} FROM {name}"):
            values = [strings.get(value, value) if is_in(STRING_COLUMNS, name, column) else value
                      for column, value in zip(kept, row)]
            rows.append(VOLATILE_TEXT.sub("", f"{name} {values!r}"))
        lines += sorted(rows)
    return "\n".join(lines) + "\n"


def compare_recordings(old, new, folder):
    differ = 0
    for name, options, program in RECORDINGS:
        sides = {side: recorded(build, new, f"{folder}/{name}.{side}", options, program)
                 for side, build in (("old", old), ("new", new))}
        for part in sorted(set(sides["old"]) | set(sides["new"])):
            for side, parts in sides.items():
                with open(f"{folder}/{name}.{side}.{part}", "w") as file:
                    file.write(parts.get(part, "none\n"))
            equal = sides["old"].get(part) == sides["new"].get(part) and part != "run"
            differ += not equal
            print(f"recorded by each: {name}, {part}: {'equal' if equal else 'DIFFERENT'}")
    return differ


def compare_reports(old, new, folder, scripts):
    shim = folder + "/build"
    compared = folder + "/compared"
    os.makedirs(shim + "/bin")
    os.mkdir(compared)
    # Some tests run programs as another user.
    os.chmod(folder, 0o755)
    os.chmod(compared, 0o1777)
    for path in glob.glob(new + "/*") + glob.glob(new + "/bin/*"):
        link = f"{shim}/{os.path.relpath(path, new)}"
        if not os.path.lexists(link) and not path.endswith("/bin/flamegrid"):
            os.symlink(path, link)
    with open(shim + "/bin/flamegrid", "w") as file:
        file.write(WRAPPER)
    os.chmod(shim + "/bin/flamegrid", 0o755)
    environment = dict(os.environ, BUILD=shim, OLD_BUILD=old, NEW_BUILD=new, COMPARED=compared)
    differ = 0
    for script in scripts:
        with open(f"{folder}/{os.path.basename(script)}.log", "w") as log:
            ran = subprocess.run(["bash", script], env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        nr = {"equal": 0, "live": 0, "DIFFERENT": 0}
        for asked in glob.glob(compared + "/*/asked"):
            at = os.path.dirname(asked)
            read = lambda part: open(f"{at}/{part}", "rb").read()
            statuses = read("status").split() if os.path.exists(at + "/status") else []
            if not statuses or not os.path.exists(at + "/again") or read("new") != read("again"):
                nr["live"] += 1
            elif read("old") == read("new") and statuses[0] == statuses[1]:
                nr["equal"] += 1
            else:
                nr["DIFFERENT"] += 1
                print(f"  {at}: flamegrid {read('asked').decode().strip()}")
                continue
            subprocess.run(["rm", "-r", at], check=True)
        for at in glob.glob(compared + "/*"):
            os.rename(at, f"{folder}/{os.path.basename(script)}.{os.path.basename(at)}")
        # A script that failed, or that asked for nothing, has shown nothing.
        differ += nr["DIFFERENT"] + (ran.returncode != 0 or not nr["equal"])
        print(f"{re.sub('.*/end-to-end/', '', script)} (status {ran.returncode}): " +
              ", ".join(f"{count} {what}" for what, count in nr.items() if count), flush=True)
    return differ


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    old, new = (os.path.realpath(path) for path in sys.argv[1:3])
    tests = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    folder = tempfile.mkdtemp(prefix="compare-builds.")
    differ = compare_recordings(old, new, folder)
    scripts = sys.argv[3:] or sorted(glob.glob(tests + "/*/*_test.sh"))
    differ += compare_reports(old, new, folder, scripts)
    print(f"{differ} differ; kept: {folder}" if differ else "nothing differs")
    sys.exit(differ > 0)


main()
