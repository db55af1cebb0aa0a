"""Summaries of runs in which nothing was found."""

from __future__ import annotations

from typing import Any

from harness.model.result import Summary


def summary_with(**fields: Any) -> Summary:
    """Nothing was sent, read or found, but for what `fields` say."""
    nothing: dict[str, Any] = {
        "sent": 0,
        "outcomes": {},
        "reads": 0,
        "findings": {},
        "acked_by_step": {},
        "lost_by_step": {},
        "lost_places": {},
        "lost_held_by_leader": 0,
        "lost_unexamined": 0,
        "extra_copies": 0,
        "counts": (),
        "examples": (),
        "unavailable_seconds": 0.0,
        "check_seconds": 0.0,
    }
    return Summary(**nothing | fields)
