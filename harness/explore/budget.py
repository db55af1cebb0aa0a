"""How long an exploration may take: in seconds or in runs, with a share for shrinking."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.explore.shrinking import Confirm
from harness.model.errors import BadInput

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
DEFAULT_SECONDS = 1200.0
SHRINK_SHARE = 0.6
_ONE_VIOLATION = 0.75
"""The largest share of the rest for shrinking that one violation may use, so that some is left for the
next."""


@dataclass(frozen=True, slots=True)
class ExploreSpent:
    """What has been used: in total, and for shrinking."""

    seconds: float = 0.0
    runs: int = 0
    shrinking: float = 0.0
    """In seconds if the budget is in seconds, else in runs."""


@dataclass(frozen=True, slots=True)
class ExploreBudget:
    """`seconds` or `runs` (one is None), and at most `share` of it for shrinking."""

    seconds: float | None = None
    runs: int | None = None
    share: float = SHRINK_SHARE

    @property
    def whole(self) -> float:
        return float(self.seconds if self.seconds is not None else self.runs or 0)

    def allows(self, spent: ExploreSpent, expected: float) -> bool:
        """Whether a run of `expected` seconds may begin: it would end within the budget."""
        if self.runs is not None:
            return spent.runs < self.runs
        return spent.seconds + expected <= self.whole

    def for_one(self, spent: ExploreSpent) -> float:
        """What the next violation may use for shrinking, in seconds or in runs."""
        return max(0.0, self.whole * self.share - spent.shrinking) * _ONE_VIOLATION

    def left(self, spent: ExploreSpent) -> float | None:
        """Seconds that are left; None: the budget is in runs."""
        return None if self.seconds is None else max(0.0, self.seconds - spent.seconds)


def parse_seconds(text: str) -> float:
    """Read `20m`, `90s`, `1h`, `1.5h`.

    Raises:
        BadInput: it is none of these.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text.strip(), re.ASCII)
    if match is None or float(match[1]) == 0:
        raise BadInput(
            "the budget cannot be read",
            where="--budget",
            expected="a time like 20m, 90s or 1h",
            found=repr(text),
            next_step="`--runs N` counts runs instead",
        )
    return float(match[1]) * _UNITS[match[2]]


def parse_confirm(text: str) -> Confirm:
    """Read `2/3`: two of three runs must fail.

    Raises:
        BadInput: it is not K/N with 1 <= K <= N <= 20.
    """
    match = re.fullmatch(r"(\d{1,2})/(\d{1,2})", text.strip(), re.ASCII)
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= 20:
        raise BadInput(
            "how often a schedule must fail cannot be read",
            where="--confirm",
            expected="K/N, such as 2/3: K of N runs fail, 1 <= K <= N <= 20",
            found=repr(text),
            next_step="correct --confirm, or leave it out",
        )
    return Confirm(int(match[1]), int(match[2]))
