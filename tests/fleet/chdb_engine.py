"""ClickHouse itself, as the library that npm has (@chdb/lib-linux-x64-gnu), behind the engine that clickhouse_front.py asks."""
import ctypes
import json
import os
import threading

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "clickhouse.sql")


class EngineError(Exception):
    """The server's answer to a statement that it refuses."""


class ChdbEngine:
    """One database in the folder `path`; any thread."""

    def __init__(self, library, path):
        self.lock = threading.Lock()
        self.chdb = ctypes.CDLL(library)
        for name, result in (("connect", ctypes.POINTER(ctypes.c_void_p)), ("query_n", ctypes.c_void_p), ("result_error", ctypes.c_char_p),
                             ("result_buffer", ctypes.c_void_p), ("result_length", ctypes.c_size_t), ("destroy_query_result", None)):
            getattr(self.chdb, "chdb_" + name).restype = result
        arguments = [b"clickhouse", b"--path=" + path.encode()]
        self.connection = self.chdb.chdb_connect(len(arguments), (ctypes.c_char_p * len(arguments))(*arguments))
        if not self.connection:
            raise RuntimeError("chdb cannot open " + path)

    def run(self, statement, form=b"TabSeparated"):
        """Runs one statement, bytes; returns its result in that format."""
        with self.lock:
            result = ctypes.c_void_p(self.chdb.chdb_query_n(ctypes.c_void_p(self.connection[0]), statement, ctypes.c_size_t(len(statement)),
                                                            form, ctypes.c_size_t(len(form))))
            try:
                error = self.chdb.chdb_result_error(result)
                if error:
                    raise EngineError(error.decode())
                return ctypes.string_at(self.chdb.chdb_result_buffer(result), self.chdb.chdb_result_length(result))
            finally:
                self.chdb.chdb_destroy_query_result(result)

    def script(self, text):
        """Runs all statements of a file."""
        lines = [line for line in text.split("\n") if not line.strip().startswith("--")]
        for statement in "\n".join(lines).split(";\n"):
            if statement.strip():
                self.run(statement.strip().encode())

    def query(self, text):
        return self.run(text.encode())

    def start_anew(self):
        self.query("DROP DATABASE IF EXISTS flamegrid SYNC")
        self.script(open(SCHEMA).read())

    def rows(self, table):
        text = self.run(f"SELECT * FROM flamegrid.{table} SETTINGS output_format_json_quote_64bit_integers = 0".encode(), b"JSONEachRow")
        return [json.loads(line) for line in text.decode().splitlines()]

    def close(self):
        self.chdb.chdb_close_conn(self.connection)

    def insert(self, text, body, settings):
        """Settings of the URL stand before FORMAT in a statement."""
        head, form = text.rsplit(" FORMAT ", 1)
        known = {key: value for key, value in settings.items() if key not in ("query_id", "wait_end_of_query")}
        clause = ", ".join(f"{key} = '{value}'" for key, value in known.items())
        self.run(f"{head} SETTINGS {clause} FORMAT {form}\n".encode() + body)
