"""Times of a run in words, and which faults were open then."""

from __future__ import annotations

from harness.model.run import RunMeta


def since_start(at_ns: int, meta: RunMeta) -> str:
    """Seconds since the run's start, as on the timeline's axis."""
    return f"{(at_ns - meta.started_ns) / 1e9:.2f} s"


def open_between(from_ns: int, to_ns: int, meta: RunMeta) -> str:
    """The names of the faults that were open at some time from the one moment to before the other."""
    faults = [
        window.name
        for window in meta.windows
        if window.opened_ns < to_ns and (window.closed_ns is None or window.closed_ns >= from_ns)
    ]
    return ", ".join(faults) or "none"
