"""Reads a profile: one SQLite file, through the views of views.sql (docs/store.md)."""
from __future__ import annotations

import os
import pathlib
import sqlite3
from typing import Any, Dict, Iterator, List, Sequence, Tuple, Union

_APPLICATION_ID = 0x464C4752
_SCHEMA_OLDEST, _SCHEMA = 8, 11
# total_blocks.data, kind 0: further rows of totals. The columns of totals after `process`, in order.
_BLOCK_FIELDS = 13

Row = Dict[str, Any]


class ProfileError(Exception):
    """A file is not a profile that this package can read. The text names the file and the reason."""


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


def _column(data: bytes) -> List[int]:
    """Zigzag varints of differences, modulo 2^64, as SQLite's signed integers."""
    values, last = [], 0
    for number in _varints(data):
        last = (last + (number >> 1 ^ -(number & 1))) & 0xFFFFFFFFFFFFFFFF
        values.append(last - (last >> 63 << 64))
    return values


def _block_rows(process: int, count: int, data: bytes) -> Iterator[Tuple[int, ...]]:
    columns, at = [], 0
    for _ in range(_BLOCK_FIELDS):
        size = int.from_bytes(data[at:at + 4], "little")
        columns.append(_column(data[at + 4:at + 4 + size]))
        at += 4 + size
    if at != len(data) or any(len(column) != count for column in columns):
        raise ValueError("its columns do not fit")
    return ((process,) + row for row in zip(*columns))


class Profile:
    """A profile that is open for reading. Use it on the thread that made it. As a context manager it closes itself.

    Rows are dicts, so pandas.DataFrame(profile.kernels()) makes a table. Times are nanoseconds. A kernel's name is as
    the compiler made it; c++filt reads it. A rank that is not known is None.

    path: of the file.
    title: of the profile.
    is_closed: False while the job runs, or if its aggregator was killed. The profile then is as of the last commit."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        path = pathlib.Path(path)
        self.path = str(path / "profile.db" if path.is_dir() else path)
        if not os.path.exists(self.path):
            raise FileNotFoundError(f"{self.path}: no such profile")
        try:
            self._connection = sqlite3.connect(pathlib.Path(self.path).absolute().as_uri() + "?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise ProfileError(f"{self.path}: cannot be opened: {error}") from error
        try:
            self._check()
            self._make_views()
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
        blocks = self._connection.execute("SELECT process, count, data FROM total_blocks WHERE kind = 0").fetchall()
        if blocks:
            self._connection.execute("CREATE TEMP TABLE totals AS SELECT * FROM main.totals")
            marks = ", ".join("?" * (1 + _BLOCK_FIELDS))
            for block in blocks:
                self._connection.executemany(f"INSERT INTO temp.totals VALUES ({marks})", _block_rows(*block))
        views = pathlib.Path(__file__).with_name("views.sql").read_text(encoding="utf-8")
        self._connection.executescript(views)

    def query(self, question: str, parameters: Sequence[Any] = ()) -> List[Row]:
        """The rows that a SELECT finds in the views and tables. A wrong question raises sqlite3.Error."""
        cursor = self._connection.execute(question, parameters)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row)) for row in cursor]

    def kernels(self) -> List[Row]:
        """Kernels by rank, GPU and stream, the longest first.

        job, host, rank, gpu (index on the host), context, stream (CUDA's number), kernel, launches, ns, mean_ns."""
        return self.query("SELECT * FROM kernels ORDER BY ns DESC, kernel, host, rank, gpu, context, stream")

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

    Raises FileNotFoundError, or ProfileError for a file that is no profile, is damaged, or is of another version."""
    return Profile(path)
