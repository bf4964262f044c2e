"""Code that calls check() from as many kinds of frames as CPython has. Any thread runs any of SCENARIOS."""

import asyncio
import ctypes
import functools
import gc
import itertools
import operator
import os
import random
import re
import signal
import sys
import threading
import time
import weakref

from python_compare import check

libc = ctypes.CDLL(None)


def nested(depth):
    if depth == 0:
        return check()
    return nested(depth - 1)


def recursion():
    for depth in (1, 7, 40):
        nested(depth)


def deep_recursion():
    nested(600)


def numbers(n):
    for i in range(n):
        check()
        yield i


def delegating(n):
    yield from numbers(n)
    result = yield from (i for i in numbers(n))
    return result


def generators():
    assert sum(numbers(4)) == 6
    list(delegating(3))
    for a, b in zip(numbers(2), delegating(2)):
        check(a, b)
    stopped = numbers(5)
    next(stopped)
    try:
        stopped.throw(KeyError("thrown"))
    except KeyError:
        check()
    sender = echo()
    next(sender)
    sender.send(1)
    sender.close()


def echo():
    try:
        while True:
            got = yield
            check(got)
    finally:
        check()


async def leaf(n):
    check()
    await asyncio.sleep(0)
    check()
    return n


async def branch(n):
    if n == 0:
        return await leaf(n)
    async with Context():
        async for i in ticks(2):
            check(i)
        return await branch(n - 1)


async def ticks(n):
    for i in range(n):
        check()
        yield i
        await asyncio.sleep(0)


class Context:
    async def __aenter__(self):
        check()

    async def __aexit__(self, *_):
        check()

    def __enter__(self):
        check()

    def __exit__(self, *_):
        check()
        return True


async def gathered():
    await asyncio.gather(branch(2), branch(3), leaf(1))
    check()
    return [i async for i in ticks(2)]


def coroutines():
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(gathered())
    finally:
        loop.close()


class Odd:
    def __init__(self, value):
        self.value = value
        check()

    def __lt__(self, other):
        check()
        return self.value < other.value

    def __eq__(self, other):
        check()
        return self.value == other.value

    def __hash__(self):
        check()
        return hash(self.value)

    def __getattr__(self, name):
        check()
        raise AttributeError(name)

    def __del__(self):
        check()

    def __call__(self, *_):
        return check()

    def __iter__(self):
        check()
        return iter([1, 2])

    @property
    def prop(self):
        return check()

    @classmethod
    def made(cls):
        check()
        return cls(0)

    @staticmethod
    def static():
        return check()


def c_reentry():
    items = [Odd(3), Odd(1), Odd(2)]
    sorted(items)
    items.sort(key=lambda item: check() or item.value)
    list(map(check, [1, 2]))
    list(filter(lambda _: not check(), [1]))
    functools.reduce(lambda a, b: check(a, b), [1, 2, 3])
    functools.partial(check, 1)()
    max([1, 2], key=check)
    operator.methodcaller("static")(items[0])
    {items[0]: 1, items[1]: 2}[items[0]]
    hasattr(items[0], "absent")
    items[0].prop
    Odd.made()()
    list(items[0])
    re.sub("a", lambda match: check() or "b", "aa")
    cached(time.perf_counter())
    del items


@functools.lru_cache(maxsize=2)
def cached(_):
    return check()


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def by_value(a, b):
    check()
    a, b = (ctypes.cast(p, ctypes.POINTER(ctypes.c_int))[0] for p in (a, b))
    return a - b


def ctypes_callbacks():
    values = (ctypes.c_int * 4)(4, 2, 3, 1)
    libc.qsort(values, 4, ctypes.sizeof(ctypes.c_int), COMPARE(by_value))
    assert list(values) == [1, 2, 3, 4]


def exceptions():
    try:
        try:
            check()
            raise ValueError
        except ValueError as error:
            check(error)
            raise KeyError from error
        finally:
            check()
    except KeyError:
        check()
    else:
        check()
    with Context():
        check()
        raise OSError


def comprehensions():
    [check() for _ in range(2)]
    {check() for _ in range(2)}
    {i: check() for i in range(2)}
    list(check() for _ in range(2))
    [[check() for _ in range(2)] for _ in range(2)]
    [
        check()
        for _ in range(2)
        if not check()
    ]

    class Body:
        check()
        inner = [check() for _ in range(1)]

        def method(self):
            def closure():
                nonlocal_value = self
                return lambda: check(nonlocal_value)

            return closure()()

    Body().method()


