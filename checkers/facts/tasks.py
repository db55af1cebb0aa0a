"""What tasks do first: find the records of a block that are not clean, and index what a read holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from checkers.facts.availability import AckTimes, reports_of
from checkers.facts.block import SEND_COLUMNS, AnomalousRecords, BlockFacts, select_anomalous
from checkers.facts.columns import NULL, ColumnBatch
from checkers.facts.decoded import DecodedGroups
from checkers.facts.indexing import IndexOfRows, index_of
from checkers.facts.lateness import Edge
from checkers.facts.membership import belonging
from checkers.facts.offsets import OffsetIndex, index_from_bytes, index_to_bytes, merge_indexes
from checkers.facts.output_order import save_order
from checkers.facts.outputs import OutputRules, measure_outputs
from checkers.facts.places import Places, ranked
from checkers.facts.planning import Bands, JournalBlock
from checkers.facts.reading import (
    SendWords,
    read_index,
    read_outputs,
    read_reads,
    read_sends,
    read_txns,
)
from checkers.facts.selected import KeptRecords, SelectedRecords
from checkers.journals.footers import RowGroup
from harness.model.storage import StoragePath, place, write_parquet

Later = dict[tuple[int, int], int]


@dataclass(frozen=True)
class RunContext:
    """What the tasks of all blocks of a run need.

    `scratch` is the folder for files that tasks write for each other. `transactional`: there was a second
    final read, of committed records. `compacts`: the topic keeps only the newest record of each key.
    `outputs`: what the application under test promises (None: there is none). `kept`: where records that are
    not clean are kept, if all tasks run in one process.
    """

    run: int
    topics: tuple[str, ...]
    committed_readers: frozenset[int]
    transactional: bool
    compacts: bool
    txns: tuple[str, ...]
    scratch: str
    outputs: OutputRules | None = None
    kept: KeptRecords | None = None

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of each topic."""
        return {name: number for number, name in enumerate(self.topics)}

    def index(self, name: str = "final") -> OffsetIndex:
        """What a read holds, as the driver wrote it for all tasks."""
        return index_from_bytes((place(self.scratch) / f"index-{name}").read_bytes())


@dataclass
class TaskReport:
    """What a task reports to the driver about its block.

    The number of records that are not clean and of repeated sends, sends by step and outcome, edges, when
    sends were reported, and the index of row groups of the final read. Of an application: how many inputs it
    had to process, how many of them it processed, how many rows `outputs.OutputFacts` has of the block, and
    the partitions of the output that hold outputs of it.
    """

    number: int
    records: int = 0
    repeated: int = 0
    sends: list[tuple[int, str, int]] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    reports: list[AckTimes] = field(default_factory=list)
    inputs: int = 0
    processed: int = 0
    outputs: int = 0
    output_spots: list[int] = field(default_factory=list)
    index: bytes = b""

    def to_bytes(self) -> bytes:
        fields = vars(self) | {"index": None}
        return json.dumps(fields, default=vars).encode() + b"\0" + self.index

    @classmethod
    def from_bytes(cls, data: bytes) -> TaskReport:
        text, _, index = data.partition(b"\0")
        fields = json.loads(text) | {"index": index}
        fields["edges"] = [Edge(**edge) for edge in fields["edges"]]
        fields["sends"] = [tuple(cell) for cell in fields["sends"]]
        fields["reports"] = [
            AckTimes(**each | {"runs": [(first, last) for first, last in each["runs"]]})
            for each in fields["reports"]
        ]
        return cls(**fields)


@dataclass(frozen=True)
class SharedOfBlocks:
    """What the tasks of all blocks share; `decoded` only if they run in one process."""

    context: RunContext
    bands: Bands
    decoded: DecodedGroups | None = None


@dataclass(frozen=True)
class SelectBlock:
    """Reads the row groups of a block and keeps its records that are not clean; returns a `TaskReport`.

    `indexed` are row groups of the final read, by path and number, that this task indexes, since it reads
    them anyway.
    """

    block: JournalBlock
    later: Later
    indexed: frozenset[tuple[str, int]] = frozenset()

    def __call__(self, shared: SharedOfBlocks) -> bytes:
        context, block = shared.context, self.block
        sent_words = SendWords()
        topics = context.numbers
        belongs_here, decoded = belonging(shared.bands, block), shared.decoded
        index = IndexOfRows(self.indexed, topics)
        rows = BlockFacts(
            run=context.run,
            sends=read_sends(
                *(block.groups["sends"], block.groups["opened"], topics, sent_words, belongs_here, decoded)
            )
            if block.stray is None
            else ColumnBatch.empty((*SEND_COLUMNS, "word")),
            final=read_reads(block.groups["final"], topics, belongs_here, decoded, index.add),
            committed=read_reads(block.groups["committed"], topics, belongs_here, decoded)
            if context.transactional
            else None,
            live=read_reads(block.groups["live"], topics, belongs_here, decoded),
            txns=read_txns(context.txns),
            committed_readers=context.committed_readers,
        )
        groups = block.groups.get("replicas", ())
        report = select(context, block.number, rows, sent_words, self.later, groups)
        if context.outputs is not None:
            outputs = read_outputs(
                block.groups.get("outputs", ()),
                topics,
                belongs_here,
                committed_only=context.outputs.committed_only,
            )
            select_outputs(context, context.outputs, rows, outputs, report)
        report.index = index_to_bytes(merge_indexes(index.parts))
        return report.to_bytes()


