#!/usr/bin/env python3
"""`flamegrid export` against a server that keeps its contract (clickhouse_front.py): sums stay exact, whatever fails."""
import fcntl
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import threading

from clickhouse_front import Front, ModelEngine
from fleet_fixture import BUILD, FLAMEGRID, Fixture, told, truth

FAULTS = ("500", "late error", "silent error", "silent late error", "close", "no answer", "wrong answer", "long answer",
          "redirect")


def exact(test, what, front, profile):
    engine = front.engine
    got, want = told(engine.rows("work"), engine.rows("stacks")), truth(profile)
    test.check(what, got == want and want, {key: (got.get(key), want.get(key)) for key in got.keys() | want.keys()
                                            if got.get(key) != want.get(key)})
    test.check(what + ": the contract is kept", not front.wrong, front.wrong)


def place(test, profile, name="here"):
    """The profile in a folder of its own; a journal that is there stays."""
    os.makedirs(test.path(name), exist_ok=True)
    shutil.copy(os.path.join(profile, "profile.db"), test.path(name, "profile.db"))
    return test.path(name)


def grows_and_shrinks(test, one, both):
    front = Front(ModelEngine())
    target = test.target(front.url)
    here = place(test, one)
    test.check("a profile is exported", test.export(here, target).returncode == 0)
    exact(test, "its sums", front, one)
    inserts = front.inserts
    test.check("it is exported again", test.export(here, target).returncode == 0)
    test.check("nothing is sent twice", front.inserts == inserts, front.inserts)
    place(test, both)
    test.check("the profile has grown", test.export(here, target).returncode == 0)
    exact(test, "the sums of both", front, both)
    place(test, one)
    done = test.export(here, target)
    test.check("an older profile takes nothing back", done.returncode == 1 and "here/profile.db: the server has more work" in done.stderr,
               done.stderr)
    exact(test, "the sums of both stay", front, both)
    place(test, both)
    test.check("the newer one is in its place again", test.export(here, target).returncode == 0)
    exact(test, "the sums of both, again", front, both)
    return front


INCOMPLETE = "the profile is incomplete: an unknown amount is missing"


def is_damaged(test, one, other, both):
    """A profile of two parts, one of which is damaged, lost, and repaired."""
    front = Front(ModelEngine())
    target, here = test.target(front.url), place(test, one, "parts")
    part = test.path("parts", "profile.db.part-x")

    def looks(what, code, words, profile, incomplete):
        done = test.export(here, target)
        test.check(what, done.returncode == code and words in done.stderr, (done.returncode, done.stderr))
        exact(test, what, front, profile)
        losses = [row for row in front.engine.rows("losses") if row["reason"] == INCOMPLETE]
        test.check(what + ": losses", sum(row["count"] for row in losses) == incomplete and all(row["lost"] for row in losses), losses)

    with open(part, "wb") as out:
        out.write(b"no database " * 1000)
    looks("what is sound of a damaged profile", 1, "what is sound is exported: INCOMPLETE", one, 1)
    test.check("the damaged part is named", "profile.db.part-x" in test.export(here, target).stderr)
    shutil.copy(os.path.join(other, "profile.db"), part)
    looks("the part is repaired", 0, "rows exported", both, 0)
    with open(part, "wb") as out:
        out.write(b"no database " * 1000)
    looks("the part is damaged later", 1, "so its work is not exported: INCOMPLETE", both, 1)
    os.remove(part)
    looks("the part is lost", 1, "is one of its files missing", both, 1)
    shutil.copy(os.path.join(other, "profile.db"), part)
    looks("the part is there again", 0, "", both, 0)


def is_behind(test, one, both):
    """A node of a live profile has merged the lightest totals of its round, which a note of the store says: that is no damage."""
    front = Front(ModelEngine())
    target, here = test.target(front.url), test.path("behind")
    unsent = "INSERT INTO meta SELECT 'unsent ' || lower(hex(writer)), 'n1 (2.00 % of its GPU time)' FROM writers"
    key = "process, device_id, context_id, stream_id, tid, node, capture_stack, name, kind, copy_kind, matched"
    merged = (f"UPDATE totals SET stream_id = 0, tid = 0, node = 0, name = 0 WHERE ({key}) = "
              f"(SELECT {key} FROM totals WHERE kind = 0 ORDER BY ns LIMIT 1)")

    def looks(what, profile, code, words, *changes):
        place(test, profile, "behind")
        store = os.path.join(here, "profile.db")
        with sqlite3.connect(store) as database:
            for change in (unsent, "UPDATE writers SET closed = 0", *changes):
                database.execute(change)
        database.close()
        with open(store, "r+b") as writer:
            # as store_life_begin()
            fcntl.fcntl(writer, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 1 << 60, 1, 0))
            done = test.export(here, target)
        test.check(what, done.returncode == code and words in done.stderr, (done.returncode, done.stderr))
        exact(test, what, front, here)

    looks("a live profile with merged totals is exported", one, 0, "rows exported")
    looks("it has grown", both, 0, "rows exported")
    looks("more of it is merged", both, 0, "rows exported", merged)
    looks("the next round has all", both, 0, "rows exported")
    looks("damage is told", both, 1, "what is sound is exported: INCOMPLETE", "INSERT INTO meta VALUES ('damaged x', 'n2 (all of it)')")


