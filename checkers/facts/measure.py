"""The facts of a run: chooses the plan, runs Spark's tasks, and gathers their reports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.facts.availability import AckTimes
from checkers.facts.encoding import Codes
from checkers.facts.offsets import OffsetIndex, index_from_bytes, index_to_bytes, merge_indexes
from checkers.facts.planning import BLOCK_ROWS, ReadPlan, plan
from checkers.facts.record import FACTS
from checkers.facts.shuffle import ShuffleTask, bands_of, blocks_of
from checkers.facts.tasks import BlockTask, IndexTask, Later, RunContext, TaskReport, write_empty_facts
from checkers.journals.footers import JournalFile, NoStatistics, RowGroup, distinct_words, row_groups
from checkers.journals.load import RunFrames, read_parquet, schema_of
from harness.model.journal import ReadState, SendOutcome
from harness.model.storage import StoragePath

PlanName = Literal["blocks", "shuffle"]

MOST_READ = 2.5
"""Most bytes that blocks may read per byte of the journals; if it is more, the rows are shuffled instead."""
_LARGER = (1, 2, 4)
_SHARE_ROWS = 4_000_000
_DDL = "answer binary"
FACTS_READ = schema_of(
    ", ".join(
        f"{field.name} {kind}"
        for field in FACTS
        for kind in [
            {
                "int64": "bigint",
                "int32": "int",
                "string": "string",
                "bool": "boolean",
                "list<item: int64>": "array<bigint>",
            }[str(field.type)]
        ]
    )
)


@dataclass(frozen=True)
class RunFacts:
    """What is known of a run after every record was examined.

    `frame` has the columns of `record.FACTS` and `count` rows. `outcomes` counts sends by outcome and
    `acked_by_step` acknowledged ones by step index; `reports` says when sends were reported. `repeated` is
    the number of sends that the journal holds more than once. `held` and `held_committed` are the indexes of
    the final reads. `problems` are reasons why the verdict is unknown.
    """

    frame: DataFrame
    count: int
    outcomes: dict[str, int]
    acked_by_step: dict[int, int]
    reports: tuple[AckTimes, ...]
    reads: int
    repeated: int
    codes: Codes
    held: OffsetIndex
    held_committed: OffsetIndex
    plan: PlanName
    problems: tuple[str, ...]


def measure(
    frames: RunFrames, scratch: StoragePath, *, force: PlanName | None = None, block_rows: int = BLOCK_ROWS
) -> RunFacts:
    """Find the records that are not clean; facts are written below `scratch`, an empty folder.

    Args:
        force: use this plan, whatever the statistics of the files say (None: the better one).
        block_rows: number of sends in a block.
    """
    spark = frames.sends.sparkSession
    topics = _topics(frames)
    codes = Codes(topics=topics)
    numbers = {name: number for number, name in enumerate(topics)}
    held = _index_read(spark, frames.files.final, numbers)
    committed_readers = frozenset(n for n, reader in enumerate(frames.readers) if reader.committed)
    held_committed = (
        _index_read(spark, frames.files.committed, numbers) if committed_readers else OffsetIndex({}, {}, {})
    )
    folder = scratch / "facts"
    folder.mkdir()
    (scratch / "index").write_bytes(index_to_bytes(held))
    write_empty_facts(str(folder))
    common = RunContext(
        run=frames.meta.run_id,
        topics=numbers,
        committed_readers=committed_readers,
        transactional=frames.committed is not None,
        txns=tuple(file.path for file in frames.files.txns),
        index=str(scratch / "index"),
        facts=str(folder),
    )
    chosen = None if force == "shuffle" else _plan(frames, block_rows)
    if chosen is not None and (force == "blocks" or chosen.ratio <= MOST_READ):
        reports = _run_blocks(spark, common, chosen)
    else:
        chosen = None
        bands = bands_of(frames, block_rows)
        rows = blocks_of(frames, codes, bands)

        def work(later: Mapping[int, Later]) -> list[TaskReport]:
            return _reports(rows.mapInArrow(ShuffleTask(common, later), _DDL))

        reports = _run_until_ordered(work, bands.count)
    outcomes: Counter[str] = Counter()
    acked: Counter[int] = Counter()
    for report in reports:
        for step, word, count in report.sends:
            outcomes[word] += count
            if word == SendOutcome.ACKED:
                acked[step] += count
    return RunFacts(
        frame=read_parquet(spark, FACTS_READ, folder),
        count=sum(report.facts for report in reports),
        outcomes=dict(outcomes),
        acked_by_step=dict(acked),
        reports=tuple(each for report in reports for each in report.reports),
        reads=sum(file.rows for file in frames.files.final),
        repeated=sum(report.repeated for report in reports),
        codes=codes,
        held=held,
        held_committed=held_committed,
        plan="shuffle" if chosen is None else "blocks",
        problems=_unknown_words(frames, outcomes),
    )


def _plan(frames: RunFrames, block_rows: int) -> ReadPlan | None:
    """The plan of blocks.

    If small blocks would read too many row groups several times, larger ones are tried: with many partitions
    the records of a band are spread over more row groups.
    """
    files = frames.files
    try:
        live = [group for number, parts in enumerate(files.live) for group in row_groups(parts, number)]
        journals: dict[str, Sequence[RowGroup]] = {
            "sends": row_groups(files.sends),
            "opened": row_groups(files.opened),
            "final": row_groups(files.final),
            "committed": row_groups(files.committed),
            "live": live,
        }
    except NoStatistics:
        return None
    chosen = None
    for larger in _LARGER:
        chosen = plan(journals, block_rows * larger)
        if chosen is None or chosen.ratio <= MOST_READ:
            break
    return chosen


def _run_blocks(spark: SparkSession, common: RunContext, chosen: ReadPlan) -> list[TaskReport]:
    def work(later: Mapping[int, Later]) -> list[TaskReport]:
        """Reports of all blocks, or of those that need the offsets of later ones."""
        blocks = tuple(block for block in chosen.blocks if not later or block.number in later)
        task = BlockTask(common, chosen.bands, blocks, later)
        if len(blocks) <= 1:
            # A process of its own would take longer.
            return [task.report(index) for index in range(len(blocks))]
        numbers = spark.range(0, len(blocks), 1, len(blocks))
        return _reports(numbers.mapInArrow(task, _DDL))

    return _run_until_ordered(work, chosen.bands.count)


def _reports(answers: DataFrame) -> list[TaskReport]:
    return [TaskReport.read(bytes(row.answer).decode()) for row in answers.collect()]


def _run_until_ordered(
    work: Callable[[Mapping[int, Later]], list[TaskReport]], bands: int
) -> list[TaskReport]:
    """Reports of all blocks, in which a record is also late if the record it follows is in another block.

    Records of later blocks nearly always have higher offsets. Where they do not, the blocks concerned are
    processed again with the lowest offset of all blocks after them.
    """
    reports = {report.number: report for report in work({})}
    edges = defaultdict(list)
    for report in reports.values():
        for edge in report.edges:
            edges[edge.producer, edge.spot].append((report.number, edge.least, edge.most))
    later: dict[int, Later] = defaultdict(dict)
    for name, listed in edges.items():
        lowest = None
        for number, least, most in sorted(listed, reverse=True):
            if number >= bands:
                continue
            if lowest is not None and most > lowest:
                later[number][name] = lowest
            lowest = least if lowest is None else min(lowest, least)
    if later:
        reports |= {report.number: report for report in work(dict(later))}
    return list(reports.values())


def _index_read(spark: SparkSession, files: Sequence[JournalFile], topics: Mapping[str, int]) -> OffsetIndex:
    """The index of a read. The order of rows does not matter, so row groups are divided as they are in the
    files."""
    shares: list[list[RowGroup]] = [[]]
    rows = 0
    for file in files:
        for number in range(file.footer.num_row_groups):
            count = file.footer.row_group(number).num_rows
            if rows + count > _SHARE_ROWS and shares[-1]:
                shares.append([])
                rows = 0
            shares[-1].append(RowGroup(file.path, number, count, 0, None))
            rows += count
    task = IndexTask(topics, tuple(tuple(share) for share in shares))
    if len(shares) == 1:
        return task.index(0)
    answers = spark.range(0, len(shares), 1, len(shares)).mapInArrow(task, _DDL).collect()
    return merge_indexes(index_from_bytes(bytes(row.answer)) for row in answers)


def _topics(frames: RunFrames) -> tuple[str, ...]:
    """Names of all topics in the run, sorted."""
    files = frames.files
    found = {frames.meta.topic}
    if frames.meta.final_read is not None:
        found |= {bound.topic for bound in frames.meta.final_read.bounds}
    found |= _distinct_words(files.sends + files.opened, frames.sends, "topic")
    for parts, frame in _reads(frames):
        found |= _distinct_words(parts, frame, "topic")
    return tuple(sorted(found))


def _reads(frames: RunFrames) -> list[tuple[Iterable[JournalFile], DataFrame | None]]:
    """All journals of reads: files, and their DataFrame."""
    files = frames.files
    live = [file for parts in files.live for file in parts]
    return [(files.final, frames.reads), (files.committed, frames.committed), (live, frames.live)]


def _distinct_words(files: Iterable[JournalFile], frame: DataFrame | None, name: str) -> set[str]:
    if frame is None:
        return set()
    found = distinct_words(list(files), name)
    if found is not None:
        return found
    return {row[0] for row in frame.select(F.col(name)).distinct().collect() if row[0] is not None}


def _unknown_words(frames: RunFrames, outcomes: Mapping[str, Any]) -> tuple[str, ...]:
    states: set[str] = set()
    for parts, frame in _reads(frames):
        states |= _distinct_words(parts, frame, "state")
    return tuple(
        f"the {journal} journal holds the {what} '{word}', which this version does not know, "
        "so the verdict is unknown"
        for journal, what, found, known in (
            ("sends", "outcome", set(outcomes), {outcome.value for outcome in SendOutcome}),
            ("reads", "state", states, {state.value for state in ReadState}),
        )
        for word in sorted(found - known)
    )
