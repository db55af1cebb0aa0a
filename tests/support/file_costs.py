"""What each file of tests cost: its seconds, and those of its set-up, such as the boot of a cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

LEAST_SECONDS = 60.0
"""Of shorter runs nothing is said."""
MOST_FILES = 25


@dataclass
class Cost:
    """Seconds of a file's tests with set-up and teardown, those of `setup`, and the longest single one of
    these, which is the boot of its cluster if it has one."""

    seconds: float = 0.0
    setup: float = 0.0
    longest: float = 0.0
    tests: int = 0


def costs(reports: Iterable[pytest.TestReport]) -> dict[str, Cost]:
    """The cost of each file."""
    files: defaultdict[str, Cost] = defaultdict(Cost)
    for report in reports:
        cost = files[report.nodeid.partition("::")[0]]
        cost.seconds += report.duration
        if report.when == "setup":
            cost.setup += report.duration
            cost.longest = max(cost.longest, report.duration)
        cost.tests += report.when == "call"
    return dict(files)


def lines(reports: Iterable[pytest.TestReport]) -> list[str]:
    """The dearest files, one line each, the sum last; none of a short run."""
    files = costs(reports)
    total = sum(cost.seconds for cost in files.values())
    if total < LEAST_SECONDS:
        return []
    dearest = sorted(files.items(), key=lambda pair: -pair[1].seconds)[:MOST_FILES]
    rows = [f"{'seconds':>8} {'set-up':>7} {'longest':>8} {'tests':>6}  file"]
    rows += [
        f"{cost.seconds:8.0f} {cost.setup:7.0f} {cost.longest:8.0f} {cost.tests:6}  {name}"
        for name, cost in dearest
    ]
    setup = sum(cost.setup for cost in files.values())
    return [*rows, f"{total:8.0f} {setup:7.0f} {'':8} {'':6}  all {len(files)} files, one after the other"]
