"""What the members of share groups were given, in numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checkers.facts.columns import NULL, ColumnBatch
from checkers.facts.share_rows import ACCEPT, REJECT, RELEASE, read_deliveries
from checkers.journals.load import RunJournals
from harness.model.result import ShareCount
from harness.model.run import ShareInfo


def share_counts(journals: RunJournals, topics: Mapping[str, int]) -> tuple[ShareCount, ...]:
    """The counts of each share group of the run; `topics` are numbers by name."""
    paths = [file.path for file in journals.files.deliveries]
    return tuple(_count(info, read_deliveries(paths, info, topics)) for info in journals.meta.share)


def _count(info: ShareInfo, rows: ColumnBatch) -> ShareCount:
    answered = rows["answered_ns"] != NULL
    done = answered & (rows["failed"] == 0)
    new = np.ones(len(rows), bool)
    new[1:] = (rows["spot"][1:] != rows["spot"][:-1]) | (rows["offset"][1:] != rows["offset"][:-1])
    accepted, released, rejected = (
        int((done & (rows["word"] == word)).sum()) for word in (ACCEPT, RELEASE, REJECT)
    )
    return ShareCount(
        group=info.name,
        records=int(new.sum()),
        deliveries=len(rows),
        accepted=accepted,
        released=released,
        rejected=rejected,
        failed=int((answered & (rows["failed"] != 0)).sum()),
        unanswered=int((~answered & (rows["word"] != NULL)).sum()),
    )
