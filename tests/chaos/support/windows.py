"""What a run says of the faults of an arm."""

from __future__ import annotations

from harness.model.run import RunMeta


def not_proved(meta: RunMeta) -> list[tuple[str, str]]:
    """The faults that were not shown to take effect, each with what was seen instead."""
    return [(window.name, window.evidence) for window in meta.windows if not window.verified]
