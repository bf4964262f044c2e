"""Reads a profile: one SQLite file, through the views of views.sql (docs/store.md)."""
from __future__ import annotations

import itertools
import os
import pathlib
import shlex
import sqlite3
import stat
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

_APPLICATION_ID = 0x464C4752
_SCHEMA_OLDEST, _SCHEMA = 8, 18
_SCHEMA_DURATIONS = 12  # the first with histograms
_TOTALS = "process device_id context_id stream_id tid node capture_stack name kind copy_kind matched count ns bytes".split()
# total_blocks.data, kind 0: further rows of totals. Their columns after `process`, in order, and three of histograms.
_BLOCK_FIELDS = len(_TOTALS) - 1
_KINDS = 10
# Files beside a store, as in report/profile/profile_parts.c: these hold more of the profile, but for the ends of others.
_NODES, _PART = ".nodes", ".part-"
_COMPANIONS = ("-wal", "-shm", "-journal")
_NO_PARTS = _COMPANIONS + (".tmp", "-compact", ".wanted")
# What the views refer to: a table's columns are ids of the second table, or NULL, or 0 but for hosts and processes.
_REFERENCES = (
    ("totals", "strings", "name"), ("totals", "nodes", "node capture_stack"), ("totals", "processes", "process"),
    ("nodes", "nodes", "parent"), ("nodes", "frames", "frame"), ("frames", "modules", "module"), ("frames", "codes", "code"),
    ("frames", "strings", "name"), ("codes", "strings", "file name"), ("modules", "strings", "path"),
    ("processes", "hosts", "host"), ("processes", "strings", "job command"), ("hosts", "strings", "node"),
    ("devices", "hosts", "host"), ("devices", "strings", "name pci"), ("process_devices", "devices", "device"),
    ("collectives", "processes", "process"), ("memory_stacks", "processes", "process"))
_VIEWS = "profile ranks gpus work kernels kernel_durations frame_names stacks lines collective_calls allocations".split()
_BUCKETS, _DAMAGED = 252, 253  # of a histogram; in place of the number of its bins

Row = Dict[str, Any]


class ProfileError(Exception):
    """A profile cannot be read by this package, or has no answer. The text names the file and the reason."""


def _varints(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            yield value
            value = shift = 0
        elif shift == 70:
            raise ValueError("a number is too long")
    if shift:
        raise ValueError("a number is cut off")


def _column(data: bytes, end: int) -> Iterator[int]:
    """Zigzag varints of differences, modulo 2^64, each below `end`."""
    last = 0
    for number in _varints(data):
        last = (last + (number >> 1 ^ -(number & 1))) & 0xFFFFFFFFFFFFFFFF
        if last >= end:
            raise ValueError("a number is too large")
        yield last


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes(data + bytes([number]))


def _histogram(number: int, buckets: Iterator[int], counts: Iterator[int]) -> bytes:
    """What totals.durations of a row is, of so many bins."""
    data = bytearray()
    for i in range(number):
        data.append(next(buckets))
        if i + 1 < number:
            data += _varint(next(counts))
    return bytes(data)


def _histograms(columns: Sequence[bytes], nr_rows: int) -> List[Optional[bytes]]:
    """totals.durations of each row. None: not known; no bytes: it is damaged. Damage here costs histograms, and no more."""
    if not columns:
        return [None] * nr_rows
    numbers, buckets, counts = (_column(data, end) for data, end in zip(columns, (_DAMAGED + 1, _BUCKETS, 1 << 63)))
    try:
        rows = [None if number == 0 else _histogram(number % _DAMAGED, buckets, counts)
                for number in itertools.islice(numbers, nr_rows)]
        if len(rows) == nr_rows and next(numbers, None) is next(buckets, None) is next(counts, None) is None:
            return rows
    except (StopIteration, ValueError):
        pass
    return [b""] * nr_rows


def _block_rows(process: int, count: int, data: bytes) -> Iterator[Tuple[Any, ...]]:
    """Decodes row by row, so that whoever takes them may stop at the first bad one."""
    columns, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], "little")
        columns.append(data[at + 4:at + 4 + size])
        at += 4 + size
    if at != len(data) or len(columns) not in (_BLOCK_FIELDS, _BLOCK_FIELDS + 3):
        raise ValueError("its columns do not fit")
    if any(len(column) < count for column in columns[:_BLOCK_FIELDS]):
        raise ValueError("a column is too short")
    ends = (1 << 32,) * 7 + (_KINDS, 1 << 8, 2) + (1 << 63,) * 3
    histograms = _histograms(columns[_BLOCK_FIELDS:], count)
    nr_rows = 0
    for row in itertools.zip_longest(*map(_column, columns, ends)):
        nr_rows += 1
        if nr_rows > count or None in row:
            break
        yield (process,) + row + (histograms[nr_rows - 1],)
    if nr_rows != count or None in row:
        raise ValueError("its columns do not fit")


