#!/usr/bin/env python3
"""`flamegrid export` to a server that keeps Pyroscope's contract (pyroscope_front.py). Profiles are read with pprof-format of npm.

    pyroscope_test.py MODULES NODE"""
import base64
import collections
import os
import shutil
import subprocess
import sys

from clickhouse_front import Front, ModelEngine
from fleet_fixture import BUILD, Fixture, add, truth
from fleet_test import exact as clickhouse_exact, place
from pyroscope_front import PyroscopeFront, decode, told

READER = sys.argv[1:3]


def target_of(test, front, name="target", lines=()):
    return test.target(front.url, name, lines=lines, kind="pyroscope")


def truth_of(profile):
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for (host, rank, gpu, plane, _, name, stack), values in truth(profile).items():
        add(sums, (host, rank, gpu, plane, name, stack), values)
    return dict(sums)


def decoded(test, front, what):
    return told(front.pushes, *READER, test.path("pushes " + what.replace("/", " ")))


def exact(test, what, front, profile):
    got, want = decoded(test, front, what), truth_of(profile)
    test.check(what, got == want and want, {key: (got.get(key), want.get(key)) for key in got.keys() | want.keys()
                                            if got.get(key) != want.get(key)})
    test.check(what + ": the contract is kept", not front.wrong, front.wrong)


def grows(test, one, both):
    front = PyroscopeFront()
    target, here = target_of(test, front), place(test, one)
    test.check("a profile is pushed", test.export(here, target).returncode == 0)
    exact(test, "its sums", front, one)
    pushes = len(front.pushes)
    test.check("it is exported again", test.export(here, target).returncode == 0)
    test.check("nothing is sent twice", len(front.pushes) == pushes, len(front.pushes))
    place(test, both)
    test.check("the profile has grown", test.export(here, target).returncode == 0)
    exact(test, "the sums of both", front, both)
    place(test, one)
    done = test.export(here, target)
    test.check("an older profile takes nothing back", done.returncode == 1 and "the server has more work" in done.stderr, done.stderr)
    exact(test, "the sums of both stay", front, both)
    places = {tuple(sorted(labels.items())) for labels, _, _ in front.pushes}
    profiles = decode(front.pushes, *READER, test.path("series"))
    times = {(labels["host"], labels.get("gpu"), profile["time_ns"]) for (labels, _, _), profile in zip(front.pushes, profiles)}
    test.check("two profiles of a series have two times", len(times) == len(front.pushes) > len(places), (times, places))
    test.check("a type has one name in all profiles", {profile["period"] for profile in profiles} == {"gpu_time/nanoseconds"})
    test.check("labels", all({"host", "user"} <= dict(labels).keys() for labels in places) and
               {dict(labels).get("gpu") for labels in places} >= {"0", "1"} and
               all("gpu_uuid" in dict(labels) for labels in places if "gpu" in dict(labels)), places)


def goes_to_both(test, one):
    """A profile may be in ClickHouse, too: each server has a journal of its own."""
    front, other = PyroscopeFront(), Front(ModelEngine())
    here = place(test, one, "both servers")
    done = [test.export(here, target) for target in (target_of(test, front), test.target(other.url, "clickhouse"))]
    test.check("a profile goes to both kinds of servers", [one.returncode for one in done] == [0, 0], done)
    exact(test, "beside ClickHouse", front, one)
    clickhouse_exact(test, "beside Pyroscope", other, one)


def answers_are_lost(test, one, both):
    """A push whose answer was lost comes again as it was: an id, labels and time for each."""
    for fault, repeats in (("no answer", 1), ("500", 1), ("close", 0), ("another server", 0)):
        front = PyroscopeFront()
        what = "fault " + fault
        target, here = target_of(test, front), place(test, one, what)
        front.faults = [fault]
        failed = test.export(here, target)
        test.check(what + ": it is said", failed.returncode == 1 and "not exported" in failed.stderr and "\x1b" not in failed.stderr,
                   failed.stderr)
        done = test.export(here, target)
        test.check(what + ": the next one says that it may count twice",
                   done.returncode == 0 and "may count" in done.stderr and "twice" in done.stderr, done.stderr)
        test.check(what + ": what came twice is equal", front.repeats() == repeats, front.repeats())
        known = {}
        for push in front.pushes:
            known[push[1]] = push
        front.pushes = list(known.values())
        exact(test, what + ": what has one id counted once", front, one)


def is_refused(test, one):
    front = PyroscopeFront()
    target, here = target_of(test, front), place(test, one, "refused")
    for faults, words in ((["refused"], "not in the ingestion window"), (["429"] * 2, "rate limit")):
        front.faults = list(faults)
        done = test.export(here, target_of(test, front, "target", ["timeout 1"]))
        test.check(f"{faults[0]}: the server's words", done.returncode == 1 and words in done.stderr, done.stderr)
    front.faults = ["429"]
    done = test.export(here, target)
    test.check("then it takes all", (done.returncode, "twice" in done.stderr) == (0, False), done.stderr)
    exact(test, "refused pushes count once", front, one)
    dead = place(test, one, "dead")
    test.check("nobody listens", test.export(dead, test.target("http://127.0.0.1:9", "nobody", kind="pyroscope")).returncode == 1)
    front.pushes = []
    done = test.export(dead, target)
    test.check("another server's name is no matter before the first push", (done.returncode, "twice" in done.stderr) == (0, False), done.stderr)
    exact(test, "what nobody took", front, one)
    done = test.export(dead, test.target("http://127.0.0.1:9", "elsewhere", kind="pyroscope"))
    test.check("after it, another server is refused", "this profile is exported to" in done.stderr, done.stderr)


