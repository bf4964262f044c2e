"""Reads metrics for metrics_test.sh: compares them with stores, and has a real Prometheus read and query them. Prints lines of
WHAT, what is, and what is expected, with tabs between."""

import decimal
import http.server
import json
import re
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

TRIES_S = 60


def get(url, accept="*/*"):
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=TRIES_S) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


def parse(text):
    """{(name, labels): value}; labels are a sorted tuple of pairs. The values are exact."""
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")
            samples[name, tuple(sorted(pairs))] = decimal.Decimal(value)
    return samples


def by_uuid(samples, name):
    sums = {}
    for (key, labels), value in samples.items():
        if key == name:
            uuid = dict(labels)["UUID"]
            sums[uuid] = sums.get(uuid, 0) + value
    return sums


def total(samples, name):
    return sum(value for (key, _), value in samples.items() if key == name)


def text_of(uuid):
    return "GPU-" + "-".join(uuid.hex()[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))


def seconds(ns):
    return decimal.Decimal(ns) / 10**9


COLUMNS = {"flamegrid_gpu_activities_total": "records", "flamegrid_gpu_work_seconds_total": "sum_ns",
           "flamegrid_gpu_busy_seconds_total": "busy_ns", "flamegrid_gpu_observed_seconds_total": "last_ns - first_ns",
           "flamegrid_gpu_late_seconds_total": "late_ns"}
LEVELS = {"flamegrid_gpu_compute_kernel_seconds_total": 4, "flamegrid_gpu_nccl_kernel_seconds_total": 5}


def stored(paths, sql):
    """Rows of a key and a number from all stores, added up by key."""
    sums = {}
    for path in paths:
        store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        for key, number in store.execute(sql):
            sums[key] = sums.get(key, 0) + number
        store.close()
    return sums


def tell(what, is_, expected):
    """Equal numbers are told alike, however many zeros they have."""
    print(what, expected if is_ == expected else is_, expected, sep="\t")


def await_ns(url, truth_ns):
    """The first metrics with all work in them, and one open profile: the others are complete."""
    end = time.monotonic() + TRIES_S
    while True:
        samples = parse(get(url)[0])
        done = total(samples, "flamegrid_gpu_work_seconds_total") == seconds(truth_ns)
        if (done and total(samples, "flamegrid_aggregator_open_profiles") == 1) or time.monotonic() > end:
            return samples


def exact(aggregator, agent, truth_ns, *stores):
    samples = await_ns(aggregator, int(truth_ns))
    tell("work in all", total(samples, "flamegrid_gpu_work_seconds_total"), seconds(int(truth_ns)))
    for name, column in COLUMNS.items():
        sums = stored(stores, f"SELECT d.uuid, {column} FROM timelines t JOIN devices d ON d.id = t.device_id WHERE level = 1")
        scale = int if name.startswith("flamegrid_gpu_activities") else seconds
        tell(name, sorted(by_uuid(samples, name).items()),
             sorted((text_of(uuid), decimal.Decimal(scale(number))) for uuid, number in sums.items()))
    for name, level in LEVELS.items():
        sums = stored(stores, "SELECT 1, t.busy_ns FROM timelines t JOIN process_devices p ON p.process = t.process"
                              f" AND p.device_id = t.device_id WHERE level = {level}")
        tell(name, total(samples, name), seconds(sums.get(1, 0)))
    waits = stored(stores, "SELECT d.uuid, s.ns FROM collective_splits s JOIN process_devices p ON p.process = s.process"
                           " AND p.device_id = s.device_id JOIN devices d ON d.id = p.device WHERE s.part > 0")
    waiting = by_uuid(samples, "flamegrid_gpu_nccl_waiting_seconds_total")
    idle = by_uuid(samples, "flamegrid_gpu_idle_seconds_total")
    observed, busy = (by_uuid(samples, f"flamegrid_gpu_{name}_seconds_total") for name in ("observed", "busy"))
    tell("GPUs whose idle time has reasons", sum(0 < idle.get(uuid, 0) <= observed[uuid] - busy[uuid] for uuid in observed) > 0, True)
    tell("GPUs with more reasons than idle time", [uuid for uuid in idle if idle[uuid] > observed[uuid] - busy[uuid]], [])
    tell("waits for other ranks", sorted(item for item in waiting.items() if item[1]),
         sorted((text_of(uuid), seconds(ns)) for uuid, ns in waits.items() if ns))
    tell("GPUs that waited", sum(value > 0 for value in waiting.values()) > 0, True)
    launches = stored(stores, "SELECT 1, launches FROM processes")[1]
    tell("launches", total(samples, "flamegrid_launches_total"), launches)
    tell("lost", total(samples, "flamegrid_lost_records_total"), 0)
    tell("GPUs", len(by_uuid(samples, "flamegrid_gpu_busy_seconds_total")), 4)
    tell("open profiles", total(samples, "flamegrid_aggregator_open_profiles"), 1)

    of_agent = parse(get(agent)[0])
    own = stored(stores[:1], "SELECT 1, launches FROM processes")[1]
    tell("the agent's launches", total(of_agent, "flamegrid_agent_launches_total"), own)
    tell("what the agent lost", total(of_agent, "flamegrid_agent_lost_records_total"), 0)
    tell("the agent's processes", total(of_agent, "flamegrid_agent_accepted_processes_total"), 1)
    tell("the agent's connection", total(of_agent, "flamegrid_agent_connected"), 1)
    tell("what waits in the agent", total(of_agent, "flamegrid_agent_behind_seconds"), 0)
    for url in aggregator, agent:
        text, kind = get(url, "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
        tell("the type", kind, "application/openmetrics-text; version=1.0.0; charset=utf-8")
        tell("its end", text[-7:] == "\n# EOF\n", True)


class Dcgm(http.server.BaseHTTPRequestHandler):
    """A DCGM exporter's metric, with its labels."""

    text = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, *_):
        pass


