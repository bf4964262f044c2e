"""A server that takes what `flamegrid export` pushes to Pyroscope, and fails as a test wants. It checks each request by the reference of
Pyroscope's API (push.v1.PusherService/Push in JSON) and by the limits that its server has unless it is told otherwise."""
import base64
import collections
import gzip
import http.server
import json
import os
import re
import subprocess
import threading
import time
import uuid

from clickhouse_front import Handler as ClickhouseHandler

LABELS = {"__name__", "service_name", "job", "user", "host", "rank", "gpu", "gpu_uuid", "model", "driver"}
PROFILE_BYTES_MAX = 2 << 20  # what a server takes at once


def check_push(body):
    """The contract of a push: one series with its labels, and one profile that has an id. Returns both."""
    push = json.loads(body)
    assert set(push) == {"series"} and len(push["series"]) == 1
    series = push["series"][0]
    assert set(series) == {"labels", "samples"} and len(series["samples"]) == 1
    labels = {label["name"]: label["value"] for label in series["labels"]}
    assert len(labels) == len(series["labels"]) and set(labels) <= LABELS, labels
    assert labels["__name__"] == labels["service_name"] == "flamegrid"
    assert all(re.fullmatch(r"[a-zA-Z_]\w*", name) and 0 < len(value) <= 2048 for name, value in labels.items()), labels
    sample = series["samples"][0]
    assert set(sample) == {"ID", "rawProfile"} and str(uuid.UUID(sample["ID"])) == sample["ID"]
    raw = base64.b64decode(sample["rawProfile"], validate=True)
    assert len(gzip.decompress(raw)) <= PROFILE_BYTES_MAX
    return labels, sample["ID"], raw


class PyroscopeFront(http.server.ThreadingHTTPServer):
    """faults: what to do with the next pushes, one by one; None: nothing. Wrong requests are collected in `wrong`. Pushes are kept as
    (labels, id, profile), also those that came before."""
    daemon_threads = True

    def __init__(self, wrap=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pushes, self.faults, self.wrong = [], [], []
        self.authorization = self.tenant = None
        self.scheme = "https" if wrap else "http"
        if wrap:
            self.socket = wrap(self.socket)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass  # the sender was killed, or refused our certificate

    def repeats(self):
        """How many pushes came again, as they were."""
        counts = collections.Counter(push_id for _, push_id, _ in self.pushes)
        contents = {(push_id, raw) for _, push_id, raw in self.pushes}
        assert len(contents) == len(counts), "equal ids with other contents"
        return sum(counts.values()) - len(counts)


class Handler(ClickhouseHandler):
    def do_POST(self):
        server = self.server
        fault = server.faults.pop(0) if server.faults else None
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            assert self.path == "/push.v1.PusherService/Push", self.path
            assert self.headers["Content-Type"] == "application/json" and not self.headers["Content-Encoding"]
            push = check_push(body)
        except (AssertionError, KeyError, ValueError) as error:
            server.wrong.append(repr(error))
            return self.reply(400, b'{"code":"invalid_argument","message":"contract"}')
        if (server.authorization, server.tenant) != (self.headers["Authorization"], self.headers["X-Scope-OrgID"]):
            return self.reply(401, b'{"code":"unauthenticated","message":"no tenant"}')
        if fault == "refused":
            return self.reply(400, b'{"code":"invalid_argument","message":"profile is not in the ingestion window"}')
        if fault == "429":
            return self.reply(429, b'{"code":"resource_exhausted","message":"rate limit"}')
        if fault == "close":
            return self.cut()
        if fault == "another server":
            return self.reply(200, b"<html>Welcome</html>")
        server.pushes.append(push)
        if fault == "no answer":
            return self.cut()
        if fault == "500":
            return self.reply(500, b'{"code":"internal","message":"\x1b[2J"}')
        return self.reply(200, b"{}")


def decode(pushes, modules, node, folder):
    """Reads pushes with pprof-format. Returns, for each, its types, and rows of a path and values."""
    os.makedirs(folder, exist_ok=True)
    for number, (_, _, raw) in enumerate(pushes):
        with open(os.path.join(folder, f"{number:06}.pb.gz"), "wb") as out:
            out.write(raw)
    reader = os.path.join(os.path.dirname(os.path.abspath(__file__)), "read_pushes.mjs")
    text = subprocess.run([node, reader, modules, folder], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def told(pushes, modules, node, folder):
    """The sums of all profiles by host, rank, GPU, plane, name and stack, as fleet_fixture.truth() has them without kinds."""
    sums = collections.defaultdict(lambda: [0, 0, 0])
    now_ns = time.time_ns()
    for (labels, _, _), profile in zip(pushes, decode(pushes, modules, node, folder)):
        assert now_ns - 3600 * 10**9 < int(profile["time_ns"]) <= now_ns, profile["time_ns"]
        place = tuple(labels.get(name, "") for name in ("host", "rank", "gpu"))
        for path, *values in profile["samples"]:
            for (name, unit), value in zip(profile["types"], values):
                assert int(value) >= 0
                plane = "gpu" if name in ("gpu_time", "launches", "bytes") else name.rsplit("_", 1)[0]
                amounts = sums[place + (plane, re.sub(r"^\[[^\]]*\]", "", path[-1]), ";".join(path[:-1]))]
                amounts[("count", "nanoseconds", "bytes").index(unit)] += int(value)
    return {key: values for key, values in sums.items() if any(values)}
