"""The evidence of a finished run for expectations: its journals, read on first use."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harness.model import application_journal, group_journal, journal
from harness.model.broker_views import newest_rows, newness
from harness.model.finding_class import FindingClass
from harness.model.journal_reader import JournalRow, fault_events, journal_batches, journal_rows
from harness.model.result import ArmResult, Summary
from harness.model.run import RunMeta, StepInfo

SECOND = 10**9
Found = TypeVar("Found")
_BELIEF = itemgetter("broker", "leader", "leader_epoch")
_ORDERS = {
    application_journal.APPLICATION_DIR: ("at_ns",),
    group_journal.ASSIGNMENTS_DIR: ("at_ns",),
    group_journal.COMMITS_DIR: ("at_ns",),
    journal.READS_DIR: ("partition", "offset"),
    journal.REPLICAS_DIR: ("broker", "partition", "offset"),
    journal.SAMPLES_DIR: ("at_ns", "broker"),
    journal.SENDS_DIR: ("producer", "seq"),
}
"""Columns by which the rows of a journal are sorted; those of others stay as they were written."""


class EvidenceMissing(Exception):
    """The run does not hold the evidence, so the expectation is unknown."""


def required(found: Found | None, missing: str) -> Found:
    """What was found.

    Raises:
        EvidenceMissing: it is None or empty; says what is `missing`.
    """
    if not found:
        raise EvidenceMissing(missing)
    return found


@dataclass(frozen=True)
class PartitionBelief:
    """The state of a partition by the belief with the newest leader epoch. `leader` -1: no leader."""

    at_ns: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    high_watermark: int | None


class FinishedRun:
    """One run in its folder, with the result of its check. What it does not hold is EvidenceMissing."""

    def __init__(self, folder: Path, result: ArmResult) -> None:
        self.folder = folder
        self.result = result
        self.meta: RunMeta = result.meta
        self._rows: dict[str, list[JournalRow]] = {}

    @property
    def summary(self) -> Summary:
        return required(self.result.summary, "the run was not checked")

    def count(self, finding: FindingClass) -> int:
        return self.summary.count(finding)

    def step(self, name: str) -> StepInfo:
        """A step by its name."""
        done = (step for step in self.meta.steps if step.name == name and step.ended_ns is not None)
        return required(next(done, None), f"the run did not get through step {name}")

    def applied_ns(self, kind: str) -> int:
        """When the first injection of a fault had taken effect; before that its window is open without an
        effect."""
        return self._phase(f"{kind}-1", "injected")

    def aimed_ns(self, kind: str) -> int:
        """When the targets of the first injection of a fault were chosen: before that it had no effect."""
        return self._phase(f"{kind}-1", "aimed")

    def undone_ns(self, kind: str) -> int:
        """When the first injection of a fault was undone."""
        return self._phase(f"{kind}-1", "undone")

    def _phase(self, fault: str, phase: str) -> int:
        rows = (row for row in fault_events(self.folder) if (row["fault"], row["phase"]) == (fault, phase))
        return int(required(next(rows, None), f"{fault} was never {phase}")["at_ns"])

    def rows(self, folder: str) -> list[JournalRow]:
        """The rows of a journal, by its folder, in the order of `_ORDERS`."""
        if folder not in self._rows:
            rows = list(journal_rows(self._journal(folder), pattern="*.parquet"))
            order = _ORDERS.get(folder)
            self._rows[folder] = rows if order is None else sorted(rows, key=itemgetter(*order))
        return self._rows[folder]

    @property
    def all_sends(self) -> list[JournalRow]:
        """Sends in the order of the producers and of their sequence numbers."""
        return self.rows(journal.SENDS_DIR)

    def sends(self, step: str) -> list[JournalRow]:
        index = self.step(step).index
        return [row for row in self.all_sends if row["step"] == index]

    @property
    def final_log(self) -> list[JournalRow]:
        """The final read in the order of partitions and offsets."""
        return self.rows(journal.READS_DIR)

    @cached_property
    def by_moment(self) -> dict[int, list[JournalRow]]:
        """The samples, one row per broker and partition, by the moment at which they were taken."""
        moments = groupby(self.rows(journal.SAMPLES_DIR), key=itemgetter("at_ns"))
        return {at_ns: list(rows) for at_ns, rows in moments}

    def decided_ns(self) -> list[int]:
        """When faults were decided."""
        return [row["at_ns"] for row in fault_events(self.folder) if row["phase"] == "decided"]

    def events(self) -> Iterator[tuple[int, str]]:
        """When faults took effect and when they were undone, as text."""
        words = {"injected": "", "undone": "end of "}
        for row in fault_events(self.folder):
            if row["phase"] in words:
                yield row["at_ns"], f"{words[row['phase']]}{row['kind']}: {row['target']}"

    def states(self, partition: int = 0) -> Iterator[PartitionBelief]:
        """The partition, sample by sample, by the newest belief."""
        for at_ns, rows in self.by_moment.items():
            beliefs = [row for row in rows if row["partition"] == partition]
            if beliefs:
                best = max(beliefs, key=lambda row: newness(*_BELIEF(row)))
                isr, high_watermark = tuple(sorted(best["isr"])), best["high_watermark"]
                yield PartitionBelief(at_ns, best["leader"], best["leader_epoch"], isr, high_watermark)

    def first_led(self, leaders: Collection[int], since_ns: int) -> int | None:
        """The first sample after `since_ns` in which, by the newest belief of each partition, every partition
        is led by one of `leaders`; None if there is none. It uses arrays, because there may be thousands of
        partitions."""
        columns = ["at_ns", "partition", "leader_epoch", "leader", "broker"]
        samples = journal_batches(self._journal(journal.SAMPLES_DIR), columns)
        later = [batch.filter(_later_than(batch, since_ns)) for batch in samples]
        if not later:
            return None
        table = pa.concat_tables(later)
        at_ns, partition, epoch, leader, broker = (table[name].to_numpy() for name in columns)
        newest = newest_rows(at_ns, partition, epoch, leader == broker)
        led = newest[np.isin(leader[newest], list(leaders))]
        moments, counts = np.unique(at_ns[led], return_counts=True)
        whole = moments[counts == self.meta.partitions]
        return int(whole[0]) if len(whole) else None

    def during(self, begin_ns: int, end_ns: int, partition: int = 0) -> list[PartitionBelief]:
        """Samples between two moments, at least one."""
        samples = [state for state in self.states(partition) if begin_ns <= state.at_ns <= end_ns]
        return required(samples, "no broker was sampled then")

    @cached_property
    def all_answers(self) -> list[JournalRow]:
        """Answers in the order of ask steps, rounds and questions, with their detail parsed from JSON."""
        rows = [row | {"detail": json.loads(row["detail"])} for row in self.rows(journal.ANSWERS_DIR)]
        return sorted(rows, key=lambda row: (row["ask"], row["round"], row["place"], row["broker"]))

    def answers(self, ask: str, question: str) -> dict[int, JournalRow]:
        """By broker, the first answer to a question of an ask step."""
        first: dict[int, JournalRow] = {}
        for row in self.all_answers:
            if row["ask"] == ask and row["question"] == question:
                first.setdefault(row["broker"], row)
        return required(first, f"step {ask} did not ask for {question}")

    def answer(self, ask: str, question: str, broker: int) -> JournalRow:
        answer = self.answers(ask, question).get(broker)
        return required(answer, f"broker {broker} was not asked for {question} in step {ask}")

    def served(self, ask: str, question: str) -> list[JournalRow]:
        """The answers without an error."""
        return [row for row in self.answers(ask, question).values() if row["error"] is None]

    def printed(self, ask: str, node: int) -> list[str]:
        """The lines with the text of an ask step that a node had printed."""
        return list(self.answer(ask, "printed", node)["detail"]["lines"])

    def _journal(self, folder: str) -> Path:
        """The folder of a journal, which holds at least one file."""
        required(any((self.folder / folder).glob("*.parquet")), f"the run has no {folder}")
        return self.folder / folder


def _later_than(samples: pa.Table, since_ns: int) -> pa.ChunkedArray:
    return pc.and_(pc.is_valid(samples["partition"]), pc.greater(samples["at_ns"], since_ns))
