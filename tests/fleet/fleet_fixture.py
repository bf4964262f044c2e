"""What the tests of `flamegrid export` share: profiles, runs of the sender, and the truth that reports have of a profile."""
import collections
import csv
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ["BUILD"]
FLAMEGRID = os.path.join(BUILD, "bin", "flamegrid")
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
os.environ["LD_LIBRARY_PATH"] = f"{BUILD}/lib/fake-nccl:{BUILD}/lib/fake-cuda"


class Fixture:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="flamegrid-test.")
        self.passed = self.failed = 0
        self.devices = self.path("devices")
        with open(self.devices, "w") as out:
            subprocess.run([f"{BUILD}/bin/fake-cuda-devices"], env=dict(os.environ, FAKE_CUDA_DEVICES="2"), stdout=out, check=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def check(self, what, is_good, why=""):
        self.passed += bool(is_good)
        self.failed += not is_good
        print(f"ok - {what}" if is_good else f"not ok - {what}: {why}", flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        if self.failed or not self.passed:
            print("kept:", self.folder)
            sys.exit(1)
        shutil.rmtree(self.folder)

    def record(self, name, *arguments):
        """A profile of two ranks on two simulated GPUs."""
        subprocess.run([FLAMEGRID, "run", "--devices", self.devices, "-o", self.path(name), "--", f"{BUILD}/tests/fake_ranks", "--ranks",
                        "2", *arguments], check=True, capture_output=True)
        return self.path(name)

    def merge(self, name, *profiles):
        subprocess.run([FLAMEGRID, "merge", "-o", self.path(name), *profiles], check=True, capture_output=True)
        return self.path(name)

    def target(self, url, name="target", mode=0o600, lines=(), kind="clickhouse"):
        with open(self.path(name), "w") as out:
            out.write("\n".join(["# where to", f"{kind} {url}", "timeout 20", *lines]) + "\n")
        os.chmod(self.path(name), mode)
        return self.path(name)

    def export(self, profile, target, **environment):
        return subprocess.run([FLAMEGRID, "export", "--to", target, profile], env=dict(os.environ, **environment), capture_output=True,
                              text=True, timeout=120)


def truth(profile):
    """The exact sums of a profile by everything that rows of the table work say, as `report -f csv` has them."""
    text = subprocess.run([FLAMEGRID, "report", profile, "-f", "csv", "--planes", "all", "--demangle", "full"], check=True,
                          capture_output=True, text=True).stdout
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for row in csv.DictReader(text.splitlines()):
        add(sums, (row["host"], row["rank"], row["gpu"], row["plane"], row["kind"], row["name"], row["stack"]),
            (int(row["count"]), int(row["ns"]), int(row["bytes"])))
    return dict(sums)


def add(sums, key, values):
    sums[key] = [a + b for a, b in zip(sums[key], values)]
    if not any(sums[key]):
        del sums[key]


def told(work, stacks):
    """The same sums of rows that were delivered."""
    frames = {row["stack"]: ";".join(row["frames"]) for row in stacks}
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for row in work:
        kind = "kernel" if row["kind"] == "nccl_wait" else row["kind"]
        number = [str(row[key]) if row[key] >= 0 else "" for key in ("rank", "gpu")]
        add(sums, (row["host"], *number, row["plane"], kind, row["name"], frames[row["stack"]] if row["stack"] else ""),
            (row["count"], row["ns"], row["bytes"]))
    return dict(sums)
