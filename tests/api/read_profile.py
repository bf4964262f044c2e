"""The package flamegrid reads a profile as the reports do, and refuses what is none.

    read_profile.py FLAMEGRID PYTHON RANKS SCRATCH

PYTHON: a profile of api_launches.py; RANKS: one of several ranks; SCRATCH: a folder for broken copies."""
import collections
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

import flamegrid

FLAMEGRID, PYTHON, RANKS, SCRATCH = sys.argv[1:]
SOURCE = pathlib.Path(__file__).resolve().parents[2]


def leaves(profile):
    text = subprocess.run([FLAMEGRID, "report", profile, "-f", "json", "--demangle", "none", "--nccl", "whole"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(text)["leaves"]


def sums(items):
    found = collections.Counter()
    for key, number in items:
        found[key] += number
    return dict(found)


def kernels_are_those_of_the_report():
    for profile in (PYTHON, RANKS):
        kernels = [leaf for leaf in leaves(profile) if leaf["kind"] == "kernel"]
        with flamegrid.load(profile) as opened:
            rows = opened.kernels()
        assert rows and sums((row["kernel"], row["ns"]) for row in rows) == sums(
            (leaf["frames"][-1].split("]", 1)[1], leaf["ns"]) for leaf in kernels)
        assert sum(row["launches"] for row in rows) == sum(leaf["count"] for leaf in kernels)
        assert [row["ns"] for row in rows] == sorted((row["ns"] for row in rows), reverse=True)
        assert list(rows[0]) == "job host rank gpu context stream kernel launches ns mean_ns".split()
        assert rows[0]["ns"] == rows[0]["launches"] * rows[0]["mean_ns"]


def durations_are_those_of_the_report():
    for profile in (PYTHON, RANKS):
        text = subprocess.run([FLAMEGRID, "report", profile, "-f", "json", "--demangle", "none"], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        want = {(row["name"], first, last): count for row in json.loads(text)["durations"] if row["kind"] == "kernel"
                for first, last, count in row["buckets"]}
        with flamegrid.load(profile) as opened:
            rows, kernels = opened.durations(), opened.kernels()
        assert want and sums(((row["kernel"], row["first_ns"], row["last_ns"]), row["launches"]) for row in rows) == want
        assert list(rows[0]) == "job host rank gpu context stream kernel first_ns last_ns launches".split()
        stream = "host rank gpu context stream kernel".split()
        assert sums((tuple(map(row.get, stream)), row["launches"]) for row in rows) == sums(
            (tuple(map(row.get, stream)), row["launches"]) for row in kernels)


def durations_that_are_not_known_have_no_bucket():
    with flamegrid.load(PYTHON) as profile:
        launches = sum(row["launches"] for row in profile.kernels())
    for name, statements in (("none.db", ["UPDATE totals SET durations = NULL"]), ("damaged.db", ["UPDATE totals SET durations = x''"]),
                             ("more.db", ["UPDATE totals SET count = 1, durations = x'280529'"]),
                             ("end.db", ["UPDATE totals SET durations = x'2885'"]),
                             ("eleven.db", ["ALTER TABLE totals DROP COLUMN durations", "PRAGMA user_version = 11"])):
        with flamegrid.load(change(name, statements)) as profile:
            rows = profile.durations()
            assert {(row["first_ns"], row["last_ns"]) for row in rows} == {(None, None)}, (name, rows)
            assert sum(row["launches"] for row in rows) == sum(row["launches"] for row in profile.kernels())
            assert name == "more.db" or sum(row["launches"] for row in rows) == launches
    with flamegrid.load(change("bins.db", ["UPDATE totals SET count = 1000, durations = x'00ac02048f05f3'"])) as profile:
        have = sums(((row["first_ns"], row["last_ns"]), row["launches"]) for row in profile.durations())
        totals = sum(have.values()) // 1000
        assert have == {(0, 0): 300 * totals, (4, 4): 655 * totals, (7 << 59, (1 << 62) - 1): 45 * totals}, have


def lines_are_where_the_kernels_were_launched():
    script = pathlib.Path(__file__).with_name("api_launches.py")
    text = script.read_text().split("\n")
    found = {row["line"]: row for row in flamegrid.load(PYTHON).lines() if row["file"].endswith("api_launches.py")}
    for kernel, launches in (("in_step", 5), ("in_forward", 5), ("in_nothing", 1), ("in_thread", 4)):
        [line] = [number for number, code in enumerate(text, 1) if code.strip() == f"launch(b'{kernel}')"]
        assert (found[line]["launches"], found[line]["ns"]) == (launches, launches * 1000), found[line]


def ranks_and_gpus_are_named():
    with flamegrid.load(pathlib.Path(RANKS) / "profile.db") as profile:
        assert profile.is_closed and profile.title
        ranks, gpus = profile.ranks(), profile.gpus()
        assert [row["rank"] for row in ranks] == [0, 1] and {row["world_size"] for row in ranks} == {2}
        assert len({row["uuid"] for row in gpus}) == 2 and all(0 < row["busy_ns"] <= row["window_ns"] for row in gpus)
        assert profile.query("SELECT count(*) AS n FROM ranks WHERE rank = ?", (1,)) == [{"n": 1}]


# ---- profiles of other forms


def change(name, statements, parameters=()):
    """A copy of a profile, changed."""
    copy = pathlib.Path(SCRATCH) / name
    shutil.copy(pathlib.Path(PYTHON) / "profile.db", copy)
    with sqlite3.connect(copy) as database:
        for statement in statements:
            database.execute(statement, parameters if "?" in statement else ())
    database.close()
    return copy


def varint(number):
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes(data + bytes([number]))


def block(rows):
    data = b""
    for column in zip(*rows):
        values = b"".join(varint((value - last << 1) ^ (value - last >> 63)) for value, last in zip(column, (0,) + column))
        data += len(values).to_bytes(4, "little") + values
    return data


def histograms(rows):
    """The columns of a block behind those of the sums."""
    buckets, counts, numbers = [], [], []
    for row in rows:
        data, last = list(row["durations"]), len(buckets)
        while data:
            buckets.append(data.pop(0))
            if data:
                end = next(i for i, byte in enumerate(data) if byte < 128) + 1
                counts.append(sum((byte & 127) << 7 * i for i, byte in enumerate(data[:end])))
                del data[:end]
        numbers.append(len(buckets) - last)
    return b"".join(block([(number,) for number in column]) or bytes(4) for column in (numbers, buckets, counts))


def totals_in_blocks_count():
    with flamegrid.load(PYTHON) as profile:
        rows = profile.query("SELECT * FROM totals")
        want, durations = (profile.kernels(), profile.lines()), profile.durations()
    assert {row["process"] for row in rows} == {1}
    data = block([tuple(row.values())[1:14] for row in rows])
    insert = "INSERT INTO total_blocks (process, kind, block, count, data) VALUES (1, 0, 0, %d, ?)"
    moved = change("blocks.db", ["DELETE FROM totals", insert % len(rows)], (data,))
    with flamegrid.load(moved) as profile:
        assert (profile.kernels(), profile.lines()) == want
        assert {row["first_ns"] for row in profile.durations()} == {None}
    for name, bins in (("histograms.db", histograms(rows)), ("other.db", block([(1, 9, 0)])), ("fewer.db", histograms(rows[1:]))):
        with flamegrid.load(change(name, ["DELETE FROM totals", insert % len(rows)], (data + bins,))) as profile:
            assert (profile.kernels(), profile.lines()) == want
            has = profile.durations()
        assert has == durations if name == "histograms.db" else {row["first_ns"] for row in has} == {None}, (name, has)
    for name, wrong, count in (("cut.db", data[:-1], len(rows)), ("count.db", data, len(rows) + 1), ("rest.db", data + b"x", len(rows)),
                               ("long.db", (20).to_bytes(4, "little") + b"\xff" * 20, 1)):
        refused(change(name, [insert % count], (wrong,)), "damaged")


def a_block_has_only_sound_rows_and_each_once():
    def with_block(name, *rows):
        insert = "INSERT INTO total_blocks (process, kind, block, count, data) VALUES (1, 0, 0, %d, ?)" % len(rows)
        return change(name, [insert], (block(rows),))

    good = (0,) * 10 + (1, 1, 0)
    flamegrid.load(with_block("good.db", good)).close()
    refused(with_block("twice.db", *[good] * 1000), "damaged: a block of totals has a key twice")
    for place, number in ((0, 1 << 32), (7, 10), (9, 2), (11, -1), (11, -(1 << 62) * 2)):
        refused(with_block(f"row{place}.{number}.db", good[:place] + (number,) + good[place + 1:]), "a number is too large")
    refused(with_block("name.db", good[:6] + (999999,) + good[7:]), "name of totals is not in strings")


def refused(path, words):
    try:
        flamegrid.load(path)
    except flamegrid.ProfileError as error:
        assert str(path) in str(error) and words in str(error), error
        return
    raise AssertionError(f"{path} was read")


def what_is_no_profile_is_refused():
    refused(change("newer.db", ["PRAGMA user_version = 99"]), "has schema version 99, and this package reads")
    refused(change("older.db", ["PRAGMA user_version = 7"]), "has schema version 7")
    refused(change("other.db", ["PRAGMA application_id = 1"]), "not a profile of Flamegrid")
    refused(change("view.db", ["CREATE VIEW own AS SELECT 1"]), "views, triggers")
    refused(change("virtual.db", ["CREATE VIRTUAL TABLE own USING rtree(a, b, c)"]), "virtual tables")
    refused(change("dropped.db", ["DROP TABLE totals"]), "damaged: no such table")
    refused(change("memory.db", ["DROP TABLE memory_stacks"]), "damaged: no such table")
    refused(change("negative.db", ["UPDATE totals SET ns = -5"]), "damaged: a sum in totals is negative")
    refused(change("name.db", ["UPDATE totals SET name = 999999"]), "damaged: name of totals is not in strings")
    refused(change("process.db", ["UPDATE totals SET process = 0"]), "damaged: process of totals is not in processes")
    refused(change("cycle.db", ["UPDATE nodes SET parent = id"]), "damaged: a node is not below its parent")
    refused(change("parent.db", ["UPDATE nodes SET parent = -1"]), "damaged: parent of nodes is not in nodes")
    columns = ["PRAGMA writable_schema = ON", "UPDATE sqlite_master SET sql = replace(sql, 'parent', 'parenu') WHERE name = 'nodes'"]
    refused(change("schema.db", columns), "damaged: no such column")
    whole = (pathlib.Path(PYTHON) / "profile.db").read_bytes()
    for name, data in (("text.db", b"text" * 1000), ("half.db", whole[:len(whole) // 2])):
        (pathlib.Path(SCRATCH) / name).write_bytes(data)
        refused(pathlib.Path(SCRATCH) / name, "")
    folder = pathlib.Path(SCRATCH) / "folder" / "profile.db"
    folder.mkdir(parents=True)
    refused(folder.parent, "not a regular file")
    for name in ("pipe.db", "beside.db-wal"):
        os.mkfifo(pathlib.Path(SCRATCH) / name)
    refused(pathlib.Path(SCRATCH) / "pipe.db", "not a regular file")
    beside = change("beside.db", [])
    refused(beside, "beside.db-wal: not a regular file")
    try:
        flamegrid.load(SCRATCH)
    except FileNotFoundError as error:
        assert "profile.db" in str(error)
    else:
        raise AssertionError("a folder without a profile was read")


def what_cannot_be_answered_is_an_error_of_the_profile():
    large = change("large.db", ["UPDATE totals SET ns = 9223372036854775807"])
    with flamegrid.load(large) as profile:
        for ask, words in ((profile.lines, "integer overflow"), (lambda: profile.query("SELECT * FROM none"), "no such table: none")):
            try:
                ask()
            except flamegrid.ProfileError as error:
                assert str(error) == f"{large}: {words}", error
            else:
                raise AssertionError(words)
    with flamegrid.load(PYTHON) as profile:
        for question, words in (("SELECT 1; SELECT 2", "one statement at a time"), ("SELECT 1 AS a, 2 AS a", "have one name: a;"),
                                ("SELECT \0", ""), ("DELETE FROM totals", "readonly database")):
            try:
                profile.query(question)
            except flamegrid.ProfileError as error:
                assert words in str(error), error
            else:
                raise AssertionError(question)


def a_part_of_a_profile_is_not_read_as_the_whole():
    folder = pathlib.Path(SCRATCH) / "a part"
    folder.mkdir()
    shutil.copy(pathlib.Path(PYTHON) / "profile.db", folder)
    store = folder / "profile.db"
    for name in "profile.db.part-x.wanted profile.db.part-x-wal profile.db.nodes.tmp profile.db.damaged-x other.db.nodes".split():
        (folder / name).write_bytes(b"x")
    (folder / "profile.db.part-y").mkdir()
    (folder / "profile.db.part-z").touch()
    flamegrid.load(folder).close()
    for name in ("profile.db.nodes", "profile.db.part-1", "profile.db.part-1.nodes"):
        (folder / name).write_bytes(b"x")
        refused(store, f"{name}, which this package does not read: make one file with: flamegrid merge -o COPY ")
        (folder / name).rename(folder / "kept")
    store.unlink()
    (folder / "kept").rename(folder / "profile.db.nodes")
    refused(folder, f"flamegrid merge -o COPY '{folder}'")


def the_package_is_of_this_version():
    schema = (SOURCE / "aggregator/store/store_schema.h").read_text()
    numbers = dict(re.findall(r"#define STORE_SCHEMA_(VERSION|OLDEST)\s+(\d+)", schema))
    package = (SOURCE / "api/python/flamegrid/_profile.py").read_text()
    assert f"_SCHEMA_OLDEST, _SCHEMA = {numbers['OLDEST']}, {numbers['VERSION']}\n" in package
    version = re.search(r"^project\(flamegrid VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text(), re.M)[1]
    assert f'version = "{version}"' in (SOURCE / "api/python/pyproject.toml").read_text()


kernels_are_those_of_the_report()
durations_are_those_of_the_report()
durations_that_are_not_known_have_no_bucket()
lines_are_where_the_kernels_were_launched()
ranks_and_gpus_are_named()
totals_in_blocks_count()
a_block_has_only_sound_rows_and_each_once()
what_is_no_profile_is_refused()
what_cannot_be_answered_is_an_error_of_the_profile()
a_part_of_a_profile_is_not_read_as_the_whole()
the_package_is_of_this_version()
