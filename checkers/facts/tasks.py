"""What Spark's tasks do: the facts of one block, and the index of what the final read holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

from checkers.facts.availability import AckTimes, reports_of
from checkers.facts.block import SEND_COLUMNS, BlockFacts, Edge, select_anomalous
from checkers.facts.columns import NULL, ColumnBatch, Flags, Ints
from checkers.facts.offsets import OffsetIndex, index_from_bytes, index_offsets, index_to_bytes, merge_indexes
from checkers.facts.places import ranked
from checkers.facts.planning import Bands, JournalBlock
from checkers.facts.reading import SendWords, read_index, read_reads, read_sends, read_txns
from checkers.facts.record import FACTS, facts_of
from checkers.journals.footers import RowGroup
from harness.model.storage import place, write_parquet

_INDEX_PARTS = 64
"""Number of indexes of row groups in memory before they are merged into one."""

Later = dict[tuple[int, int], int]


@dataclass(frozen=True)
class RunContext:
    """What the tasks of all blocks of a run need.

    `index` is the file with the index of the final read, `facts` the folder to write to. `transactional`:
    there was a second final read, of committed records.
    """

    run: int
    topics: Mapping[str, int]
    committed_readers: frozenset[int]
    transactional: bool
    txns: tuple[str, ...]
    index: str
    facts: str


@dataclass
class TaskReport:
    """What a task reports to the driver about its block.

    The number of facts written and of repeated sends, sends by step and outcome, edges, and when sends were
    reported.
    """

    number: int
    facts: int = 0
    repeated: int = 0
    sends: list[tuple[int, str, int]] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    reports: list[AckTimes] = field(default_factory=list)

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> TaskReport:
        fields = json.loads(text)
        fields["edges"] = [Edge(**edge) for edge in fields["edges"]]
        fields["sends"] = [tuple(cell) for cell in fields["sends"]]
        fields["reports"] = [
            AckTimes(**each | {"runs": [(first, last) for first, last in each["runs"]]})
            for each in fields["reports"]
        ]
        return cls(**fields)


def report_block(common: RunContext, bands: Bands, block: JournalBlock, later: Later) -> TaskReport:
    """Read the row groups of a block, write its facts, and report."""
    sent_words = SendWords()

    def belongs_here(producer: Ints, seq: Ints) -> Flags:
        inside = _inside(bands, block, producer, seq)
        if block.stray is None:
            return inside
        which, several = block.stray
        return np.asarray(~inside & ((producer ^ seq ^ (seq >> 20)) % several == which))

    rows = BlockFacts(
        run=common.run,
        sends=read_sends(
            block.groups["sends"], block.groups["opened"], common.topics, sent_words, belongs_here
        )
        if block.stray is None
        else _no_sends(),
        final=read_reads(block.groups["final"], common.topics, belongs_here),
        committed=read_reads(block.groups["committed"], common.topics, belongs_here)
        if common.transactional
        else None,
        live=read_reads(block.groups["live"], common.topics, belongs_here),
        txns=read_txns(common.txns),
        committed_readers=common.committed_readers,
    )
    return write_facts(common, block.number, rows, sent_words, later)


def _no_sends() -> ColumnBatch:
    return ColumnBatch.empty((*SEND_COLUMNS, "word"))


def _inside(bands: Bands, block: JournalBlock, producer: Ints, seq: Ints) -> Flags:
    """Rows of the block's own band; for stray records, rows of any band."""
    found = np.zeros(len(producer), bool)
    if not len(bands.producer):
        return found
    low, high = (bands.low, bands.high) if block.stray else bands.band(block.number)
    if len(bands.producer) == 1:
        return np.asarray((producer == bands.producer[0]) & (seq >= low[0]) & (seq <= high[0]))
    at = np.minimum(np.searchsorted(bands.producer, producer), len(bands.producer) - 1)
    return np.asarray((bands.producer[at] == producer) & (seq >= low[at]) & (seq <= high[at]))


def write_facts(
    common: RunContext, number: int, rows: BlockFacts, sent_words: SendWords, later: Later
) -> TaskReport:
    """Compute the facts of a block's rows, write them, and report."""
    rest = select_anomalous(rows, later)
    report = TaskReport(number, edges=rest.edges)
    if "word" in rows.sends.columns:
        report.sends = _count_sends(rows.sends, sent_words)
        report.reports = reports_of(rows.sends)
    if rest.records:
        index = index_from_bytes(place(common.index).read_bytes())
        facts = facts_of(rest, common.run, sent_words.errors, index, common.committed_readers)
        report.facts = facts.num_rows
        report.repeated = int(np.count_nonzero(rest.sends["journaled"] > 1))
        write_parquet(facts, place(common.facts) / f"part-{number:06}.parquet", compression="lz4")
    return report


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
class BlockTask:
    """For `mapInArrow` over the numbers of blocks: one report per block."""

    common: RunContext
    bands: Bands
    blocks: tuple[JournalBlock, ...]
    later: Mapping[int, Later]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield answer_batch(self.report(index).text().encode())

    def report(self, index: int) -> TaskReport:
        block = self.blocks[index]
        return report_block(self.common, self.bands, block, self.later.get(block.number, {}))


@dataclass(frozen=True)
class IndexTask:
    """For `mapInArrow` over the numbers of shares: the index of one share's row groups."""

    topics: Mapping[str, int]
    shares: tuple[tuple[RowGroup, ...], ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield answer_batch(index_to_bytes(self.index(index)))

    def index(self, index: int) -> OffsetIndex:
        return index_of(read_index(self.shares[index], self.topics))


def index_of(parts: Iterable[tuple[Ints, Ints, Flags, Ints]]) -> OffsetIndex:
    """Index of these rows (spot, offset, readable, epoch), merged while they are read to save memory."""
    done: list[OffsetIndex] = []
    for part in parts:
        done.append(index_offsets(*part))
        if len(done) >= _INDEX_PARTS:
            done = [merge_indexes(done)]
    return merge_indexes(done)


ANSWER = pa.schema([("answer", pa.binary())])


def answer_batch(data: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([data], pa.binary())], schema=ANSWER)


def write_empty_facts(folder: str) -> None:
    """Write a file without rows, so that the facts of a run without any can be read too."""
    write_parquet(FACTS.empty_table(), place(folder) / "part-none.parquet")
