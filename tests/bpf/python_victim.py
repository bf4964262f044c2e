"""What python_sample_test.c watches: known functions, each of which does one thing. As bpf_victim.c it waits to be told to begin, and reports when
it began and ended (struct victim_report)."""
import ctypes
import functools
import multiprocessing
import os
import struct
import sys
import threading
import time


def spin(seconds):
    end = time.thread_time() + seconds
    count = 0
    while time.thread_time() < end:
        for i in range(10000):
            count += i  # spins
    return count


def nap(seconds):
    time.sleep(seconds)  # naps


def naps(seconds):
    for _ in range(20):
        nap(seconds)  # twenty times


def outer(seconds):
    return middle(seconds)


def middle(seconds):
    return spin(seconds)


def generate(seconds):
    for _ in range(3):
        yield spin(seconds)


def consume(seconds):
    return sum(generate(seconds))


def deep(levels, seconds):
    return deep(levels - 1, seconds) if levels > 1 else spin(seconds)


def key_of(item):
    spin(0.02)
    return item


def through_c(seconds):
    return sorted(range(int(seconds / 0.02)), key=key_of)


class Thing:
    def method(self, seconds):
        return list(map(self.inner, [seconds]))

    def inner(self, seconds):
        return spin(seconds)


def with_threads(seconds):
    spin(seconds / 2)  # until it is known
    threads = [threading.Thread(target=target, args=(seconds,)) for target in (thread_spin, thread_nap)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spin(seconds / 2)  # until what they ran is known


def thread_spin(seconds):
    spin(seconds)


def thread_nap(seconds):
    nap(seconds)


def worker(seconds):
    spin(seconds)


def start_worker(how, seconds):
    process = multiprocessing.get_context(how).Process(target=worker, args=(seconds,))
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(4)


def remake(seconds):
    """The same address for other code, again and again."""
    end = time.thread_time() + seconds
    number = 0
    while time.thread_time() < end:
        number += 1
        name = "made_%d" % (number % 7)
        space = {"spin": spin}
        exec(compile("\n" * (number % 7 + 1) + "def %s():\n    spin(0.005)\n%s()\n" % (name, name), "made.py", "exec"), space)


PARTS = {
    "spin": spin,
    "nap": lambda seconds: naps(seconds),
    "outer": outer,
    "deep": functools.partial(deep, 200),
    "too deep": functools.partial(deep, 300),
    "generator": consume,
    "c": through_c,
    "method": lambda seconds: Thing().method(seconds),
    "threads": with_threads,
    "fork": functools.partial(start_worker, "fork"),
    "spawn": functools.partial(start_worker, "spawn"),
    "remake": remake,
}


def main():
    what, seconds = sys.argv[1], int(sys.argv[2]) / 1e9
    if os.read(int(os.environ["VICTIM_START"]), 1) != b"x":
        sys.exit(2)
    begin = time.monotonic_ns(), time.thread_time_ns()
    PARTS[what](seconds)
    end = time.monotonic_ns(), time.thread_time_ns()
    os.write(int(os.environ["VICTIM_REPORT"]), struct.pack("IIQQQQQ", os.getpid(), 0, begin[0], end[0], begin[1], end[1], 0))
    sys.exit(7)


if __name__ == "__main__":
    main()
