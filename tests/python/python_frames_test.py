"""Compares the guest's reading of Python frames with sys._getframe(): file, qualified name, line and
number of the frames, whole chains at a time, and the evaluation loops on the native stack.

usage: python3 python_frames_test.py LIBRARY [SCALE]

LIBRARY is libpython_probe.so, which needs libc alone; any CPython from 3.8 on may run this, without its
headers. SCALE (1) multiplies the rounds. The exit status is 0 only if nothing differed.
"""

import ctypes
import functools
import os
import platform
import random
import sys
import threading
import time

sys.dont_write_bytecode = True

import python_compare
from python_compare import WORDS, STATE_READY, Buffers, Probe, chain, check, probes, totals
from python_scenarios import SCENARIOS

# ---- addresses that are used again -----------------------------------------------------------------


def reuse(rounds):
    """Code that dies and makes room for other code of the same shape at the same address."""
    python_compare.keys = {}
    template = compile("check()", "<00000>", "exec")
    addresses = set()
    reused = 0
    qualified = sys.version_info >= (3, 11)
    source = random.Random(1)
    space = {"check": check}
    for i in range(rounds):
        file, name, line = source.randrange(100), source.randrange(100), 1 + source.randrange(3)
        if i % 10 == 0:
            text = "\n" * line + "class C%02d:\n def f(self): %s\n" % (name, "check()")
            exec(compile(text, "<g%04d>" % file, "exec"), space)
            made = space.pop("C%02d" % name)
            code = made.f.__code__
            call = made().f
        else:
            fields = {"co_name": "name%02d" % name if i % 2 else "f", "co_filename": "<g%04d>" % file,
                      "co_firstlineno": line}
            if qualified:
                fields["co_qualname"] = "C%02d.%s" % (name, fields["co_name"])
            code = template.replace(**fields)
            call = functools.partial(exec, code, space)
        address = id(code)
        if address in addresses:
            reused += 1
        addresses.add(address)
        call()
        made = code = call = None
    python_compare.keys = None
    return reused


def subinterpreters():
    """Up to 3.11 a thread's frames may be another interpreter's: that has to be said."""
    library = probes[0].library
    if library.probe_ambiguous():
        totals.complain("one interpreter is taken for several")
    if sys.version_info >= (3, 12):
        return
    import _xxsubinterpreters as interpreters

    other = interpreters.create()
    if not library.probe_ambiguous():
        totals.complain("two interpreters are taken for one")
    interpreters.destroy(other)
    if library.probe_ambiguous():
        totals.complain("an interpreter that is gone still counts")


class WalksAtTheEnd:
    """Walks when modules are torn down: nothing to compare with any more, but no crash."""

    def __init__(self):
        self.buffers = Buffers()
        self.walk = probes[0].walk

    def __del__(self):
        buffers = self.buffers
        self.walk(buffers.words_at, buffers.keys_at, buffers.flags_at, WORDS, None)


def walk_while_finalizing():
    global at_the_end
    at_the_end = WalksAtTheEnd()
    begun, write_end = os.pipe()
    for probe in probes[1:] * 2:  # with the GIL let go
        walk_forever = functools.partial(probe.library.probe_walk_forever, write_end)
        threading.Thread(target=walk_forever, daemon=True).start()
        os.read(begun, 1)


# ---- threads -----------------------------------------------------------------------------------------


def run_scenarios(rounds, by_scenario):
    for _ in range(rounds):
        for scenario in SCENARIOS:
            before = totals.sum("frames") if by_scenario is not None else 0
            scenario()
            if by_scenario is not None:
                added = totals.sum("frames") - before
                by_scenario[scenario.__name__] = by_scenario.get(scenario.__name__, 0) + added


def in_thread(rounds, errors):
    try:
        run_scenarios(rounds, None)
    except BaseException as error:  # a thread's own would be lost
        errors.append(repr(error))


def run_threads(rounds):
    errors = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=in_thread, args=(rounds, errors)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    for error in errors:
        totals.complain("a thread: " + error)


def measure(depth):
    if depth > 0:
        return measure(depth - 1)
    library = probes[0].library
    best = [min(library.probe_time(2000, what) for _ in range(5)) for what in (0, 1)]
    return best, len(chain(sys._getframe()))


def main():
    path = os.path.abspath(sys.argv[1])
    scale = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    probes.extend([Probe(ctypes.PyDLL(path)), Probe(ctypes.CDLL(path))])
    library = probes[0].library
    if library.probe_open() != 0:
        print("no ring")
        return 1
    state = library.probe_find()
    print(library.probe_text().decode(), flush=True)
    if state != STATE_READY:
        return 1
    loop_bytes = ctypes.c_uint64()
    loop_ranges = library.probe_loop_ranges(ctypes.byref(loop_bytes))
    python_compare.has_loops = loop_ranges > 0
    sys.setrecursionlimit(3000)

    started = time.perf_counter()
    run_scenarios(max(1, int(40 * scale)), totals.by_scenario)
    run_threads(max(1, int(20 * scale)))
    reused = reuse(int(200000 * scale))
    took = time.perf_counter() - started
    if library.probe_state() != STATE_READY:
        totals.complain(library.probe_text().decode())
    subinterpreters()
    print("frames compared %d in %d chains (%d cut), wrong %d; evaluation loops counted %d times in %d "
          "ranges of %d bytes, wrong %d; incomplete frames %d; code at an old address %d; %.1f s"
          % (totals.sum("frames"), totals.sum("chains"), totals.sum("cut"), totals.wrong, totals.sum("loops_checked"),
             loop_ranges, loop_bytes.value, totals.sum("loops_wrong"), totals.sum("incomplete"), reused, took))
    print("  by scenario: " + ", ".join("%s %d" % pair for pair in totals.by_scenario.items()))
    (walk, words), depth = measure(20)
    print("  one walk of %d frames: %.0f ns, %.0f ns with words" % (depth, walk, words))
    captures = [ctypes.c_uint64() for _ in range(3)]
    library.probe_captures(*(ctypes.byref(count) for count in captures))
    print("  %d stacks captured, %d of them recognised, %d unlike a walk" % tuple(count.value for count in captures))
    if captures[2].value or (platform.machine() == "x86_64" and not captures[1].value):
        totals.complain("recognised stacks")
    if not python_compare.has_loops:
        totals.complain("the evaluation loop was not found")
    silent = [name for name, frames in totals.by_scenario.items() if frames == 0]
    if silent:
        totals.complain("nothing compared in " + ", ".join(silent))
    walk_while_finalizing()
    return 1 if totals.wrong or totals.sum("chains") == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
