"""The functions of flamegrid.h, whose contracts hold here: any thread may call, and nothing is returned.

Arguments are checked without a guest, too, so that a program fails with a profiler only where it fails without."""
from __future__ import annotations

import functools
import os
from typing import Any, Callable, TypeVar

_FILE = "libflamegrid_inject.so"
_AT_SECURE = 23
_GENERATOR_OR_COROUTINE = 0x20 | 0x80 | 0x200  # of a code object's co_flags

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _NoGuest:
    """What is called where there is no guest."""

    @staticmethod
    def nothing(*arguments: object) -> None:
        pass

    range_push = range_pop = step = step_end = start = stop = name_stream = nothing


_found: Any = None  # None: nobody has looked yet


def _open_guest() -> Any:
    """The guest as a library; None: there is none."""
    import ctypes

    process = ctypes.CDLL(None)
    if not hasattr(process, "getauxval") or process.getauxval(_AT_SECURE):
        return None
    try:
        return ctypes.CDLL(_FILE, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        path = os.environ.get("CUDA_INJECTION64_PATH", "")
    if os.path.basename(path) != _FILE:
        return None
    try:
        return ctypes.CDLL(path)
    except OSError:
        return None


def _look_up() -> Any:
    """The guest's functions by name, or _NoGuest. The first call decides, as in C."""
    import ctypes

    function = ctypes.CFUNCTYPE(None)

    class Api(ctypes.Structure):  # struct flamegrid_api
        _fields_ = [("size", ctypes.c_size_t), ("range_push", ctypes.CFUNCTYPE(None, ctypes.c_char_p)), ("range_pop", function),
                    ("step", function), ("step_end", function), ("start", function), ("stop", function),
                    ("name_stream", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p))]

    get = getattr(_open_guest(), "flamegrid_api_1", None)
    if get is None:
        return _NoGuest
    get.restype = ctypes.POINTER(Api)
    api = get().contents
    if api.size < ctypes.sizeof(Api):
        return _NoGuest
    found = type("_Guest", (), {"__slots__": ()})
    for name, _ in Api._fields_[1:]:
        setattr(found, name, staticmethod(getattr(api, name)))
    return found


def _guest() -> Any:
    global _found
    if _found is None:
        _found = _look_up()
    return _found


def _text(name: str) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"a name must be a str, not {type(name).__name__}")
    return name.encode("utf-8", "replace")


def _code_of(function: Any) -> Any:
    """The code that a call runs in the end, or None: of what is wrapped, partial, static or of a class."""
    while True:
        inner = (
            getattr(function, "__wrapped__", None)
            or (function.func if isinstance(function, functools.partial) else None)
            or (function.__func__ if isinstance(function, (staticmethod, classmethod)) else None)
        )
        if inner is None:
            break
        function = inner
    return getattr(function, "__code__", None) or getattr(getattr(type(function), "__call__", None), "__code__", None)


class range:
    """A range of this name in the calling thread, as NVTX's: a context manager, or a decorator of a function.

    GPU work that is launched in it stands under it (flamegrid run --record nvtx). A generator or a coroutine may go on in
    another context, or interleave with others, so such functions cannot be decorated: TypeError."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = _text(name)

    def __enter__(self) -> range:
        _guest().range_push(self._name)
        return self

    def __exit__(self, *error: object) -> None:
        _guest().range_pop()

    def __call__(self, function: _Function) -> _Function:
        code = _code_of(function)
        if not callable(function):
            raise TypeError(f"flamegrid.range cannot decorate {function!r}, which is no function")
        if code is not None and code.co_flags & _GENERATOR_OR_COROUTINE:
            raise TypeError(f"flamegrid.range cannot decorate the generator or coroutine {function!r}")

        @functools.wraps(function)
        def in_range(*arguments: Any, **options: Any) -> Any:
            with self:
                return function(*arguments, **options)

        return in_range  # type: ignore[return-value]


class _Step:
    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        _guest().step_end()


_STEP = _Step()


def step() -> _Step:
    """Begins a step, and ends the thread's step before. `with flamegrid.step():` also ends it, after its block.

    flamegrid run --step-range step --every-steps N captures one step of N. flamegrid diff and flamegrid check count the
    steps, and compare times of one step."""
    _guest().step()
    return _STEP


def step_end() -> None:
    """Ends the thread's step, for work after it that belongs to no step."""
    _guest().step_end()


def start() -> None:
    """Begins to capture, as torch.cuda.profiler.start() does, in a run with --capture-range profiler."""
    _guest().start()


def stop() -> None:
    """Ends what start() began."""
    _guest().stop()


def name_stream(stream: int, name: str) -> None:
    """Names a stream in reports (flamegrid run --record nvtx). stream: its handle, torch.cuda.Stream.cuda_stream."""
    if not isinstance(stream, int):
        raise TypeError(f"a stream must be its handle, an int, not {type(stream).__name__}")
    _guest().name_stream(stream, _text(name))