def select(
    context: RunContext,
    number: int,
    rows: BlockFacts,
    sent_words: SendWords,
    later: Later,
    groups: tuple[RowGroup, ...] = (),
    replicas: ColumnBatch | None = None,
) -> TaskReport:
    """Keep the records of a block that are not clean for `checkers.findings.block_findings`, and report.

    Args:
        groups: row groups of the replicas' files that may hold records of the block.
        replicas: or the rows themselves (`REPLICA_COLUMNS`).
    """
    rest = select_anomalous(rows, later)
    report = TaskReport(number, edges=rest.edges, records=rest.records)
    if "word" in rows.sends.columns:
        report.sends = _count_sends(rows.sends, sent_words)
        report.reports = reports_of(rows.sends)
    if rest.records:
        report.repeated = int(np.count_nonzero(rest.sends["journaled"] > 1))
        if replicas is not None:
            mine = Places(rest.sends["producer"], rest.sends["seq"])
            replicas = replicas.where(mine.of(replicas["producer"], replicas["seq"]) >= 0)
        kept = SelectedRecords(rest, tuple(sent_words.errors.names), groups, replicas)
        kept.save(context.scratch, number, context.kept)
        if context.compacts:
            _write_wanted(context, number, rest)
    if context.transactional:
        given_file(context.scratch, number).write_bytes(
            np.stack([rest.given["producer"], rest.given["txn"]]).astype("<i8").tobytes()
        )
    return report


def select_outputs(
    context: RunContext, rules: OutputRules, rows: BlockFacts, outputs: ColumnBatch, report: TaskReport
) -> None:
    """Keep what is to be looked at of the outputs of a block's inputs, and add their numbers to its report.

    Args:
        outputs: rows of `outputs.OUTPUT_COLUMNS` of these records.
    """
    found = measure_outputs(rows, outputs, rules, context.numbers)
    report.inputs, report.processed, report.outputs = found.inputs, found.processed, len(found.facts.rows)
    if report.outputs:
        found.facts.save(context.scratch, report.number)
    report.output_spots = save_order(context.scratch, report.number, found.order)


def given_file(scratch: str, number: int) -> StoragePath:
    return place(scratch) / f"given-{number:06}"


def read_given(scratch: str, number: int) -> ColumnBatch:
    """The transactions of a block of which the final read of committed records holds a record."""
    pairs = np.frombuffer(given_file(scratch, number).read_bytes(), "<i8").reshape(2, -1)
    return ColumnBatch({"producer": pairs[0], "txn": pairs[1]})


def _write_wanted(context: RunContext, number: int, rest: AnomalousRecords) -> None:
    """The keys of records that compaction may have removed: the final read does not hold them."""
    seen = np.zeros(rest.records, bool)
    seen[rest.final_of] = True
    rows = np.flatnonzero(~seen[rest.sends_of] & (rest.sends["key"] != NULL))
    if len(rows):
        pairs = np.unique(np.stack([rest.sends["spot"][rows], rest.sends["key"][rows]]), axis=1)
        table = pa.table(
            {
                "block": pa.array(np.full(pairs.shape[1], number)),
                "spot": pa.array(pairs[0]),
                "key": pa.array(pairs[1]),
            }
        )
        write_parquet(table, place(context.scratch) / "wanted" / f"part-{number:06}.parquet")


def _count_sends(sends: ColumnBatch, sent_words: SendWords) -> list[tuple[int, str, int]]:
    if not len(sends):
        return []
    names = [*sent_words.outcomes.names, "none"]
    steps, step = ranked(sends["step"])
    word = np.where(sends["word"] == NULL, len(names) - 1, sends["word"])
    counts = np.bincount(step * len(names) + word, minlength=len(steps) * len(names))
    return [
        (int(steps[cell // len(names)]), names[cell % len(names)], int(counts[cell]))
        for cell in np.flatnonzero(counts).tolist()
    ]


@dataclass(frozen=True)
class IndexGroups:
    """Returns the index of row groups of a read, as bytes. Their order does not matter."""

    groups: tuple[RowGroup, ...]

    def __call__(self, shared: SharedOfBlocks) -> bytes:
        return index_to_bytes(index_of(read_index(self.groups, shared.context.numbers)))
