"""The facts of a run: chooses the plan, runs the tasks, and gathers their reports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from checkers.facts.availability import AckTimes
from checkers.facts.decoded import DecodedGroups
from checkers.facts.offsets import OffsetIndex, index_from_bytes, index_to_bytes, merge_indexes
from checkers.facts.outputs import OutputRules
from checkers.facts.planning import BLOCK_ROWS, LOCAL_BLOCK_ROWS, REPLICAS, ReadPlan, plan
from checkers.facts.run_outputs import RunOutputs
from checkers.facts.selected import KeptRecords
from checkers.facts.tasks import IndexGroups, Later, RunContext, SelectBlock, SharedOfBlocks, TaskReport
from checkers.journals.footers import JournalFile, NoStatistics, RowGroup, distinct_words, row_groups
from checkers.journals.load import RunJournals
from checkers.running import OnSpark, Runner, Task
from harness.model.journal import UNMAPPED, ReadState, SendOutcome
from harness.model.storage import StoragePath

PlanName = Literal["blocks", "shuffle"]

MOST_READ = 2.5
"""Most bytes that blocks may read per byte of the journals; if it is more, the rows are shuffled instead."""
LEAST_BLOCK_ROWS = 2**16
"""A block is not made smaller than this to share the work out."""
_LARGER = (1, 2, 4, 8)
_SHARE_ROWS = 4_000_000


@dataclass(frozen=True)
class RunFacts:
    """What is known of a run after every record was examined.

    `blocks` are the numbers of all blocks and `selected` of those with records that are not clean, which
    `selected.SelectedRecords` keeps. `outcomes` counts sends by outcome and `acked_by_step` acknowledged ones
    by step index; `reports` says when sends were reported. `outputs` is about the application under test
    (None: there was none). `repeated` is the number of sends that the journal holds more than once.
    `held` is the index of the final read. `problems` are reasons why the verdict is unknown.
    """

    context: RunContext
    blocks: tuple[int, ...]
    selected: tuple[int, ...]
    outcomes: dict[str, int]
    acked_by_step: dict[int, int]
    reports: tuple[AckTimes, ...]
    reads: int
    repeated: int
    held: OffsetIndex
    plan: PlanName
    outputs: RunOutputs | None
    problems: tuple[str, ...]


def measure(
    journals: RunJournals,
    scratch: StoragePath,
    small: Runner,
    spark: OnSpark,
    *,
    compacts: bool = False,
    outputs: OutputRules | None = None,
    force: PlanName | None = None,
    block_rows: int | None = None,
) -> RunFacts:
    """Find the records that are not clean; they are written below `scratch`, an empty folder.

    Args:
        small: runs the tasks of blocks; a shuffle needs `spark`.
        compacts: the topic keeps only the newest record of each key.
        outputs: what the application under test promises of its outputs (None: there is none).
        force: use this plan, whatever the statistics of the files say (None: the better one).
        block_rows: number of sends in a block (None: what suits `small`).
    """
    files = journals.files
    block_rows = block_rows or (LOCAL_BLOCK_ROWS if small.in_one_process else BLOCK_ROWS)
    committed_readers = frozenset(n for n, reader in enumerate(journals.readers) if reader.committed)
    context = RunContext(
        run=journals.meta.run_id,
        topics=_topics(journals),
        committed_readers=committed_readers,
        transactional=bool(files.committed),
        compacts=compacts,
        txns=tuple(file.path for file in files.txns),
        scratch=str(scratch),
        outputs=outputs,
    )
    if context.outputs is not None:
        (scratch / "order").mkdir()
    if context.compacts:
        (scratch / "wanted").mkdir()
    chosen = None if force == "shuffle" else _plan(journals, block_rows, small.side_by_side)
    if chosen is not None and force != "blocks" and chosen.ratio > MOST_READ:
        chosen = None
    if chosen is not None and small.in_one_process:
        context = replace(context, kept=KeptRecords())
    owners = {} if chosen is None else _owners(chosen)
    final = [
        group
        for group in row_groups(files.final, identities=False)
        if not any((group.path, group.number) in owned for owned in owners.values())
    ]
    shares = [("final", task) for task in _index_tasks(final)]
    if committed_readers:
        committed = row_groups(files.committed, identities=False)
        shares += [("committed", task) for task in _index_tasks(committed)]
    if chosen is None:
        from checkers.facts.shuffle import bands_of, shuffled_reports

        bands = bands_of(spark.session(), files, block_rows)
        answers = _tagged(small, SharedOfBlocks(context, bands), shares)

        def work(later: Mapping[int, Later]) -> list[TaskReport]:
            return shuffled_reports(spark.session(), files, context, bands, later)

        reports = _run_until_ordered(work, bands.count)
    else:
        shared = SharedOfBlocks(
            context, chosen.bands, DecodedGroups(chosen) if small.in_one_process else None
        )
        first = [("", task) for task in _select_tasks(chosen, {}, owners)]
        answers = _tagged(small, shared, [*shares, *first])
        begun = [TaskReport.from_bytes(answer) for answer in answers.pop("", [])]
        answers["final"] += [report.index for report in begun]

        def work(later: Mapping[int, Later]) -> list[TaskReport]:
            if not later:
                return begun
            again = small.run(SharedOfBlocks(context, chosen.bands), _select_tasks(chosen, later))
            return [TaskReport.from_bytes(answer) for answer in again]

        reports = _run_until_ordered(work, chosen.bands.count)
    held = OffsetIndex({}, {}, {})
    for name in ("final", "committed"):
        index = merge_indexes(map(index_from_bytes, answers.get(name, ())))
        held = index if name == "final" else held
        (scratch / f"index-{name}").write_bytes(index_to_bytes(index))
    outcomes: Counter[str] = Counter()
    acked: Counter[int] = Counter()
    for report in reports:
        for step, word, count in report.sends:
            outcomes[word] += count
            if word == SendOutcome.ACKED:
                acked[step] += count
    return RunFacts(
        context=context,
        blocks=tuple(sorted(report.number for report in reports)),
        selected=tuple(sorted(report.number for report in reports if report.records)),
        outcomes=dict(outcomes),
        acked_by_step=dict(acked),
        reports=tuple(each for report in reports for each in report.reports),
        reads=sum(file.rows for file in files.final),
        repeated=sum(report.repeated for report in reports),
        held=held,
        plan="shuffle" if chosen is None else "blocks",
        outputs=None if context.outputs is None else RunOutputs.of(reports),
        problems=_unknown_words(journals, outcomes),
    )


@dataclass(frozen=True)
class _Tagged:
    """A task whose answer begins with the name of what it belongs to."""

    name: str
    task: Task

    def __call__(self, shared: Any) -> bytes:
        return self.name.encode() + b"\0" + self.task(shared)


def _tagged(
    runner: Runner, shared: SharedOfBlocks, tasks: Sequence[tuple[str, Task]]
) -> dict[str, list[bytes]]:
    """The answers by name, of tasks that run together."""
    found: dict[str, list[bytes]] = defaultdict(list)
    for answer in runner.run(shared, [_Tagged(name, task) for name, task in tasks]):
        name, _, rest = answer.partition(b"\0")
        found[name.decode()].append(rest)
    return found


def _balanced(block_rows: int, sends: int, side_by_side: int) -> int:
    """Rows of a block with which all tasks that run side by side have the same to do."""
    if block_rows < LEAST_BLOCK_ROWS or sends < 2 * LEAST_BLOCK_ROWS:
        return block_rows
    rounds = -(-sends // (block_rows * side_by_side))
    return min(block_rows, max(LEAST_BLOCK_ROWS, -(-sends // (rounds * side_by_side))))


def _plan(journals: RunJournals, block_rows: int, side_by_side: int) -> ReadPlan | None:
    """The plan of blocks.

    If small blocks would read too many row groups several times, larger ones are tried: with many partitions
    the records of a band are spread over more row groups.
    """
    sends = sum(file.rows for file in (*journals.files.sends, *journals.files.opened))
    balanced = _balanced(block_rows, sends, side_by_side)
    files = journals.files
    try:
        live = [group for number, parts in enumerate(files.live) for group in row_groups(parts, number)]
        groups: dict[str, Sequence[RowGroup]] = {
            "sends": row_groups(files.sends),
            "opened": row_groups(files.opened),
            "final": row_groups(files.final),
            "committed": row_groups(files.committed),
            "live": live,
            REPLICAS: row_groups(files.replicas),
        }
        if files.outputs:
            groups["outputs"] = row_groups(files.outputs)
    except NoStatistics:
        return None
    chosen = None
    for rows in dict.fromkeys([balanced, *(block_rows * larger for larger in _LARGER)]):
        chosen = plan(groups, rows)
        if chosen is None or chosen.ratio <= MOST_READ:
            break
    return chosen


def _owners(chosen: ReadPlan) -> dict[int, frozenset[tuple[str, int]]]:
    """By block, the row groups of the final read that it indexes: of the blocks that read it, the first."""
    seen: set[tuple[str, int]] = set()
    owners = {}
    for block in chosen.blocks:
        mine = {(group.path, group.number) for group in block.groups["final"]} - seen
        owners[block.number] = frozenset(mine)
        seen |= mine
    return owners


def _select_tasks(
    chosen: ReadPlan,
    later: Mapping[int, Later],
    owners: Mapping[int, frozenset[tuple[str, int]]] = MappingProxyType({}),
) -> list[SelectBlock]:
    """Tasks for all blocks, or for those that need the offsets of later ones."""
    return [
        SelectBlock(
            block,
            later.get(block.number, {}),
            owners.get(block.number, frozenset()),
        )
        for block in chosen.blocks
        if not later or block.number in later
    ]


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


def _index_tasks(groups: Sequence[RowGroup]) -> list[IndexGroups]:
    """Tasks that index row groups of a read, each some of them as they are in the files."""
    shares: list[list[RowGroup]] = [[]]
    rows = 0
    for group in groups:
        if rows + group.rows > _SHARE_ROWS and shares[-1]:
            shares.append([])
            rows = 0
        shares[-1].append(group)
        rows += group.rows
    return [IndexGroups(tuple(share)) for share in shares if share]


def _topics(journals: RunJournals) -> tuple[str, ...]:
    """Names of all topics in the run, sorted."""
    files = journals.files
    found = {journals.meta.topic}
    if journals.meta.final_read is not None:
        found |= {bound.topic for bound in journals.meta.final_read.bounds}
    for parts in (files.sends, files.opened, files.outputs, *_reads(journals)):
        found |= distinct_words(parts, "topic")
    return tuple(sorted(found))


def _reads(journals: RunJournals) -> list[tuple[JournalFile, ...]]:
    """The files of all journals of reads."""
    return [journals.files.final, journals.files.committed, *journals.files.live]


def _unknown_words(journals: RunJournals, outcomes: Mapping[str, Any]) -> tuple[str, ...]:
    states: set[str] = set()
    for parts in _reads(journals):
        states |= distinct_words(parts, "state")
    outputs = distinct_words(journals.files.outputs, "state")
    return tuple(
        f"the {journal} journal holds the {what} '{word}', which this version does not know, "
        "so the verdict is unknown"
        for journal, what, found, known in (
            ("sends", "outcome", set(outcomes), {outcome.value for outcome in SendOutcome}),
            ("reads", "state", states, {state.value for state in ReadState}),
            ("outputs", "state", outputs, {*(state.value for state in ReadState), UNMAPPED}),
        )
        for word in sorted(found - known)
    )