def start_dcgm(samples):
    lines = ["# TYPE DCGM_FI_DEV_GPU_UTIL gauge", "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %)."]
    for number, (_, labels) in enumerate(key for key in samples if key[0] == "flamegrid_gpu_busy_seconds_total"):
        at = dict(labels)
        lines.append(f'DCGM_FI_DEV_GPU_UTIL{{gpu="{at["gpu"]}",UUID="{at["UUID"]}",device="nvidia{at["gpu"]}",'
                     f'modelName="NVIDIA H100",Hostname="{at["Hostname"]}"}} {number + 1}')
    Dcgm.text = "\n".join(lines) + "\n"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Dcgm)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


CONFIG = """global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - {job_name: flamegrid, static_configs: [{targets: ["%s", "%s"]}]}
  - {job_name: dcgm, static_configs: [{targets: ["127.0.0.1:%d"]}]}
"""


def ask(process, url, query, is_answer):
    """The first answer of the kind; the last one, if none comes or Prometheus ends."""
    end, result = time.monotonic() + TRIES_S, None
    while time.monotonic() < end:
        try:
            result = json.loads(get(url + "/api/v1/query?query=" + urllib.parse.quote(query))[0])["data"]["result"]
            if is_answer(result):
                return result
        except OSError:
            pass
        try:
            process.wait(0.1)
            break
        except subprocess.TimeoutExpired:
            pass
    return result or []


def values(result, label):
    return {sample["metric"][label]: float(sample["value"][1]) for sample in result}


def prometheus(program, folder, port, aggregator, agent):
    samples = parse(get(f"http://{aggregator}/metrics")[0])
    busy = by_uuid(samples, "flamegrid_gpu_busy_seconds_total")
    with open(folder + "/prometheus.yml", "w", encoding="utf-8") as file:
        file.write(CONFIG % (aggregator, agent, start_dcgm(samples)))
    url = f"http://127.0.0.1:{port}"
    with open(folder + "/prometheus.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen([program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                                    f"--web.listen-address=127.0.0.1:{port}"], stderr=log, stdout=log)
    try:
        up = ask(process, url, "up == 1", lambda result: len(result) == 3)
        tell("targets that Prometheus reads", len(up), 3)
        found = values(ask(process, url, "flamegrid_gpu_busy_seconds_total", lambda result: len(result) == len(busy)), "UUID")
        tell("busy time in Prometheus", found, {uuid: float(value) for uuid, value in busy.items()})
        util = values(ask(process, url, "DCGM_FI_DEV_GPU_UTIL", lambda result: len(result) == len(busy)), "UUID")
        joined = values(ask(process, url, "flamegrid_gpu_busy_seconds_total * on (UUID) DCGM_FI_DEV_GPU_UTIL",
                            lambda result: len(result) == len(busy)), "UUID")
        tell("the join by UUID", joined, {uuid: float(value) * util[uuid] for uuid, value in busy.items()})
        launches = ask(process, url, "flamegrid_launches_total", len)
        tell("launches in Prometheus", [float(sample["value"][1]) for sample in launches],
             [float(total(samples, "flamegrid_launches_total"))])
        agents = ask(process, url, "flamegrid_agent_connected", len)
        tell("the agent in Prometheus", [sample["value"][1] for sample in agents], ["1"])
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    if sys.argv[1] == "get":
        sys.stdout.write(get(sys.argv[2])[0])
    else:
        {"exact": exact, "prometheus": prometheus}[sys.argv[1]](*sys.argv[2:])
