"""Compares the calling thread's Python frames as the guest reads them, through libpython_probe.so, with
those that sys._getframe() gives. Any thread; the counts are the threads' own, `totals` adds them up."""

import ctypes
import re
import sys
import threading

WORDS = 400
PYTHON = 1 << 63
MARK = 1 << 62
FLAG_END = 1
FLAG_INCOMPLETE = 2
TEXT_MAX = 4096
STATE_READY = 1


class Probe:
    """One way to call the library: with the GIL held throughout, or let go."""

    def __init__(self, library):
        self.walk = library.probe_walk
        self.walk.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int, ctypes.c_void_p]
        self.library = library
        library.probe_text.restype = ctypes.c_char_p
        library.probe_time.restype = ctypes.c_double


class Totals:
    """What all threads have counted, each in its own Buffers."""

    def __init__(self):
        self.lock = threading.Lock()
        self.all = []
        self.wrong = 0
        self.by_scenario = {}

    def complain(self, text):
        with self.lock:
            self.wrong += 1
            if self.wrong <= 20:
                print("WRONG: " + text, flush=True)

    def sum(self, what):
        return sum(getattr(buffers, what) for buffers in self.all)


totals = Totals()
local = threading.local()
probes = []
keys = None  # what each key stood for, while that is looked at
has_loops = False  # the evaluation loop's place is known
names = {}
name_buffers = (ctypes.create_string_buffer(TEXT_MAX + 1), ctypes.create_string_buffer(TEXT_MAX + 1))
name_lock = threading.RLock()


class Buffers:
    def __init__(self):
        self.words = (ctypes.c_uint64 * WORDS)()
        self.keys = (ctypes.c_uint64 * WORDS)()
        self.flags = (ctypes.c_uint8 * WORDS)()
        self.loops = ctypes.c_int()
        self.words_at = ctypes.addressof(self.words)
        self.keys_at = ctypes.addressof(self.keys)
        self.flags_at = ctypes.addressof(self.flags)
        self.loops_at = ctypes.addressof(self.loops)
        self.calls = 0
        self.busy = False
        self.counted = False
        self.chains = self.frames = self.loops_checked = self.loops_wrong = 0
        self.incomplete = self.cut = 0
        with totals.lock:
            totals.all.append(self)


def shown(text):
    """As the guest gives a name: UTF-8, without lone surrogates, the end of it."""
    data = re.sub("[\ud800-\udfff]", "\ufffd", text).encode()
    while len(data) > TEXT_MAX:
        cut = data[len(data) - TEXT_MAX:]
        while cut and cut[0] & 0xC0 == 0x80:
            cut = cut[1:]
        data = cut
    return data


shown_cache = {}


def shown_cached(text):
    data = shown_cache.get(text)
    if data is None:
        if len(shown_cache) > 100000:
            shown_cache.clear()
        data = shown_cache[text] = shown(text)
    return data


def qualified_name(code):
    return code.co_name


if sys.version_info >= (3, 11):

    def qualified_name(code):
        return code.co_qualname


def chain(frame):
    frames = []
    while frame is not None:
        frames.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return frames


def name_of(code_id):
    known = names.get(code_id)
    if known is None:
        with name_lock:
            file, name = name_buffers
            if probes[0].library.probe_code(code_id, file, name) != 0:
                return None
            known = names[code_id] = (file.value, name.value)
    return known


def verify(buffers, count, expected):
    cut = count < 0
    if cut:
        count = -1 - count
        buffers.cut += 1
    ends = 0
    words = []
    for i in range(count):
        if buffers.flags[i] & FLAG_END:
            ends += 1
        if buffers.flags[i] & FLAG_INCOMPLETE:
            buffers.incomplete += 1
            continue
        words.append(buffers.words[i])
        if keys is not None and i < len(expected):
            code, line = expected[i]
            said = (code.co_filename, qualified_name(code), line)
            if keys.setdefault(buffers.keys[i], said) != said:
                totals.complain("one key for %r and %r" % (keys[buffers.keys[i]], said))
    if len(words) != len(expected) and not (cut and len(words) <= len(expected)):
        totals.complain("%d frames, expected %d: %r" % (len(words), len(expected), expected[:6]))
        return
    for word, (code, line) in zip(words, expected):
        if word & MARK or not word & PYTHON:
            totals.complain("word %x" % word)
            continue
        got = name_of(word >> 24 & 0xFFFFFFFF)
        want = (shown_cached(code.co_filename), shown_cached(qualified_name(code)))
        if got != want or word & 0xFFFFFF != min(line or 0, 0xFFFFFF):
            totals.complain("%r:%d, expected %r:%r" % (got, word & 0xFFFFFF, want, line))
    buffers.chains += 1
    buffers.frames += len(words)
    if buffers.loops.value >= 0 and buffers.counted and not cut:
        buffers.loops_checked += 1
        if buffers.loops.value != ends:
            buffers.loops_wrong += 1
            totals.complain("%d evaluation loops, %d segments: %r"
                            % (buffers.loops.value, ends, expected[:8]))


def check(*_, **__):
    """Walks and compares. Of use as any kind of callback: takes anything."""
    try:
        buffers = local.buffers
    except AttributeError:
        buffers = local.buffers = Buffers()
    if buffers.busy:  # a callback within the comparison itself
        return 0
    buffers.busy = True
    try:
        buffers.calls += 1
        walk = probes[buffers.calls & 1].walk
        buffers.counted = has_loops and buffers.calls % 8 == 0
        loops = buffers.loops_at if buffers.counted else None
        at = (buffers.words_at, buffers.keys_at, buffers.flags_at, WORDS, loops)
        count, expected = walk(*at), chain(sys._getframe())
        verify(buffers, count, expected)
    finally:
        buffers.busy = False
    return 0
