"""What Spark's tasks do: the facts of one block, and the index of what the final read holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

from checkers.facts.availability import AckTimes, reports_of
from checkers.facts.block import SEND_COLUMNS, BlockFacts, Edge, sort_out
from checkers.facts.columns import NULL, ColumnBatch, Flags, Ints
from checkers.facts.offsets import Held, held, packed, together, unpacked
from checkers.facts.places import ranked
from checkers.facts.planning import Bands, JournalBlock
from checkers.facts.reading import Met, read_index, read_reads, read_sends, read_txns
from checkers.facts.record import FACTS, facts_of
from checkers.journals.footers import Group
from harness.model.storage import place, write_parquet

_INDEX_PARTS = 64
"""Indices of row groups that are held before they are made one."""

Later = dict[tuple[int, int], int]


@dataclass(frozen=True)
class Common:
    """What all blocks of a run need to know. `index` names the file of the index of the final read, `facts`
    the folder to write to. `transactional`: there was a second final read, of committed records."""

    run: int
    topics: Mapping[str, int]
    committed_readers: frozenset[int]
    transactional: bool
    txns: tuple[str, ...]
    index: str
    facts: str


@dataclass
class TaskReport:
    """What a task tells the driver of its block: facts written, sends by step and outcome, edges, when
    partitions reported."""

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
        told = json.loads(text)
        told["edges"] = [Edge(**edge) for edge in told["edges"]]
        told["sends"] = [tuple(cell) for cell in told["sends"]]
        told["reports"] = [
            AckTimes(**each | {"runs": [(first, last) for first, last in each["runs"]]})
            for each in told["reports"]
        ]
        return cls(**told)


def report_block(common: Common, bands: Bands, block: JournalBlock, later: Later) -> TaskReport:
    """Read the row groups of a block, write its facts, and tell what there was."""
    met = Met()

    def wanted(producer: Ints, seq: Ints) -> Flags:
        inside = _inside(bands, block, producer, seq)
        if block.stray is None:
            return inside
        which, several = block.stray
        return np.asarray(~inside & ((producer ^ seq ^ (seq >> 20)) % several == which))

    told = BlockFacts(
        run=common.run,
        sends=read_sends(block.groups["sends"], block.groups["opened"], common.topics, met, wanted)
        if block.stray is None
        else _no_sends(),
        final=read_reads(block.groups["final"], common.topics, wanted),
        committed=read_reads(block.groups["committed"], common.topics, wanted)
        if common.transactional
        else None,
        live=read_reads(block.groups["live"], common.topics, wanted),
        txns=read_txns(common.txns),
        committed_readers=common.committed_readers,
    )
    return tell(common, block.number, told, met, later)


def _no_sends() -> ColumnBatch:
    return ColumnBatch.empty((*SEND_COLUMNS, "word"))


def _inside(bands: Bands, block: JournalBlock, producer: Ints, seq: Ints) -> Flags:
    """Rows of the block's own band; for strays, of any."""
    found = np.zeros(len(producer), bool)
    if not len(bands.producer):
        return found
    low, high = (bands.low, bands.high) if block.stray else bands.band(block.number)
    if len(bands.producer) == 1:
        return np.asarray((producer == bands.producer[0]) & (seq >= low[0]) & (seq <= high[0]))
    at = np.minimum(np.searchsorted(bands.producer, producer), len(bands.producer) - 1)
    return np.asarray((bands.producer[at] == producer) & (seq >= low[at]) & (seq <= high[at]))


def tell(common: Common, number: int, told: BlockFacts, met: Met, later: Later) -> TaskReport:
    """Work out the facts of a block's rows, write them, and tell what there was."""
    rest = sort_out(told, later)
    report = TaskReport(number, edges=rest.edges)
    if "word" in told.sends.columns:
        report.sends = _counted(told.sends, met)
        report.reports = reports_of(told.sends)
    if rest.records:
        index = unpacked(place(common.index).read_bytes())
        facts = facts_of(rest, common.run, met.errors, index, common.committed_readers)
        report.facts = facts.num_rows
        report.repeated = int(np.count_nonzero(rest.sends["journaled"] > 1))
        write_parquet(facts, place(common.facts) / f"part-{number:06}.parquet", compression="lz4")
    return report


def _counted(sends: ColumnBatch, met: Met) -> list[tuple[int, str, int]]:
    if not len(sends):
        return []
    names = [*met.outcomes.names, "none"]
    steps, step = ranked(sends["step"])
    word = np.where(sends["word"] == NULL, len(names) - 1, sends["word"])
    counts = np.bincount(step * len(names) + word, minlength=len(steps) * len(names))
    return [
        (int(steps[cell // len(names)]), names[cell % len(names)], int(counts[cell]))
        for cell in np.flatnonzero(counts).tolist()
    ]


@dataclass(frozen=True)
class BlockTask:
    """For `mapInArrow` over the numbers of blocks: one report a block."""

    common: Common
    bands: Bands
    blocks: tuple[JournalBlock, ...]
    later: Mapping[int, Later]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield answer(self.report(index).text().encode())

    def report(self, index: int) -> TaskReport:
        block = self.blocks[index]
        return report_block(self.common, self.bands, block, self.later.get(block.number, {}))


@dataclass(frozen=True)
class IndexTask:
    """For `mapInArrow` over the numbers of shares: the index of one share's row groups, and states seen."""

    topics: Mapping[str, int]
    shares: tuple[tuple[Group, ...], ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield answer(packed(self.index(index)))

    def index(self, index: int) -> Held:
        return index_of(read_index(self.shares[index], self.topics))


def index_of(parts: Iterable[tuple[Ints, Ints, Flags, Ints]]) -> Held:
    """Index of these rows (spot, offset, readable, epoch); few of them are held at once."""
    done: list[Held] = []
    for part in parts:
        done.append(held(*part))
        if len(done) >= _INDEX_PARTS:
            done = [together(done)]
    return together(done)


ANSWER = pa.schema([("answer", pa.binary())])


def answer(data: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([data], pa.binary())], schema=ANSWER)


def empty_facts(folder: str) -> None:
    """A file of no facts, so that a run without any can be read too."""
    write_parquet(FACTS.empty_table(), place(folder) / "part-none.parquet")
