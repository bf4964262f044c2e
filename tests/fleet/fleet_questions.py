#!/usr/bin/env python3
"""Measures how long the ten questions of docs/fleet.sql take over many rows, in ClickHouse itself (chdb_engine.py).

    fleet_questions.py LIBCHDB FOLDER [ROWS]

makes ROWS (100,000,000) rows of invented work in FOLDER, unless they are there, and 500,000 losses. It prints how many rows and bytes
each question reads, its fastest and slowest time of five, and the least CPU time of all threads. The rows are those of 14 days, 1,000
hosts of 8 GPUs, 2,000 jobs of 100 users, 300 kernels and 3,000 stacks."""
import json
import os
import sys
import time

from chdb_engine import ChdbEngine

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
BATCH = 1000000
ROWS = """INSERT INTO flamegrid.work SELECT lower(hex(cityHash64(j))), {batch}, toStartOfDay(now()) - INTERVAL {day} DAY
    + toIntervalSecond(cityHash64(number) % 86000) AS time, 'job ' || toString(j), 'user ' || toString(j % 100), 'n' || toString(h), h * 8 + g,
    g, 'GPU-' || toString(cityHash64(h, g)), if(h % 3 = 0, 'NVIDIA H200', 'NVIDIA H100 80GB HBM3'), if(h % 2 = 0, '550.54.15', '580.65.06'),
    multiIf(number % 20 = 0, 'idle', number % 10 = 1, 'sync', 'gpu') AS plane,
    multiIf(plane = 'idle', 'idle', plane = 'sync', 'sync', number % 10 = 2, 'nccl_wait', number % 10 = 3, 'memcpy', 'kernel') AS kind,
    if(kind IN ('kernel', 'nccl_wait'), 'void at::native::vectorized_elementwise_kernel<4, Functor' || toString(k) || '>(int)', ''),
    cityHash64(k, number % 10) AS stack, 1 + cityHash64(number, 1) % 1000, 1 + cityHash64(number, 2) % 100000000, 0
    FROM (SELECT number, {batch} * 20 + intDiv(number, 50000) AS s, cityHash64(s) % 2000 AS j, cityHash64(s, 3) % 1000 AS h,
    number % 8 AS g, cityHash64(number, 4) % 300 AS k FROM numbers({first}, {rows}))
    SETTINGS max_memory_usage = 3000000000, max_threads = 1, max_insert_threads = 1"""


LOSSES = """INSERT INTO flamegrid.losses SELECT source, rowNumberInAllBlocks() AS n, time, job, user,
    arrayElement(['ring_full', 'cupti_dropped', 'late'], 1 + n % 3), n % 2, 1 + n % 100, 0 FROM flamegrid.work WHERE ns % 200 = 0
    LIMIT 500000 SETTINGS max_threads = 1, max_insert_threads = 1"""


def questions(text):
    """The statements of a file, each with its comment."""
    for part in text.split(";\n"):
        lines = part.strip().split("\n")
        statement = "\n".join(line for line in lines if not line.startswith("--")).strip()
        if statement:
            yield [line for line in lines if line.startswith("--")][-1][3:], statement


def fill(engine, rows):
    for batch in range(rows // BATCH):
        engine.query(ROWS.format(batch=batch, day=batch % 14, first=batch * BATCH, rows=BATCH))
    engine.query("INSERT INTO flamegrid.stacks SELECT DISTINCT stack, ['main', 'train', 'f' || toString(stack)] FROM flamegrid.work"
                 " WHERE stack != 0")
    engine.query(LOSSES)


def main():
    engine = ChdbEngine(sys.argv[1], sys.argv[2])
    rows = int(sys.argv[3]) if len(sys.argv) > 3 else 100 * BATCH
    engine.script(open(os.path.join(DOCS, "clickhouse.sql")).read())
    if int(engine.query("SELECT count() FROM flamegrid.work")) < rows:
        began = time.monotonic()
        fill(engine, rows)
        print(f"rows made in {time.monotonic() - began:.0f} s", flush=True)
    print(engine.query("SELECT count(), formatReadableSize(sum(bytes_on_disk)), count() FROM system.parts WHERE active AND table = 'work'").decode())
    for comment, statement in questions(open(os.path.join(DOCS, "fleet.sql")).read()):
        statement += " SETTINGS max_memory_usage = 4000000000, max_threads = 2"
        read = json.loads(engine.run(statement.encode(), b"JSON"))["statistics"]
        times, cpu = [], []
        for _ in range(5):
            began, cpu_began = time.monotonic(), time.process_time()
            answer = engine.query(statement)
            times.append(time.monotonic() - began)
            cpu.append(time.process_time() - cpu_began)
        print(f"{read['rows_read']:,} rows, {read['bytes_read'] / 1e6:.1f} MB, {min(times):.3f} to {max(times):.3f} s, CPU {min(cpu):.3f} s,"
              f" {len(answer.splitlines())} rows: {comment}", flush=True)


if __name__ == "__main__":
    main()
