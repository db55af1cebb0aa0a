"""What tasks do last: each writes its own part of the findings and returns their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.facts.columns import ColumnBatch
from checkers.facts.deliveries import Unit, deliveries_of
from checkers.facts.group_journals import GroupFiles, read_group, read_tables
from checkers.facts.places import Places
from checkers.facts.progress import progress_of
from checkers.facts.record import facts_of
from checkers.facts.replicas import ReplicaLog
from checkers.facts.selected import SelectedRecords
from checkers.facts.tasks import RunContext, read_given
from checkers.findings.delivery_findings import delivery_findings
from checkers.findings.evidence import Holders, RunNames, classified, evidence, lost_of
from checkers.findings.newest_keys import newest_here, newest_of_block
from checkers.findings.output_findings import OutputNames
from checkers.findings.progress_findings import progress_findings
from checkers.findings.record_context import (
    LogBounds,
    Policy,
    wanted_keys,
    with_context,
    with_newer,
    with_torn,
)
from checkers.findings.replica_findings import replica_findings
from checkers.findings.share_findings import ShareFiles, share_findings
from checkers.findings.table import findings_table, write_findings
from checkers.findings.value_findings import corrupt_values
from checkers.journals.footers import RowGroup
from checkers.judgement.partial import partial_summary
from harness.model.run import ShareInfo
from harness.model.storage import place

Found = tuple[pa.Table, list[str]]
"""Findings and problems."""


@dataclass(frozen=True)
class FindingsContext:
    """What all of these tasks need.

    `final` are the row groups of the final read, `blocks` the numbers of all blocks; `replicas_read`:
    replicas' files were read. `newest_on_spark`: Spark has looked up keys for compaction. `outputs` is for
    the tasks of an application's outputs.
    """

    run: RunContext
    names: RunNames
    bounds: tuple[LogBounds, ...]
    policy: Policy
    final: tuple[RowGroup, ...]
    blocks: tuple[int, ...]
    replicas_read: bool
    newest_on_spark: bool
    target: str
    outputs: OutputNames | None = None


@dataclass(frozen=True)
class FindingTask:
    """Writes `part-NAME.parquet` of what `find` gives; returns a `PartialSummary`, as bytes."""

    name: str
    find: Callable[[FindingsContext], Found]

    def __call__(self, context: FindingsContext) -> bytes:
        findings, problems = self.find(context)
        if findings.num_rows:
            target = place(context.target) / f"part-{self.name}.parquet"
            write_findings(findings, target)
        return partial_summary(findings, context.names.windows, problems).to_bytes()


@dataclass(frozen=True)
class OfBlock:
    """Findings about the records of a block."""

    number: int

    def __call__(self, context: FindingsContext) -> Found:
        run = context.run
        selected = SelectedRecords.load(run.scratch, self.number, run.kept)
        facts = facts_of(selected.records, run.run, selected.errors, run.index(), run.committed_readers)
        facts = with_context(facts, context.bounds, context.policy)
        if context.newest_on_spark:
            newest = newest_of_block(run, self.number)
        else:
            newest = newest_here(context.final, run, wanted_keys(facts))
        facts = with_torn(with_newer(facts, newest), self._given(context, selected))
        facts, classes, problems = classified(facts)
        holders = None
        if context.replicas_read:
            lost = np.flatnonzero(lost_of(facts, classes))
            chosen = Places(facts["producer"][lost], facts["seq"][lost])
            number = np.full(chosen.size, -1, np.int64)
            number[chosen.of(facts["producer"][lost], facts["seq"][lost])] = lost
            rows = selected.holders(chosen) if len(lost) else ColumnBatch.empty(("run", "broker"))
            mine = np.flatnonzero(rows["run"] == run.run)
            records = chosen.of(rows["producer"][mine], rows["seq"][mine]) if len(mine) else mine
            holders = Holders(number[records], rows["broker"][mine])
        findings, failed = evidence(facts, classes, context.names, holders)
        return findings, [*problems, *failed]

    def _given(self, context: FindingsContext, selected: SelectedRecords) -> Iterator[ColumnBatch]:
        """Transactions of which the final read of committed records holds a record; those of this block
        first."""
        yield selected.records.given
        for other in context.blocks if context.policy.transactional else ():
            if other != self.number:
                yield read_given(context.run.scratch, other)


@dataclass(frozen=True)
class OfValues:
    """Findings about damaged values in these row groups of the final read."""

    groups: tuple[RowGroup, ...]

    def __call__(self, context: FindingsContext) -> Found:  # noqa: ARG002 - as the other tasks
        return corrupt_values(self.groups), []


@dataclass(frozen=True)
class OfDeliveries:
    """Findings about deliveries to a unit, in one of several parts of its partitions."""

    unit: Unit
    part: int
    parts: int
    commits: tuple[str, ...]

    def __call__(self, context: FindingsContext) -> Found:
        found = deliveries_of(self.unit, self.part, self.parts, context.run, self.commits)
        return delivery_findings(self.unit, found, context.run, context.final, context.names.readers)


@dataclass(frozen=True)
class OfGroup:
    """Findings about the progress of consumer groups, in one of several parts of their partitions."""

    units: tuple[Unit, ...]
    part: int
    parts: int
    files: GroupFiles

    def __call__(self, context: FindingsContext) -> Found:
        run, names = context.run, context.names
        tables = read_tables(self.files)
        found, problems = [findings_table(0, {})], list[str]()
        for unit in self.units:
            journals = read_group(unit, tables, run.numbers, self.part, self.parts)
            index = run.index("committed" if unit.committed else "final")
            rows = progress_of(journals, self.files, index.readable)
            findings, failed = progress_findings(unit, rows, run.topics, names.readers, names.windows)
            found.append(findings)
            problems += failed
        return pa.concat_tables(found), problems


@dataclass(frozen=True)
class OfShare:
    """Findings about a share group; `properties` are the brokers'."""

    info: ShareInfo
    files: ShareFiles
    properties: tuple[tuple[str, str], ...]

    def __call__(self, context: FindingsContext) -> Found:
        return share_findings(
            self.info,
            self.files,
            context.run,
            windows=context.names.windows,
            leadership=context.names.leadership,
            properties=dict(self.properties),
        )


@dataclass(frozen=True)
class OfReplicas:
    """Findings about the replicas of a partition."""

    log: ReplicaLog

    def __call__(self, context: FindingsContext) -> Found:
        return replica_findings(self.log, context.run)
