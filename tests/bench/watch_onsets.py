# Usage: python3 watch_onsets.py BUILD [ROUNDS [STEP]]: how soon `flamegrid watch` names a late rank, and how well it predicts the
# step without it. Eight ranks on the fake CUDA, of which one is late on the GPU while a file is there, in ROUNDS (5) turns;
# then three reruns of the job without the plant, and with a watch, too. STEP: only steps of so many ms. Prints a Markdown
# table, and the CPU time of the watch.
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

build = pathlib.Path(sys.argv[1]).resolve()
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
environment = dict(os.environ, LD_LIBRARY_PATH=f"{build}/lib/fake-nccl:{build}/lib/fake-cuda", FAKE_CUDA_DEVICES="8")
KINDS = [  # name, the kernel's least and most us, those of the late rank
    ("20 ms, late by a third", 20000, 20400, 26700),
    ("20 ms, late by a tenth", 20000, 20400, 22000),
    ("100 ms, late by a third", 100000, 102000, 133000),
    ("100 ms, late by a tenth", 100000, 102000, 110000),
    ("300 ms, late by a third", 300000, 306000, 400000),
]


def job(folder, least, most, *options):
    return subprocess.Popen(
        [build / "bin/flamegrid", "run", "-q", "--devices", "devices", "-o", folder / "prof", "--", build / "tests/fake_ranks",
         "--ranks", "8", "--gpu", f"{least}-{most}", *options], cwd=folder, env=environment, stdout=subprocess.DEVNULL)


def next_event(watch, wanted):
    """Seconds until the event, by this program's clock, and the event; other names are printed."""
    began = time.monotonic()
    for line in watch.stdout:
        event = json.loads(line)
        if event["event"] == wanted and event["ranks"] == [5]:
            return time.monotonic() - began, event
        print("beside it:", line.strip(), file=sys.stderr)
    raise SystemExit("the watch has ended")


def start_watch(folder):
    while not (folder / "prof/profile.db").exists():
        time.sleep(0.1)
    return subprocess.Popen([build / "bin/flamegrid", "watch", "-f", "json", "prof"], cwd=folder, env=environment,
                            stdout=subprocess.PIPE, text=True)


def clean_step_ms(folder, least, most):
    shutil.rmtree(folder / "prof")
    run = job(folder, least, most, "--steps", str(max(100, 20_000_000 // most)))
    watch = start_watch(folder)
    for line in watch.stdout:
        print("in a rerun:", line.strip(), file=sys.stderr)
    run.wait()
    watch.wait()
    report = json.loads(subprocess.check_output(
        [build / "bin/flamegrid", "report", "prof", "--straggler", "-f", "json"], cwd=folder, stderr=subprocess.DEVNULL))
    communicator = report["communicators"][0]
    return communicator["span_ns"] / (communicator["compared"] - 1) / 1e6


def measure(name, least, most, late):
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        (folder / "devices").write_bytes(subprocess.check_output([build / "bin/fake-cuda-devices"], env=environment))
        run = job(folder, least, most, "--steps", "100000000", "--late-gpu", f"5:{late}", "--late-while", "late", "--until", "until")
        watch = start_watch(folder)
        named, gone, now, without = [], [], [], []
        began = time.monotonic()
        for turn in range(rounds):
            time.sleep(10 + turn / rounds)  # another phase of the looks each time
            (folder / "late").touch()
            seconds, event = next_event(watch, "late")
            named.append(seconds)
            now.append(event["step_ns"] / 1e6)
            without.append(event["step_without_ns"] / 1e6)
            (folder / "late").unlink()
            gone.append(next_event(watch, "recovered")[0])
        lasted = time.monotonic() - began
        cpu_s = cpu_of(watch.pid)
        (folder / "until").touch()
        run.wait()
        watch.wait()
        reruns = [clean_step_ms(folder, least, most) for _ in range(3)]
    errors = [100 * abs(value / mean(reruns) - 1) for value in without]
    print(f"| {name} | {min(named):.1f} to {max(named):.1f} s | {min(gone):.1f} to {max(gone):.1f} s | {mean(now):.1f} | "
          f"{mean(without):.1f} | {min(reruns):.1f} to {max(reruns):.1f} | {mean(errors):.1f} % | {max(errors):.1f} % |", flush=True)
    print(f"{name}: the watch took {100 * cpu_s / lasted:.1f} % of a core", file=sys.stderr)


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def mean(values):
    return sum(values) / len(values)


print("| step | named after | recovery told after | ms a step, late | predicted without | three reruns | error, mean | worst |")
print("| --- | --- | --- | --- | --- | --- | --- | --- |")
for kind in KINDS:
    if len(sys.argv) < 4 or kind[0].startswith(sys.argv[3] + " ms"):
        measure(*kind)
