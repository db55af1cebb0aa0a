"""Whether the arms of a matrix did what a promise or the default expects, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.many.matrix.result import MatrixArmResult, MatrixResult

_BROKEN = re.compile(r"(\w+): promised (.+), seen [\d,]+")
"""The reason of a run that broke a promise (`BrokenPromise`)."""
_MOST = 3


def kept_in_words(result: MatrixResult) -> str:
    """As "all as promised", "1 broke its promise (lost: 0)", or "1 not as expected by default (lost: 0)"."""
    written: dict[str, None] = {}
    default: dict[str, None] = {}
    breaking = default_only = 0
    for arm in result.arms:
        if arm.as_promised is not False:
            continue
        own = _promised(result, arm)
        bounds = dict(_bounds(arm))
        by_own = {name: bound for name, bound in bounds.items() if name in own}
        breaking, default_only = breaking + bool(by_own), default_only + (not by_own)
        for name, bound in (by_own or bounds).items():
            (written if by_own else default)[f"{name}: {bound}"] = None
    parts = []
    if breaking:
        parts.append(f"{breaking} broke {'its' if breaking == 1 else 'their'} promise{_listed(written)}")
    if default_only:
        parts.append(f"{default_only} not as expected by default{_listed(default)}")
    return "; ".join(parts) or "all as promised"


def _listed(bounds: dict[str, None]) -> str:
    shown = list(bounds)[:_MOST]
    more = len(bounds) - len(shown)
    text = ", ".join(shown) + (f" and {more} more" if more else "")
    return f" ({text})" if text else ""


def _bounds(arm: MatrixArmResult) -> Iterator[tuple[str, str]]:
    """The bounds that runs of the arm broke, by class of findings."""
    for run in arm.runs:
        for reason in run.reasons if run.counts and run.as_promised is False else ():
            if match := _BROKEN.fullmatch(reason):
                yield match[1], match[2]


def _promised(result: MatrixResult, arm: MatrixArmResult) -> set[str]:
    """The classes of findings that the base or a level of the arm makes a promise about."""
    axes = result.spec.get("axes", {})
    levels = (axes.get(axis, {}).get("levels", {}).get(label, {}) for axis, label in arm.labels.items())
    return {name for part in (result.spec.get("base", {}), *levels) for name in part.get("promise", {})}
