"""The line that says how far the producers of a run are."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from workloads.records.producer.reports import Progress


class ReportRate:
    """Success reports per second, over about the last second."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def of(self, done: int, now: float) -> float:
        """Add the count `done` at the time `now` (seconds); returns the rate since about a second before."""
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[1][0] >= 1.0:
            self._seen.popleft()
        then, before = self._seen[0]
        return (done - before) / (now - then) if now > then else 0.0


def progress_line(arms: Sequence[Progress], rate: ReportRate) -> str:
    """Counts and rate of the workloads of all arms in one line."""
    sent = sum(arm.sent for arm in arms)
    done = sum(arm.acked + arm.unconfirmed for arm in arms)
    parts = [
        f"{rate.of(done, time.monotonic()):,.0f}/s",
        f"sent {sent:,}",
        f"acked {done:,}",
        f"open {sum(arm.open for arm in arms):,}",
    ]
    failed = sum(arm.rejected + arm.indeterminate for arm in arms)
    if failed:
        last = next(arm.last_error for arm in reversed(arms) if arm.rejected + arm.indeterminate)
        parts.append(f"errors {failed:,} (last {last})")
    return " · ".join(parts)
