"""Suggests the closest known name, for error messages about an unknown name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name most similar to `name`; None if the similarity of all (0 to 1) is below `cutoff`."""
    return next(iter(difflib.get_close_matches(name, tuple(known), n=1, cutoff=cutoff)), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A question that offers the known name closest to `name`; `otherwise` if none is close."""
    close = closest(name, known)
    return f"did you mean {close!r}?" if close else otherwise