def refuses(test, one, other, front):
    def refused(what, done, words):
        test.check(what, done.returncode == 1 and words in done.stderr, done.stderr)

    target, here = test.path("target"), test.path("here")
    place(test, other)
    refused("another profile in its place is refused", test.export(here, target), "is another profile's")
    place(test, one)
    refused("another server is refused", test.export(here, test.target("http://127.0.0.1:9", "elsewhere")), "this profile is exported to")
    os.rename(test.path("here", "profile.db.export"), test.path("kept"))
    refused("a lost journal is no reason to send all again", test.export(here, target), "the server has")
    os.rename(test.path("kept"), test.path("here", "profile.db.export"))
    refused("others may not read the file", test.export(here, test.target(front.url, "open", 0o644)), "open")
    refused("no URL", test.export(here, test.target("127.0.0.1:8123", "url")), "it must be http://HOST:PORT")
    refused("no such name", test.export(here, test.target(front.url, "name", lines=["pasword x"])), "pasword: no such name")
    front = Front(ModelEngine())
    target, fresh = test.target(front.url), place(test, one, "fresh")
    front.credentials = ("flame", "secret")
    refused("a wrong password", test.export(fresh, target), "Authentication failed")
    for answer, words in (((200, b"x" * 200000), "too long"), ((200, b"", [("X", "x" * 5000000)]), "answer is too long"),
                          ((200, b"-"), "HTTP status 200"), ((307, b""), "307"),
                          ((500, b"\x1b[2J\nno\n"), "500"), ((500, "\u202ecba\x9b2J".encode() + b"\xff\xc3"), "_cba_2J\ufffd\ufffd")):
        front.credentials, front.answer = None, answer
        done = test.export(fresh, target)
        refused(f"an answer {answer[0]} {answer[1][:6]}", done, words)
        test.check("its control characters are not shown", "\x1b" not in done.stderr)
    front.credentials, front.answer = ("flame", "secret"), None
    with_password = test.target(front.url, "password", lines=["user flame", "password secret"])
    test.check("the right password", test.export(fresh, with_password).returncode == 0)
    exact(test, "what was exported after all", front, one)


def is_counted_once(test, one, other, both):
    """A merged profile has the work of its inputs."""
    for first, second in ((one, both), (other, both), (both, one), (both, other)):
        front = Front(ModelEngine())
        names = [os.path.basename(path) for path in (first, second)]
        what, target = " before ".join(names), test.target(front.url)
        test.check(what, test.export(place(test, first, what + " 1"), target).returncode == 0)
        for _ in range(2):
            done = test.export(place(test, second, what + " 2"), target)
            test.check(f"{what}: refused", done.returncode == 1 and "or of its parts" in done.stderr, done.stderr)
        exact(test, what, front, first)
    front = Front(ModelEngine())
    target = test.target(front.url)
    for profile in (one, other):
        test.check("two profiles", test.export(place(test, profile, "joined " + os.path.basename(profile)), target).returncode == 0)
    place(test, both, "joined " + os.path.basename(one))
    done = test.export(test.path("joined " + os.path.basename(one)), target)
    test.check("a part that comes later was exported", done.returncode == 1 and "or of its parts" in done.stderr, done.stderr)


def fails_and_repeats(test, one, both, without_tokens):
    for fault in FAULTS:
        front = Front(ModelEngine(without_tokens))
        name = f"fault {fault} {without_tokens}"
        here, target = place(test, one, name), test.target(front.url)
        for round_ in range(3):
            front.faults = [None] * round_ + [fault]
            test.export(here, target)
            if round_ == 1:
                place(test, both, name)
        test.check(f"{name}: in the end it is exported", test.export(here, target).returncode == 0)
        exact(test, name, front, both)


