"""A clickhouse-server of its own, over HTTP, behind the engine that clickhouse_front.py asks. It may be as old as 18.16 of Debian 12,
which has no tokens, no projections and fewer types."""
import gzip
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from chdb_engine import SCHEMA, EngineError

CONFIG = """<yandex><logger><level>warning</level><errorlog>{path}/err.log</errorlog><log>{path}/log</log></logger>
<http_port>{port}</http_port><tcp_port>{tcp_port}</tcp_port><interserver_http_port>{other_port}</interserver_http_port>
<listen_host>127.0.0.1</listen_host><path>{path}/</path><tmp_path>{path}/tmp/</tmp_path><users_config>{path}/users.xml</users_config>
<mark_cache_size>16777216</mark_cache_size><default_profile>default</default_profile><default_database>default</default_database>
</yandex>"""
USERS = """<yandex><profiles><default/></profiles><users><default><password/><networks><ip>::/0</ip></networks><profile>default</profile>
<quota>default</quota></default></users><quotas><default/></quotas></yandex>"""


def old_schema(text):
    """clickhouse.sql for 18.16: the columns without what that release does not know."""
    text = re.sub(r"LowCardinality\((\w+)\)", r"\1", text)
    text = re.sub(r" CODEC\([^)]*\)", "", text)
    text = re.sub(r"\tINDEX by_job.*?\n\) ENGINE", ") ENGINE", text, flags=re.S)
    text = re.sub(r",\n\tPROJECTION.*?\n\) ENGINE", "\n) ENGINE", text, flags=re.S)
    text = re.sub(r"\nSETTINGS non_replicated\w+ = \d+", "", text)
    return re.sub(r",\n\) ENGINE", "\n) ENGINE", text)


class ServerEngine:
    def __init__(self, program, path):
        port = 20000 + os.getpid() % 10000
        os.makedirs(path + "/tmp")
        with open(path + "/config.xml", "w") as config, open(path + "/users.xml", "w") as users:
            config.write(CONFIG.format(path=path, port=port, tcp_port=port + 1, other_port=port + 2))
            users.write(USERS)
        self.url = f"http://127.0.0.1:{port}"
        self.server = subprocess.Popen([program, "--config-file", path + "/config.xml"], stdout=subprocess.DEVNULL,
                                       stderr=open(path + "/stderr", "w"))
        for _ in range(600):
            try:
                self.query("SELECT 1")
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(open(path + "/stderr").read())

    def send(self, settings, body, headers=()):
        request = urllib.request.Request(self.url + "/?" + urllib.parse.urlencode(settings), body, dict(headers))
        try:
            return urllib.request.urlopen(request).read()
        except urllib.error.HTTPError as error:
            raise EngineError(error.read().decode()) from None

    def query(self, text):
        return self.send({}, text.encode())

    def insert(self, text, body, settings):
        self.send(dict(settings, query=text), gzip.compress(body), [("Content-Encoding", "gzip")])

    def start_anew(self):
        self.query("DROP DATABASE IF EXISTS flamegrid")
        lines = [line for line in old_schema(open(SCHEMA).read()).split("\n") if not line.strip().startswith("--")]
        for statement in "\n".join(lines).split(";\n"):
            if statement.strip():
                self.query(statement.strip())

    def rows(self, table):
        text = self.send({"output_format_json_quote_64bit_integers": "0"}, f"SELECT * FROM flamegrid.{table} FORMAT JSONEachRow".encode())
        return [json.loads(line) for line in text.decode().splitlines()]

    def close(self):
        self.server.kill()
        self.server.wait()
