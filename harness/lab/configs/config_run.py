"""What one file lost in one run under one fault and how long its sends waited, and all runs of a cell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers import Share, share_of
from harness.lab.configs.config_matrix import FAULT, FILE
from harness.many.matrix.result import MatrixArmResult, MatrixResult, RunRow
from harness.model.errors import JournalError
from harness.model.finding_class import FindingClass
from harness.model.frozen import Frozen
from harness.model.journal import SENDS_DIR, SendOutcome
from harness.model.journal_reader import journal_batches

_TAKEN = (SendOutcome.ACKED.value, SendOutcome.UNCONFIRMED.value)
_COLUMNS = ("outcome", "sent_ns", "closed_ns")


class ConfigRun(Frozen):
    """One run of one file under one fault. `folder` is relative to that of the comparison.

    `lost` counts acknowledged records that are gone, `absent` those of the `unconfirmed` ones (acks=0) that
    are not there. `failed` counts sends that ended with an error or without a report. `waited` is the longest
    time without a report of success, in seconds; `p50_ms` and `p99_ms` are latencies of the sends that were
    reported as a success, in milliseconds (None: not known).
    """

    folder: str
    sent: int
    unconfirmed: int
    lost: int
    absent: int
    duplicates: int
    reordered: int
    failed: int
    waited: float | None
    p50_ms: float | None
    p99_ms: float | None


class ConfigCell(Frozen):
    """All runs of one file under one fault whose verdict is known. `left_out` says why others do not count,
    `reason` why there is none."""

    file: str
    fault: str
    runs: tuple[ConfigRun, ...]
    left_out: tuple[str, ...] = ()
    reason: str | None = None

    def share_with(self, *counts: str) -> Share:
        """The share of runs with any of what is counted, with its interval at 95 %."""
        return share_of(sum(any(getattr(run, what) for what in counts) for run in self.runs), len(self.runs))

    def values(self, what: str) -> list[float | None]:
        """What was measured in each run."""
        return [getattr(run, what) for run in self.runs]


class Latencies(NamedTuple):
    """Milliseconds from a send to its report of success, which half and 99 % of the sends do not exceed."""

    p50: float | None = None
    p99: float | None = None


def cells_of_files(result: MatrixResult, folder: Path) -> tuple[ConfigCell, ...]:
    """The cells of a comparison, fault by fault; journals of its runs are read below `folder`."""
    faults = list(dict.fromkeys(arm.labels[FAULT] for arm in result.arms))
    in_turn = sorted(result.arms, key=lambda arm: faults.index(arm.labels[FAULT]))
    return tuple(_cell(arm, folder) for arm in in_turn)


def latencies_of_run(folder: Path) -> Latencies:
    """The latencies of the run in a folder; of a run without its journal they are not known."""
    try:
        taken = np.concatenate([*_taken(folder), np.empty(0)])
    except JournalError:
        return Latencies()
    if not taken.size:
        return Latencies()
    p50, p99 = np.quantile(taken, (0.5, 0.99), method="inverted_cdf")
    return Latencies(round(float(p50), 1), round(float(p99), 1))


def _taken(folder: Path) -> Iterator[NDArray[np.float64]]:
    """Milliseconds from each send to its report of success, batch by batch."""
    for table in journal_batches(folder / SENDS_DIR, _COLUMNS):
        rows = table.filter(pc.is_in(table["outcome"], value_set=pa.array(_TAKEN))).drop_null()
        yield (rows["closed_ns"].to_numpy() - rows["sent_ns"].to_numpy()) / 1e6


def _cell(arm: MatrixArmResult, folder: Path) -> ConfigCell:
    return ConfigCell(
        file=arm.labels[FILE],
        fault=arm.labels[FAULT],
        runs=tuple(_run(row, folder) for row in arm.runs if row.counts),
        left_out=arm.left_out,
        reason=arm.reason,
    )


def _run(row: RunRow, folder: Path) -> ConfigRun:
    latencies = latencies_of_run(folder / row.folder)
    return ConfigRun(
        folder=row.folder,
        sent=row.sent,
        unconfirmed=row.outcomes.get(SendOutcome.UNCONFIRMED.value, 0),
        lost=row.count(FindingClass.LOST),
        absent=row.count(FindingClass.UNCONFIRMED_ABSENT),
        duplicates=row.count(FindingClass.DUPLICATE),
        reordered=row.count(FindingClass.REORDERED),
        failed=row.sent - sum(row.outcomes.get(outcome, 0) for outcome in _TAKEN),
        waited=row.unavailable_seconds,
        p50_ms=latencies.p50,
        p99_ms=latencies.p99,
    )