def says_what_waits(test, one):
    """The number is that of the rows which the server gets later. Before the first contact there is none."""
    front = Front(ModelEngine())
    here, target = place(test, one, "unsent"), test.target(front.url)
    done = test.export(here, test.target("http://127.0.0.1:9", "dead"))
    test.check("no number is made up", "not exported: " in done.stderr and "wait" not in done.stderr, done.stderr)
    waits = []
    for front.faults in ([None, "500"], [None, "500"]):
        done = test.export(here, target)
        waits += re.findall(r"not exported, at least (\d+) rows wait: ", done.stderr)
    front.answer = (503, b"away\n")
    waits += re.findall(r"at least (\d+) rows wait", test.export(here, target).stderr)
    front.answer, front.faults = None, []
    test.check("what waits is exported", test.export(here, target).returncode == 0)
    rows = {table: len(front.engine.rows(table)) for table in ("work", "losses")}
    wanted = [rows["work"] + rows["losses"], rows["work"], rows["work"]]
    test.check("the log says how many rows wait", rows["work"] and waits == [str(number) for number in wanted], (waits, rows))


def hears_a_header(test, one):
    """A server that has begun its answer, status 200 included, tells a failure by a header."""
    front = Front(ModelEngine())
    here, target = place(test, one, "header"), test.target(front.url)
    front.faults = ["silent error"]
    done = test.export(here, target)
    test.check("a failure that a header tells", done.returncode == 1 and "an insert: HTTP status 200, exception 241: " in done.stderr, done.stderr)
    done = test.export(here, target)
    test.check("it is sent again", done.returncode == 0 and front.inserts > 0, done.stderr)
    exact(test, "after a header", front, one)


def has_one_sender(test, one):
    front = Front(ModelEngine())
    here, target = place(test, one, "locked"), test.target(front.url)
    front.faults = ["hang"]
    first = threading.Thread(target=test.export, args=(here, target))
    first.start()
    front.hanging.wait(60)
    done = test.export(here, target)
    test.check("two exports of one profile", done.returncode == 1 and "another process" in done.stderr, done.stderr)
    done = subprocess.run([FLAMEGRID, "export", "--follow", "--to", target, here], input="", capture_output=True, text=True, timeout=120)
    test.check("a look leaves it to the other process, without an error", (done.returncode, done.stderr) == (0, ""), done.stderr)
    front.release.set()
    first.join()
    test.check("the next one goes on", test.export(here, target).returncode == 0)
    exact(test, "once", front, one)


