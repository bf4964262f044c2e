#!/usr/bin/env python3
"""`flamegrid export` into ClickHouse itself, and the ten questions of docs/fleet.sql.

    fleet_engine_test.py LIBCHDB | SERVER

LIBCHDB is npm's library (chdb_engine.py), SERVER an old clickhouse-server, without tokens (server_engine.py)."""
import collections
import os
import sys

from chdb_engine import ChdbEngine
from clickhouse_front import Front
from fleet_fixture import DOCS, Fixture
from fleet_questions import questions
from fleet_test import BUILD, FAULTS, exact, place
from server_engine import ServerEngine


def is_killed(test, engine, one, both):
    """Dies at some steps, and goes on."""
    shim = os.path.join(BUILD, "tests", "libkill_at.so")
    for at in (20, 55, 60, 65, 68, 71, 74, 77, 80, 90):
        engine.start_anew()
        front = Front(engine)
        target, here = test.target(getattr(engine, "url", front.url)), place(test, one, f"killed at {at}")
        killed = test.export(here, target, LD_PRELOAD=shim, KILL_AT=str(at))
        place(test, both, f"killed at {at}")
        done = test.export(here, target)
        test.check(f"killed at step {at}", killed.returncode == -9 and done.returncode == 0, done.stderr)
        exact(test, f"sums, killed at step {at}", front, both)


def fails(test, engine, one, both):
    for fault in FAULTS:
        engine.start_anew()
        front = Front(engine)
        target, here = test.target(front.url), place(test, one, "fault " + fault)
        for round_ in range(2):
            front.faults = [None] * round_ + [fault]
            test.export(here, target)
            place(test, both, "fault " + fault)
        test.check(f"after {fault} it is exported", test.export(here, target).returncode == 0)
        exact(test, f"sums after {fault}", front, both)


def table(engine, statement):
    return [tuple(line.split("\t")) for line in engine.query(statement).decode().splitlines()]


def sums(rows, key, value="ns", where=lambda row: True):
    result = collections.Counter()
    for row in rows:
        if where(row):
            result[key(row)] += row[value]
    return +result


def is_kernel(row):
    return row["plane"] == "gpu" and row["kind"] == "kernel"


def is_gpu(row):
    return row["plane"] == "gpu"


def answers(rows, stacks, losses):
    """What the ten questions should find, each as a set of rows of text."""
    top = sums(rows, lambda row: row["name"], where=is_kernel).most_common(1)[0][0]
    job = sums(rows, lambda row: row["job"], where=is_gpu).most_common(1)[0][0]
    frames = {row["stack"]: ";".join(row["frames"]) for row in stacks}

    def means(key, where):
        ns, count = sums(rows, key, "ns", where), sums(rows, key, "count", where)
        return {key + (ns[key] / count[key],) for key in ns if count[key]}

    launches = sums(rows, lambda row: row["name"], "count", is_kernel)
    gpu_ns = sum(sums(rows, lambda row: 0, where=is_gpu).values())
    waits = sums(rows, lambda row: (row["job"], row["user"]), where=lambda row: row["kind"] == "nccl_wait")
    idle = sums(rows, lambda row: (row["job"], row["user"]), where=lambda row: row["plane"] == "idle")
    by_job = sums(rows, lambda row: (row["job"], row["user"]), where=is_gpu)
    copies = sum(sums(rows, lambda row: 0, where=lambda row: is_gpu(row) and row["kind"] == "memcpy").values())
    return [
        {(name, launches[name], ns) for name, ns in sums(rows, lambda row: row["name"], where=is_kernel).items()},
        {key + (ns, ns / by_job[key]) for key, ns in waits.items()},
        means(lambda row: (row["time"][:10], row["driver"]), lambda row: is_kernel(row) and row["name"] == top),
        means(lambda row: (row["name"], row["model"]), is_kernel),
        {(user, ns, len({row["job"] for row in rows if is_gpu(row)})) for user, ns in sums(rows, lambda row: row["user"], where=is_gpu).items()},
        {key + (ns, by_job[key]) for key, ns in idle.items()},
        means(lambda row: (row["host"], row["gpu"], row["gpu_uuid"], row["model"]), lambda row: is_kernel(row) and row["gpu_uuid"]),
        {(row["time"][:13] + ":00:00", copies / gpu_ns) for row in rows[:1]},
        {(frames.get(stack, ""), ns) for stack, ns in sums(rows, lambda row: row["stack"], where=lambda row: is_gpu(row) and row["job"] == job).items()},
        {key + (count,) for key, count in sums(losses, lambda row: (row["job"], row["user"], row["reason"]), "count", lambda row: row["lost"]).items()},
    ]


def close(got, want):
    """Equal, but for the last digits of quotients."""
    def plain(rows):
        return sorted(tuple(f"{float(value):.6g}" if str(value).replace(".", "", 1).replace("e-", "", 1).isdigit() else str(value)
                            for value in row) for row in rows)
    return plain(got) == plain(want)


def answers_questions(test, engine):
    want = answers(engine.rows("work"), engine.rows("stacks"), engine.rows("losses"))
    for (comment, statement), answer in zip(questions(open(os.path.join(DOCS, "fleet.sql")).read()), want):
        got = table(engine, statement)
        test.check(comment, close(got, answer), (got, answer))


def main():
    test = Fixture()
    is_library = sys.argv[1].endswith(".so")
    engine = (ChdbEngine if is_library else ServerEngine)(sys.argv[1], test.path("engine"))
    one, other = test.record("one", "--steps", "20"), test.record("other", "--steps", "30", "--late-gpu", "1:2000")
    both = test.merge("both", one, other)
    is_killed(test, engine, one, both)
    fails(test, engine, one, both)
    if is_library:
        answers_questions(test, engine)
    engine.close()
    test.finish()


if __name__ == "__main__":
    main()
