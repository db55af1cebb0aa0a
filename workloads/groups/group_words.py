"""What a report says of consumer groups: how long their partitions had no owner."""

from __future__ import annotations

from harness.model.result import Summary
from harness.report.page.blocks import Table, grid
from harness.report.workload_words import WorkloadWords


def ownerless(summary: Summary) -> Table:
    """How long partitions had no owner."""
    rows = (
        {
            "group": gap.group,
            "partition": str(gap.partition),
            "seconds without an owner": f"{gap.seconds:.1f}",
            "longest": f"{gap.longest:.1f}",
        }
        for gap in summary.ownerless
    )
    title = "Partitions that no member of their group owned for a second or more, between two owners"
    return Table(*grid(rows), title=title)


GROUPS = WorkloadWords("groups", counts=lambda summary: (ownerless(summary),))