def _parts(store: str) -> List[str]:
    """The files with content beside a store that are of the same profile, but are no companions of SQLite."""
    folder, name = os.path.split(os.path.abspath(store))
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == name + _NODES or entry.name.startswith(name + _PART) and not entry.name.endswith(_NO_PARTS):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # its aggregator has replaced it
                if stat.S_ISREG(status.st_mode) and status.st_size:
                    found.append(entry.name)
    return sorted(found)


class Profile:
    """A profile that is open for reading. Use it on the thread that made it. As a context manager it closes itself.

    Rows are dicts, so pandas.DataFrame(profile.kernels()) makes a table. Times are nanoseconds. A kernel's name is as
    the compiler made it; c++filt reads it. A rank that is not known is None.

    path: of the file.
    title: of the profile.
    is_closed: False while the job runs, or if its aggregator was killed. The profile then is as of the last commit.
        True does not say that nothing is missing: `flamegrid report --strict` does."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        path = pathlib.Path(path)
        self.path = str(path / "profile.db" if path.is_dir() else path)
        # Before the store is opened: a finished job's aggregator first replaces the store, and then removes these.
        parts = _parts(self.path) if os.path.isdir(os.path.dirname(os.path.abspath(self.path))) else []
        if parts:
            raise ProfileError(f"{self.path}: a part of this profile is in {parts[0]}, which this package does not read: "
                               f"make one file with: flamegrid merge -o COPY {shlex.quote(str(path))}")
        if not os.path.exists(self.path):
            raise FileNotFoundError(f"{self.path}: no such profile")
        for name in [self.path] + [self.path + end for end in _COMPANIONS]:
            if os.path.exists(name) and not os.path.isfile(name):  # SQLite waits for a writer of a named pipe
                raise ProfileError(f"{name}: not a regular file")
        try:
            self._connection = sqlite3.connect(pathlib.Path(self.path).absolute().as_uri() + "?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise ProfileError(f"{self.path}: cannot be opened: {error}") from error
        try:
            self._check()
            self._make_views()
            self._check_references()
            [row] = self.query("SELECT title, closed FROM profile")
            self.title: str = row["title"] or ""
            self.is_closed = bool(row["closed"])
        except (sqlite3.Error, ValueError) as error:
            self.close()
            raise ProfileError(f"{self.path}: not a profile, or damaged: {error}") from error
        except ProfileError:
            self.close()
            raise

    def _pragma(self, name: str) -> Any:
        return self._connection.execute(f"PRAGMA {name}").fetchone()[0]

    def _check(self) -> None:
        """The file is a profile of a known version, whole, and runs nothing of its own."""
        self._connection.execute("PRAGMA trusted_schema = OFF")
        # Strings are the applications' own bytes.
        self._connection.text_factory = lambda data: data.decode("utf-8", "replace")
        if self._pragma("application_id") != _APPLICATION_ID:
            raise ProfileError(f"{self.path}: not a profile of Flamegrid")
        schema = self._pragma("user_version")
        if not _SCHEMA_OLDEST <= schema <= _SCHEMA:
            raise ProfileError(f"{self.path}: has schema version {schema}, and this package reads {_SCHEMA_OLDEST} to {_SCHEMA}: "
                               "take the package of the Flamegrid that wrote it")
        fault = self._pragma("quick_check")
        if fault != "ok":
            raise ValueError(fault)
        if self._connection.execute("SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger') OR "
                                    "sql LIKE 'CREATE VIRTUAL%'").fetchone():
            raise ValueError("it has views, triggers or virtual tables of its own")

    def _make_views(self) -> None:
        """The views take the rows of temp.totals, where there are some, before those of the file."""
        durations = "durations" if self._pragma("user_version") >= _SCHEMA_DURATIONS else "NULL AS durations"
        columns = f"{', '.join(_TOTALS)}, {durations}"
        self._connection.execute("BEGIN")  # A writer moves rows of blocks to totals in one commit.
        blocks = self._connection.execute("SELECT process, count, data FROM total_blocks WHERE kind = 0").fetchall()
        if blocks:
            # A block has each key once.
            key = ", ".join(f"k{i}" for i in range(_BLOCK_FIELDS - 2))
            self._connection.execute(f"CREATE TEMP TABLE totals AS SELECT {columns} FROM main.totals")
            self._connection.execute(f"CREATE TEMP TABLE block ({key}, count, ns, bytes, durations, PRIMARY KEY ({key})) WITHOUT ROWID")
            marks = ", ".join("?" * (2 + _BLOCK_FIELDS))
            for block in blocks:
                try:
                    self._connection.executemany(f"INSERT INTO temp.block VALUES ({marks})", _block_rows(*block))
                except sqlite3.IntegrityError as error:
                    raise ValueError("a block of totals has a key twice") from error
                self._connection.execute("INSERT INTO temp.totals SELECT * FROM temp.block")
                self._connection.execute("DELETE FROM temp.block")
            self._connection.execute("DROP TABLE temp.block")
        elif durations != "durations":
            self._connection.execute(f"CREATE TEMP VIEW totals AS SELECT {columns} FROM main.totals")
        # executescript() ends the transaction.
        views = pathlib.Path(__file__).with_name("views.sql").read_text(encoding="utf-8")
        self._connection.executescript(views)

    def _finds(self, table: str, condition: str) -> bool:
        return self._connection.execute(f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1").fetchone() is not None

    def _check_references(self) -> None:
        """The views leave out, or show without a name, what refers to something that is not there."""
        for view in _VIEWS:
            self._connection.execute(f"SELECT * FROM {view} LIMIT 0")
        if self._finds("totals", "count < 0 OR ns < 0 OR bytes < 0"):
            raise ValueError("a sum in totals is negative")
        if self._finds("nodes", "parent >= id"):
            raise ValueError("a node is not below its parent")
        for table, to, columns in _REFERENCES:
            for column in columns.split():
                is_set = "" if to in ("hosts", "processes") else f"{column} <> 0 AND "
                if self._finds(table, f"{is_set}{column} NOT IN (SELECT id FROM {to})"):
                    raise ValueError(f"{column} of {table} is not in {to}")

    def query(self, question: str, parameters: Sequence[Any] = ()) -> List[Row]:
        """The rows that a SELECT finds in the views and tables.

        A wrong question raises ProfileError, too; so does one of whose columns two have the same name."""
        try:
            cursor = self._connection.execute(question, parameters)
            names = [column[0] for column in cursor.description or ()]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ProfileError(f"{self.path}: columns of the question have one name: {', '.join(twice)}; AS gives them others")
            return [dict(zip(names, row)) for row in cursor]
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:  # older versions of Python warn of several statements
            raise ProfileError(f"{self.path}: {error}") from error

    def kernels(self) -> List[Row]:
        """Kernels by rank, GPU and stream, the longest first.

        job, host, rank, gpu (index on the host), context, stream (CUDA's number), kernel, launches, ns, mean_ns."""
        return self.query("SELECT * FROM kernels ORDER BY ns DESC, kernel, host, rank, gpu, context, stream")

    def durations(self) -> List[Row]:
        """How long kernels took: the histogram of each kernel on a rank's stream, the shortest first.

        job, host, rank, gpu, context, stream, kernel, first_ns, last_ns, launches: so many took from first_ns to last_ns,
        which is at most a quarter longer. first_ns is None for launches whose durations are not known."""
        key = "job, host, rank, gpu, context, stream, kernel, first_ns, last_ns"
        return self.query(f"SELECT {key}, sum(launches) AS launches FROM kernel_durations GROUP BY {key} "
                          "ORDER BY kernel, host, rank, gpu, context, stream, first_ns")

    def lines(self) -> List[Row]:
        """GPU time under each line of Python, whatever it called, the longest first. Lines must not be added up.

        file, function, line, launches, ns."""
        return self.query("SELECT * FROM lines ORDER BY ns DESC, file, line, function")

    def ranks(self) -> List[Row]:
        """The processes, by rank. process, job, host, rank, local_rank, world_size, pid, command, state."""
        return self.query("SELECT * FROM ranks ORDER BY job, rank, process")

    def gpus(self) -> List[Row]:
        """The GPUs. busy_ns: with work, between its first start and last end, which are window_ns apart.

        device, host, gpu (index on the host), name, uuid, pci, multiprocessors, busy_ns, window_ns."""
        return self.query("SELECT * FROM gpus ORDER BY host, gpu")

    def close(self) -> None:
        """Closes the file. It may be called twice."""
        self._connection.close()

    def __enter__(self) -> Profile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def load(path: Union[str, "os.PathLike[str]"]) -> Profile:
    """Opens a profile: its folder (-o of flamegrid run) or its file, profile.db. Nothing is written.

    Raises FileNotFoundError, or ProfileError for a file that is no profile, is damaged, is of another version, or is
    only a part: of a job whose nodes fold their events, while it runs or after its aggregator was lost."""
    return Profile(path)
