"""An HTTP server that takes what `flamegrid export` sends to ClickHouse, and fails as a test wants. It checks each statement, token and
row. Behind it is an engine: ModelEngine here, or ClickHouse itself (chdb_engine.py)."""
import gzip
import http.server
import json
import re
import socket
import struct
import threading
import urllib.parse

from chdb_engine import EngineError

COLUMNS = {
    "work": {"source": str, "batch": int, "time": int, "job": str, "user": str, "host": str, "rank": int, "gpu": int, "gpu_uuid": str,
             "model": str, "driver": str, "plane": str, "kind": str, "name": str, "stack": int, "count": int, "ns": int, "bytes": int},
    "losses": {"source": str, "batch": int, "time": int, "job": str, "user": str, "reason": str, "lost": int, "count": int, "ns": int},
    "stacks": {"stack": int, "frames": list},
    "writers": {"source": str, "writer": str},
}


class ModelEngine:
    """What the sender asks of ClickHouse, in memory. without_tokens: as before version 22."""

    def __init__(self, without_tokens=False):
        self.version = "18.16.1\n" if without_tokens else "26.7.2.1\n"
        self.tokens = set()
        self.tables = {"work": [], "losses": [], "stacks": [], "writers": []}
        self.lock = threading.Lock()

    def query(self, text):
        if text == "SELECT version()":
            return self.version.encode()
        if text == "SELECT max(version) FROM flamegrid.schema_version":
            return b"1\n"
        one = re.fullmatch(r"SELECT count\(\) FROM flamegrid\.(\w+) WHERE source = '([0-9a-f]+)' AND batch = (\d+)", text)
        if one:
            rows = [row for row in self.tables[one[1]] if row["source"] == one[2] and row["batch"] == int(one[3])]
            return b"%d\n" % len(rows)
        some = re.fullmatch(r"SELECT count\(\) FROM flamegrid\.work WHERE source != '([0-9a-f]*)' AND source IN "
                            r"\(SELECT source FROM flamegrid\.writers WHERE writer IN \(((?:'[0-9a-f]{32}',?)+)\)\)", text)
        if some:
            sources = {row["source"] for row in self.tables["writers"] if f"'{row['writer']}'" in some[2]} - {some[1]}
            return b"%d\n" % sum(row["source"] in sources for row in self.tables["work"])
        claims = re.fullmatch(r"SELECT uniqExact\(source\) FROM flamegrid\.writers WHERE source != '([0-9a-f]*)' AND writer IN "
                              r"\(((?:'[0-9a-f]{32}',?)+)\) AND source NOT IN "
                              r"\(SELECT source FROM flamegrid\.writers WHERE writer = 'withdrawn'\)", text)
        if claims:
            withdrawn = {row["source"] for row in self.tables["writers"] if row["writer"] == "withdrawn"} | {claims[1]}
            return b"%d\n" % len({row["source"] for row in self.tables["writers"] if f"'{row['writer']}'" in claims[2]} - withdrawn)
        raise EngineError("not a statement of the contract: " + text)

    def insert(self, text, body, settings):
        table = re.fullmatch(r"INSERT INTO flamegrid\.(\w+) FORMAT JSONEachRow", text)[1]
        token = settings.get("insert_deduplication_token")
        if token:
            assert settings["insert_deduplicate"] == "1" and settings["async_insert"] == "0"
        with self.lock:
            if token not in self.tokens:
                self.tables[table] += [json.loads(line) for line in body.decode().splitlines()]
            if token:
                self.tokens.add(token)

    def rows(self, table):
        return self.tables[table]


def check_rows(text, body):
    """The contract of the rows: these columns, these types, and one partition's time for all rows of a batch."""
    table = re.fullmatch(r"INSERT INTO flamegrid\.(\w+) FORMAT JSONEachRow", text)[1]
    rows = [json.loads(line) for line in body.decode().splitlines()]
    for row in rows:
        assert {key: type(value) for key, value in row.items()} == COLUMNS[table], row
    if table in ("work", "losses"):
        assert len({(row["source"], row["batch"], row["time"]) for row in rows}) == 1


class Front(http.server.ThreadingHTTPServer):
    """faults: what to do with the next inserts, one by one; None: nothing. Wrong requests are collected in `wrong`."""
    daemon_threads = True

    def __init__(self, engine, wrap=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "https" if wrap else "http"
        if wrap:
            self.socket = wrap(self.socket)
        self.engine, self.faults, self.wrong = engine, [], []
        self.inserts = 0
        self.answer = None  # in place of every answer to a question
        self.credentials = None
        self.first_claims = None  # a barrier for those who ask for claims before they make their own
        self.hanging = threading.Event()
        self.release = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait_for_claims(self):
        """The first claims are made at once: nobody has seen the other."""
        barrier = self.first_claims
        if barrier.wait(60) == 0:
            self.first_claims = None

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass  # the sender was killed, or the connection was closed on purpose


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, text, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def cut(self):
        """Closes the connection as a crash does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def do_POST(self):
        settings = {key: values[0] for key, values in urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).items()}
        size = int(self.headers["Content-Length"])
        query = settings.pop("query", None)
        fault = self.server.faults.pop(0) if query and self.server.faults else None
        if fault == "close":
            self.rfile.read(size // 2)
            return self.cut()
        body = self.rfile.read(size)
        if len(body) != size:
            return self.cut()  # as ClickHouse: what is cut is not taken
        if self.server.credentials and self.server.credentials != (self.headers["X-ClickHouse-User"], self.headers["X-ClickHouse-Key"]):
            return self.reply(403, b"Authentication failed\n")
        if not query and self.server.answer is not None:
            return self.reply(*self.server.answer)
        try:
            if not query:
                answer = self.server.engine.query(body.decode())
                if self.server.first_claims and body.startswith(b"SELECT uniqExact"):
                    self.server.wait_for_claims()
                return self.reply(200, answer)
            assert self.headers["Content-Encoding"] == "gzip"
            return self.insert(query, gzip.decompress(body), settings, fault)
        except EngineError as error:
            return self.reply(500, str(error).encode())
        except (AssertionError, KeyError, TypeError) as error:
            self.server.wrong.append(repr(error))
            return self.reply(400, repr(error).encode())

    def insert(self, query, body, settings, fault):
        server = self.server
        check_rows(query, body)
        assert settings["wait_end_of_query"] == "1" and settings["query_id"]
        if fault == "500":
            return self.reply(500, b"Code: 241. DB::Exception: Memory limit exceeded\n")
        if fault == "late error":
            return self.reply(200, b"Code: 241. DB::Exception: Memory limit exceeded\n")
        if fault == "silent error":
            return self.reply(200, b"", [("X-ClickHouse-Exception-Code", "241")])
        if fault == "hang":
            server.hanging.set()
            server.release.wait(60)
            return self.cut()
        server.engine.insert(query, body, settings)
        server.inserts += 1
        if fault == "no answer":
            return self.cut()
        if fault == "wrong answer":
            return self.reply(500, b"Code: 999. Timeout exceeded\n")
        if fault == "silent late error":
            return self.reply(200, b"", [("x-clickhouse-exception-code", "999")])
        if fault == "long answer":
            return self.reply(200, b"x" * 200000)
        if fault == "redirect":
            return self.reply(307, b"", [("Location", "http://127.0.0.1:9/")])
        return self.reply(200, b"")