def has_one_first_export(test, one):
    """Two copies of a profile begin at once: neither sees the other before it claims the profile."""
    front = Front(ModelEngine())
    target = test.target(front.url)
    front.first_claims = threading.Barrier(2)
    done = {}
    threads = [threading.Thread(target=lambda name=name: done.update({name: test.export(place(test, one, name), target)}))
               for name in ("copy 1", "copy 2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    good = [name for name in done if done[name].returncode == 0]
    bad = [done[name].stderr for name in done if name not in good]
    test.check("of two first exports at once, one is done at most", len(good) < 2 and all("has begun" in words for words in bad), bad)
    last = [test.export(test.path(name), target) for name in done]
    test.check("the next ones: one is done", sorted(one.returncode for one in last) == [0, 1], [one.stderr for one in last])
    exact(test, "two first exports at once", front, one)


def is_killed_everywhere(test, one, both):
    shim = os.path.join(BUILD, "tests", "libkill_at.so")
    stride = 1 if os.environ.get("FLAMEGRID_NIGHTLY") else 17
    steps, at = 1, os.getpid() % stride + 1 - stride
    while at < steps:
        at += stride
        front = Front(ModelEngine(without_tokens=at % 2 == 0))
        target = test.target(front.url)
        here = place(test, one, "killed")
        for journal in ("", "-journal"):
            if os.path.exists(test.path("killed", "profile.db.export" + journal)):
                os.remove(test.path("killed", "profile.db.export" + journal))
        count = test.path("count")
        killed = test.export(here, target, LD_PRELOAD=shim, KILL_AT=str(at), KILL_COUNT=count)
        if killed.returncode != -9:
            steps = int(open(count).read())
            test.check(f"it was killed at every step, or each {stride}th", at > 40 and at > steps, (at, steps))
        else:
            steps = at + 1
        place(test, both, "killed")  # the profile goes on meanwhile
        test.export(here, target, LD_PRELOAD=shim, KILL_AT=str(1 + at * 7 % 90))
        done = test.export(here, target)
        engine = front.engine
        if done.returncode or told(engine.rows("work"), engine.rows("stacks")) != truth_of_both(both) or front.wrong:
            test.check(f"killed at step {at}", False, (done.stderr, front.wrong))
        front.shutdown()
        front.server_close()


BOTH = {}


def truth_of_both(both):
    if not BOTH:
        BOTH.update(truth(both))
    return BOTH


def tells_of_its_end(test):
    """An aggregator's exports that end are missed."""
    target = test.target("http://127.0.0.1:9", "killed_target", lines=["interval 1000"])
    aggregator = subprocess.Popen([f"{BUILD}/bin/flamegrid-aggregator", "--listen", "ipc://" + test.path("killed_aggregator"), "--store",
                                   test.path("unsent.db"), "--export", target], stderr=subprocess.PIPE, text=True)
    aggregator.stderr.readline()
    children = ""
    while not children and aggregator.poll() is None:
        with open(f"/proc/{aggregator.pid}/task/{aggregator.pid}/children", encoding="ascii") as file:
            children = file.read()
    os.kill(int(children), signal.SIGKILL)
    said = aggregator.stderr.readline()
    test.check("the log tells of the end of exports", "exports were ended by signal 9; they start again" in said, said)
    aggregator.terminate()
    test.check("the aggregator goes on without them", aggregator.communicate()[1] == "" and aggregator.returncode == 0)


def looks_on_alone(test, one):
    """Without a pipe there is no last look: a signal is the end."""
    front = Front(ModelEngine())
    here, target = place(test, one, "alone"), test.target(front.url, lines=["interval 1"])
    follows = subprocess.Popen([FLAMEGRID, "export", "--follow", "--to", target, here], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    said = follows.stderr.readline()
    follows.terminate()
    test.check("it looks without a pipe", "rows exported" in said, said)
    follows.communicate(timeout=60)
    test.check("SIGTERM ends it", follows.returncode == -signal.SIGTERM, follows.returncode)
    exact(test, "what it exported", front, one)


def is_exported_by_its_aggregator(test):
    """The server is away until the job has ended, which nobody notices but the log."""
    front = Front(ModelEngine())
    front.answer = (503, b"away\n")
    target = test.target(front.url, "live", lines=["interval 1"])
    endpoint, store = "ipc://" + test.path("aggregator"), test.path("live.db")
    aggregator = subprocess.Popen([f"{BUILD}/bin/flamegrid-aggregator", "--listen", endpoint, "--store", store, "--export", target],
                                  stderr=subprocess.PIPE, text=True)
    first = aggregator.stderr.readline()
    agent = subprocess.Popen([f"{BUILD}/bin/flamegrid-agent", "--connect", endpoint, "--socket", test.path("agent"), "--devices",
                              test.devices], stderr=subprocess.PIPE, text=True)
    test.check("the aggregator listens", "listening" in first, first)
    agent.stderr.readline()
    job = subprocess.run([f"{BUILD}/tests/fake_ranks", "--ranks", "2", "--steps", "40"],
                         env=dict(os.environ, FLAMEGRID_SOCKET=test.path("agent"),
                                  CUDA_INJECTION64_PATH=f"{BUILD}/lib/libflamegrid_inject.so"), capture_output=True)
    test.check("the job", job.returncode == 0, job.stderr)
    agent.terminate()
    agent.communicate()
    with open(f"/proc/{aggregator.pid}/task/{aggregator.pid}/children", encoding="ascii") as children:
        exporter = int(children.read())
    os.kill(exporter, signal.SIGTERM)
    aggregator.terminate()
    words = aggregator.communicate()[1]  # the sender keeps it open until its last look
    test.check("the aggregator's end", aggregator.returncode == 0, words)
    test.check("the log says what waits", "not exported" in words and "away" in words, words)
    front.answer = None
    test.check("the rest is exported by hand", test.export(store, target).returncode == 0)
    exact(test, "the aggregator's profile", front, store)


def main():
    test = Fixture()
    one, other = test.record("one", "--steps", "20"), test.record("other", "--steps", "30", "--late-gpu", "1:2000")
    both = test.merge("both", one, other)
    front = grows_and_shrinks(test, one, both)
    refuses(test, one, other, front)
    is_damaged(test, one, other, both)
    is_behind(test, one, both)
    is_counted_once(test, one, other, both)
    for without_tokens in (False, True):
        fails_and_repeats(test, one, both, without_tokens)
    says_what_waits(test, one)
    hears_a_header(test, one)
    has_one_sender(test, one)
    has_one_first_export(test, one)
    is_killed_everywhere(test, one, both)
    looks_on_alone(test, one)
    tells_of_its_end(test)
    is_exported_by_its_aggregator(test)
    with sqlite3.connect(test.path("here", "profile.db.export")) as journal:
        test.check("no batch is left", journal.execute("SELECT count(*) FROM batch").fetchone()[0] == 0)
    test.finish()


if __name__ == "__main__":
    main()
