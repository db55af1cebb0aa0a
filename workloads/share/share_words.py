"""What a report says of share groups: what became of their deliveries."""

from __future__ import annotations

from harness.model.result import Summary
from harness.report.page.blocks import Table, grid
from harness.report.workload_words import WorkloadWords


def shares(summary: Summary) -> Table:
    """What became of the deliveries to share groups."""
    counts = ("records", "deliveries", "accepted", "released", "rejected", "failed", "unanswered")
    rows = (
        {"share group": share.group, **{name: f"{getattr(share, name):,}" for name in counts}}
        for share in summary.shares
    )
    title = "What members of share groups were given, and the answers to what they said"
    return Table(*grid(rows), title=title)


SHARE = WorkloadWords("share groups", counts=lambda summary: (shares(summary),))