def lines():
    check(); check()
    value = [
        check(),
        1,
        check(
            2,
            check(),
        ),
    ]
    if (
        value and
        check() == 0
    ):
        return (
            check()
            + check()
        )
    return None


def collected(phase, info):
    check(phase, info)


class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        check()


def garbage():
    gc.callbacks.append(collected)
    try:
        Cycle()
        gc.collect()
        referent = Cycle()
        watcher = weakref.ref(referent, check)
        del referent
        gc.collect()
        del watcher
    finally:
        gc.callbacks.remove(collected)


def makes_cells(a, b, c):
    def inner():
        return a, b, c, lambda: (a, b)

    return inner


def early_garbage():
    """The collector runs wherever something is allocated, also before a function's first line."""
    gc.callbacks.append(collected)
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for i in range(3):
            makes_cells(i, i, i)()[3]()
            list(map(makes_cells, [i, i, i], [i, i, i], [i, i, i]))
            list(map(numbers_quiet, [2, 2, 2]))
            list(numbers_quiet(2))
            [j for j in range(2)]
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(collected)


def numbers_quiet(n):
    captured = []

    def keep(i):
        captured.append(i)

    for i in range(n):
        keep(i)
        yield i


def traced():
    def tracer(frame, event, arg):
        check()
        return tracer

    sys.settrace(tracer)
    try:
        lines_quiet()
    finally:
        sys.settrace(None)
    sys.setprofile(check)
    try:
        lines_quiet()
    finally:
        sys.setprofile(None)


def lines_quiet():
    total = 0
    for i in range(3):
        total += i

    return (
        total
    )


def handled(number, frame):
    check(number, frame)


def signals():
    if threading.current_thread() is not threading.main_thread():
        return
    previous = signal.signal(signal.SIGUSR1, handled)
    os.kill(os.getpid(), signal.SIGUSR1)
    for i in range(10):
        check(i)
    signal.signal(signal.SIGUSR1, previous)


ODD_NAMES = [
    "plain", "caf\xe9", "\u03bb\u03b1\u03bc\u03b2\u03b4\u03b1", "\u6f22\u5b57", "\U0001d4eb\U0001d4f8ld",
    "x" * 5000, "\xe9" * 3000, "\u6f22" * 2000, "\U0001d4eb" * 1500 + "\xe9", "\udc80low", "", "a",
]


def odd_names():
    for name in ODD_NAMES:
        code = compile("check()", "<" + name + ">", "exec")
        if "\udc80" not in name:
            code = code.replace(co_name=name)
            if sys.version_info >= (3, 11):
                code = code.replace(co_qualname="q." + name)
        exec(code, {"check": check})


def random_program(random_source):
    """Functions whose lines jump about: blank lines, long steps, loops, calls over several lines."""
    out = ["def f0(n):", "    return check()"]
    for number in range(1, 6):
        out += ["\n" * random_source.choice([0, 1, 3, 130, 300]), "def f%d(n):" % number, "    total = 0"]
        for _ in range(random_source.randint(2, 12)):
            out += [""] * random_source.choice([0, 0, 1, 2, 140])
            callee = "f%d" % random_source.randrange(number)
            out += random_source.choice([
                ["    total += %s(n)" % callee],
                ["    for i in range(2):", "        total += i", "        %s(i)" % callee],
                ["    try:", "        %s(n)" % callee, "        raise KeyError", "    except KeyError:",
                 "        check()", "    finally:", "        check()"],
                ["    total = [", "        check(),", "", "        n,", "        check(n)", "    ][0]"],
                ["    while n > 0:", "        n -= 1", "        if n % 2:", "            check()",
                 "            continue", "        check()"],
                ["    total = (lambda: check(", "        n))()"],
                ["    total = " + " + ".join(["n"] * 200) + " + check()"],
                ["    with context:", "        check()"],
                ["    list(%s(i)" % callee, "      for i", "      in range(2))"],
            ])
        out.append("    return 0")
    out.append("f5(3)")
    return "\n".join(out)


class Quiet:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


seeds = itertools.count(1)


def random_programs():
    for number in range(2):
        code = compile(random_program(random.Random(next(seeds))), "<random %d>" % number, "exec")
        exec(code, {"check": check, "context": Quiet()})


SCENARIOS = [
    recursion, deep_recursion, generators, coroutines, c_reentry, ctypes_callbacks, exceptions,
    comprehensions, lines, garbage, early_garbage, traced, signals, odd_names, random_programs,
]