def knows_who_pushes(test, one):
    front = PyroscopeFront()
    here = place(test, one, "secret")
    front.tenant = "a-site"
    front.authorization = "Basic " + base64.b64encode(b"flame:secret").decode()
    done = test.export(here, target_of(test, front, "password", ["user flame", "password secret"]))
    test.check("no tenant", done.returncode == 1 and "HTTP status 401" in done.stderr, done.stderr)
    done = test.export(here, target_of(test, front, "password", ["user flame", "password secret", "tenant a-site"]))
    test.check("a tenant and a password", done.returncode == 0, done.stderr)
    front.authorization = "Bearer token"
    place(test, test.merge("twice", one, test.path("other")), "secret")
    done = test.export(here, target_of(test, front, "token", ["password token", "tenant a-site"]))
    test.check("a token", done.returncode == 0, done.stderr)
    for lines, words in ((["database x"], "of ClickHouse alone"), (["clickhouse http://127.0.0.1:1"], "one server")):
        done = test.export(here, target_of(test, front, "wrong", lines))
        test.check(words, done.returncode == 1 and words in done.stderr, done.stderr)


def by_plane(sums):
    totals = collections.defaultdict(lambda: [0, 0, 0])
    for (host, rank, gpu, plane, _, _), values in sums.items():
        add(totals, (host, rank, gpu, plane), values)
    return dict(totals)


def is_pushed_by_its_aggregator(test):
    """While the job runs, names become known, and its last look has the rest."""
    front = PyroscopeFront()
    target = target_of(test, front, "live", ["interval 1"])
    endpoint, store = "ipc://" + test.path("aggregator"), test.path("live.db")
    aggregator = subprocess.Popen([f"{BUILD}/bin/flamegrid-aggregator", "--listen", endpoint, "--store", store, "--export", target],
                                  stderr=subprocess.PIPE, text=True)
    aggregator.stderr.readline()
    agent = subprocess.Popen([f"{BUILD}/bin/flamegrid-agent", "--connect", endpoint, "--socket", test.path("agent"), "--devices",
                              test.devices], stderr=subprocess.PIPE, text=True)
    agent.stderr.readline()
    for _ in range(2):
        job = subprocess.run([f"{BUILD}/tests/fake_ranks", "--ranks", "2", "--steps", "400"], capture_output=True,
                             env=dict(os.environ, FLAMEGRID_SOCKET=test.path("agent"),
                                      CUDA_INJECTION64_PATH=f"{BUILD}/lib/libflamegrid_inject.so"))
        test.check("the job", job.returncode == 0, job.stderr)
    agent.terminate()
    agent.communicate()
    aggregator.terminate()
    words = aggregator.communicate()[1]  # the sender keeps it open until its last look
    test.check("the aggregator's end", aggregator.returncode == 0 and "rows exported" in words and "not exported" not in words, words)
    got, want = by_plane(decoded(test, front, "live")), by_plane(truth_of(store))
    test.check("sums of a place and plane", got == want and want, (got, want))
    test.check("the contract is kept", not front.wrong, front.wrong)


def is_killed(test, one, both):
    """Killed at a step, and again while it repeats: at most what was on its way, one place's rows, is there twice."""
    shim = os.path.join(BUILD, "tests", "libkill_at.so")
    stride = 1 if os.environ.get("FLAMEGRID_NIGHTLY") else 29
    steps, at, repeats = 1, os.getpid() % stride + 1 - stride, 0
    want = truth_of(both)
    while at < steps:
        at += stride
        front = PyroscopeFront()
        target = target_of(test, front)
        shutil.rmtree(test.path("killed"), ignore_errors=True)
        here = place(test, one, "killed")
        count = test.path("count")
        killed = test.export(here, target, LD_PRELOAD=shim, KILL_AT=str(at), KILL_COUNT=count)
        if killed.returncode != -9:
            steps = int(open(count).read())
            test.check(f"it was killed at every step, or each {stride}th", at > 40 and at > steps, (at, steps))
        else:
            steps = at + 1
        place(test, both, "killed")
        second = test.export(here, target, LD_PRELOAD=shim, KILL_AT=str(1 + at * 7 % 90))
        done = test.export(here, target)
        repeats += front.repeats()
        said = sum("may count" in words for words in (second.stderr, done.stderr))
        front_repeats = front.repeats()
        front.pushes = list({push[1]: push for push in front.pushes}.values())
        got = decoded(test, front, f"killed {at}")
        if done.returncode or front.wrong or got != want or front_repeats > said or front_repeats > 2:
            test.check(f"killed at step {at}", False, (done.stderr, front.wrong, front_repeats, said))
        front.shutdown()
        front.server_close()
    print(f"{repeats} pushes came again")


def main():
    test = Fixture()
    one, other = test.record("one", "--steps", "20"), test.record("other", "--steps", "30", "--late-gpu", "1:2000")
    both = test.merge("both", one, other)
    grows(test, one, both)
    goes_to_both(test, one)
    answers_are_lost(test, one, both)
    is_refused(test, one)
    knows_who_pushes(test, one)
    is_pushed_by_its_aggregator(test)
    is_killed(test, one, both)
    test.finish()


if __name__ == "__main__":
    main()
