"""The questions of docs/store.md, in SQL, to profiles whose answers the reports know:

    ask_store.py FLAMEGRID RANKS PYTHON MEMORY

RANKS: a profile of ranks with collectives; PYTHON: of a Python program; MEMORY: of a program whose memory was recorded.
Each question of the document has its check here, and no check is without its question."""
import collections
import csv
import io
import json
import pathlib
import re
import sqlite3
import subprocess
import sys

FLAMEGRID, RANKS, PYTHON, MEMORY = sys.argv[1:]
DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"


def report(profile, *options):
    return subprocess.run([FLAMEGRID, "report", profile, "--demangle", "none", *options], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def leaves(profile, *options):
    return json.loads(report(profile, "-f", "json", *options))["leaves"]


def rows(profile, *options):
    return list(csv.DictReader(io.StringIO(report(profile, "-f", "csv", *options))))


def sums(items):
    found = collections.Counter()
    for key, number in items:
        found[key] += number
    return dict(found)


def open_profile(profile):
    connection = sqlite3.connect(f"file:{profile}/profile.db?mode=ro", uri=True)
    connection.executescript((DOCS / "views.sql").read_text())
    return connection


def ask(profile, question):
    return open_profile(profile).execute(question).fetchall()


def kernel_name(leaf):
    return leaf["frames"][-1].split("]", 1)[1]


def kernels(question):
    for profile in (RANKS, PYTHON):
        want = sums((kernel_name(leaf), leaf["ns"]) for leaf in leaves(profile, "--nccl", "whole") if leaf["kind"] == "kernel")
        have = ask(profile, question)
        assert {kernel: ns for kernel, _, ns in have} == want and want
        assert [ns for _, _, ns in have] == sorted(want.values(), reverse=True)


def rank_times(question):
    have = {rank: ns for _, rank, ns in ask(RANKS, question)}
    assert have == sums((leaf["rank"], leaf["ns"]) for leaf in leaves(RANKS))
    assert len(have) == 8


def line_times(question):
    want = collections.Counter()
    for leaf in leaves(PYTHON):
        for frame in {frame for frame in leaf["frames"] if re.fullmatch(r".*\.py:.*:\d+", frame)}:
            want[frame] += leaf["ns"]
    have = {f"{file.rsplit('/lib/python3.', 1)[-1].rsplit('/', 1)[-1]}:{function}:{line}": ns
            for file, line, function, _, ns in ask(PYTHON, question)}
    assert have == dict(want), (have, want)
    assert len(have) > 8


def stacks(question):
    top = collections.Counter(sums((kernel_name(leaf), leaf["ns"]) for leaf in leaves(PYTHON))).most_common(1)[0][0]
    want = sorted(leaf["ns"] for leaf in leaves(PYTHON) if kernel_name(leaf) == top)
    have = ask(PYTHON, question)
    assert sum(ns for _, _, ns in have) == sum(want)
    assert all(re.match(r"(<module>:\d+;main:\d+|Thread\._bootstrap:\d+);", stack) and stack.endswith("cuLaunchKernel")
               for stack, _, _ in have), have


def short_kernels(question):
    for profile in (RANKS, PYTHON):
        found = collections.defaultdict(lambda: [0, 0])
        for leaf in leaves(profile, "--nccl", "whole"):
            if leaf["kind"] == "kernel":
                one = found[leaf["process"], leaf["gpu"], leaf["context"], leaf["stream"], kernel_name(leaf)]
                one[0] += leaf["ns"]
                one[1] += leaf["count"]
        short = sum(ns for ns, count in found.values() if ns / count < 5000)
        [[share]] = ask(profile, question)
        assert (share or 0) == 100.0 * short / sum(ns for ns, _ in found.values())
    assert share == 100


def busy_shares(question):
    devices = {(row["host"], row["gpu"]): row for row in json.loads(report(RANKS, "-f", "json"))["devices"]}
    have = ask(RANKS, question)
    assert len(have) == len(devices) == 8
    for host, gpu, uuid, busy in have:
        row = devices[host, gpu]
        assert busy == 100.0 * row["busy_ns"] / (row["busy_ns"] + row["idle_ns"])
        assert re.fullmatch("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", uuid)


def waits(question):
    calls = [row for row in rows(RANKS, "--rows", "collectives") if row["function"] == "all_reduce"]
    least = {}
    for row in calls:
        key = row["communicator"], row["sequence"]
        least[key] = min(least.get(key, 1 << 63), int(row["gpu_ns"]))
    ranks = {row["pid"]: row["rank"] for row in rows(RANKS)}
    want = sums((int(ranks[row["pid"]]), int(row["gpu_ns"]) - least[row["communicator"], row["sequence"]]) for row in calls)
    have = ask(RANKS, question)
    assert dict(have) == want
    assert have[-1][0] == 5, "the late rank waits least"


def unequal_bytes(question):
    assert ask(RANKS, question) == []
    assert ask(RANKS, "SELECT count(*), count(DISTINCT sequence) FROM collective_calls") == [(1920, 240)]
    changed = sqlite3.connect(":memory:")
    open_profile(RANKS).backup(changed)
    changed.executescript((DOCS / "views.sql").read_text())
    changed.execute("UPDATE collectives SET bytes = bytes + 1 WHERE sequence = 17 AND process = 3")
    assert [row[1:] for row in changed.execute(question)] == [(17, 4000, 4001)]


def overlap(question):
    want = {int(row["rank"]): (int(row["nccl_busy_ns"]), int(row["overlap_ns"])) for row in rows(RANKS, "--rows", "ranks")}
    assert {rank: (nccl, both) for rank, nccl, both in ask(RANKS, question)} == want
    assert len(want) == 8


def holders(question):
    want = sums((leaf["gpu"], leaf["bytes"]) for leaf in leaves(MEMORY, "--memory", "peak") 
                if re.match(r"\[GPU\d_Memory\]", leaf["frames"][-1]))
    have = ask(MEMORY, question)
    assert sums((gpu, size) for _, _, gpu, _, size in have) == want and len(want) == 2, (have, want)
    assert all(stack.endswith(("cudaMalloc", "cudaMallocAsync", "cuMemAlloc")) for *_, stack, _ in have), have


CHECKS = {
    "Which kernels take the most time?": kernels,
    "How much GPU time has each rank?": rank_times,
    "Under which lines of Python is the GPU time?": line_times,
    "Which stacks launch the kernel that takes the most time?": stacks,
    "Which share of the kernels' time is in kernels below 5 us?": short_kernels,
    "Which share of its time was each GPU busy?": busy_shares,
    "How long did each rank's kernels wait in all-reduces, beyond the rank that waited least?": waits,
    "In which calls do ranks differ in bytes?": unequal_bytes,
    "How much of the communication lay beside computation?": overlap,
    "Who held each GPU's memory at its peak?": holders,
}


def questions():
    text = (DOCS / "store.md").read_text()
    [block] = re.findall(r"### Ten questions\n\n```sql\n(.*?)```", text, re.S)
    return dict(re.findall(r"-- (.*?)\n(.*?;)\n", block, re.S))


def main():
    found = questions()
    failed = set(found) ^ set(CHECKS)
    for name in failed:
        print(f"not ok - {name}: it is only in one of document and test")
    for name, check in CHECKS.items():
        try:
            check(found[name])
            print(f"ok - {name}")
        except Exception as error:  # each is told, and the next is asked
            failed.add(name)
            print(f"not ok - {name}: {type(error).__name__} {error}")
    for profile in (RANKS, PYTHON, MEMORY):
        [row] = ask(profile, "SELECT closed, hidden_totals FROM profile")
        assert row == (1, 0)
        assert [tuple(one) for one in ask(profile, "SELECT sum(count), sum(ns) FROM work WHERE plane = 'gpu'")] == \
            [(sum(leaf["count"] for leaf in leaves(profile)), sum(leaf["ns"] for leaf in leaves(profile)))]
        assert sorted(ask(profile, "SELECT kernel, first_ns, last_ns, sum(launches) FROM kernel_durations GROUP BY 1, 2")) == \
            sorted((row["name"], *bucket) for row in json.loads(report(profile, "-f", "json"))["durations"]
                   if row["kind"] == "kernel" for bucket in row["buckets"])
    return 1 if failed else 0


sys.exit(main())
