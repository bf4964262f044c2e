"""Marks ranges and steps of a program for the profiler Flamegrid, and reads its profiles.

    import flamegrid

    for batch in batches:
        flamegrid.step()
        with flamegrid.range("forward"):
            ...

    flamegrid.load("flamegrid-profile").kernels()

Without `flamegrid run` the marks do nothing, which takes a microsecond at most. The C header flamegrid.h has the same
functions; both may be used in one process."""
from ._guest import name_stream, range, start, step, step_end, stop
from ._profile import Profile, ProfileError, load

__all__ = ["Profile", "ProfileError", "load", "name_stream", "range", "start", "step", "step_end", "stop"]
