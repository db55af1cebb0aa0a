"""Judges the consumer groups of an application under test by the journals of their members."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.facts.deliveries import Unit
from checkers.facts.group_journals import GroupFiles, read_group, read_tables
from checkers.facts.offsets import Ranges
from checkers.facts.progress import progress_of
from checkers.findings.progress_findings import progress_findings
from harness.model.errors import BadInput, CheckError
from harness.model.journal import (
    ASSIGNMENTS,
    ASSIGNMENTS_DIR,
    COMMITS,
    COMMITS_DIR,
    LIVE_DIR,
    OFFSETS,
    OFFSETS_DIR,
    READS,
    ReadState,
)
from harness.model.result import Breaks, FindingClass
from harness.model.run import RunMeta
from workloads.journal.parquet_parts import PartWriter
from workloads.own.consumer_journal import ConsumerJournal

FOLDER = "own-groups"
"""The folder of these journals in the run's folder: GROUP/ with assignments, commits, offsets and live/."""
_AGAIN_SECONDS = 10.0
_EVERY_SECONDS = 0.5
_NOT_KNOWN = -1
_FOR_EVER = 2**62
_NS = 1_000_000

Committed = Mapping[str, Mapping[int, int]]
Position = tuple[int, int]
Answered = tuple[int, int, Mapping[int, int]]
"""When it was asked and answered (ns), and the group's committed offsets by partition."""


@dataclass(frozen=True, slots=True)
class GroupProblem:
    """A finding about a group: its class, a sentence, and the faults that were open meanwhile."""

    finding: FindingClass
    detail: str
    windows: str

    def __str__(self) -> str:
        return f"{self.finding.value}: {self.detail}{f' (during {self.windows})' if self.windows else ''}"


def group_problems(
    journals: Sequence[ConsumerJournal],
    there: Iterable[Position],
    meta: RunMeta,
    run: Path,
    committed: Callable[[], Committed | str | None],
) -> list[GroupProblem]:
    """What breaks the progress of the groups: findings of the classes that always break a verdict.

    A commit that the coordinator lacks is looked for again for a while, because one that was just elected may
    answer from an old state.

    Args:
        there: partition and offset of every record of the final read.
        run: the run's folder, in which the journals are kept.
        committed: asks what the groups have committed, as `ChaosResult.committed`.

    Raises:
        BadInput: two journals have one group and member.
    """
    ranges = _ranges(there)
    found: list[GroupProblem] = []
    for group in sorted({one.group for one in journals}):
        members = [one for one in journals if one.group == group]
        names = [one.member for one in members]
        if len(set(names)) < len(names):
            raise BadInput(
                "two journals are of one member",
                where=f"group {group}",
                expected="another name for each member of a group",
                found=", ".join(sorted(names)),
                next_step="pass another `member` to each ConsumerJournal",
            )
        asked: list[Answered] = []
        deadline = time.monotonic() + _AGAIN_SECONDS
        while True:
            asked += _asked(group, committed)
            problems = _problems_of(group, members, asked, ranges, meta, run / FOLDER / group)
            lost = any(one.finding is FindingClass.COMMIT_LOST for one in problems)
            if not lost or time.monotonic() >= deadline:
                break
            time.sleep(_EVERY_SECONDS)
        found += problems
    return found


def _asked(group: str, committed: Callable[[], Committed | str | None]) -> list[Answered]:
    """One answer; none if no coordinator could be asked."""
    asked_ns = time.time_ns()
    answer = committed()
    if answer is None or isinstance(answer, str):
        return []
    return [(asked_ns, time.time_ns(), answer.get(group, {}))]


def _ranges(there: Iterable[Position]) -> dict[int, Ranges]:
    """The offsets of the final read, by partition."""
    offsets: dict[int, list[int]] = {}
    for partition, offset in there:
        offsets.setdefault(partition, []).append(offset)
    return {number: Ranges.of(np.array(sorted(some), np.int64)) for number, some in offsets.items()}


def _problems_of(
    group: str,
    members: Sequence[ConsumerJournal],
    asked: Sequence[Answered],
    ranges: Mapping[int, Ranges],
    meta: RunMeta,
    folder: Path,
) -> list[GroupProblem]:
    files = _written(group, members, asked, meta.topic, folder)
    numbered = dict(enumerate(one.member for one in members))
    unit = Unit(
        group,
        group=True,
        committed=False,
        readers=tuple((number, name, (files[f"{LIVE_DIR}/{name}"],)) for number, name in numbered.items()),
        rows=sum(len(one.positions()) for one in members),
    )
    shared = GroupFiles(
        assignments=(files[ASSIGNMENTS_DIR],),
        commits=(files[COMMITS_DIR],),
        offsets=(files[OFFSETS_DIR],),
        session_ns={number: one.session_ms * _NS for number, one in enumerate(members)},
        retention_ns=_FOR_EVER,
    )
    # The run's topic is number 0, so that a spot is the number of a partition.
    rows = progress_of(read_group(unit, read_tables(shared), {meta.topic: 0}), shared, ranges)
    findings, problems = progress_findings(unit, rows, (meta.topic,), list(numbered.values()), meta.windows)
    if problems:
        raise CheckError("the groups of the application cannot be judged", found="; ".join(problems))
    told = [
        GroupProblem(FindingClass(row["finding"]), row["detail"], row["windows"])
        for row in findings.to_pylist()
    ]
    return [one for one in told if one.finding.breaks is Breaks.ALWAYS]


def _written(
    group: str, members: Sequence[ConsumerJournal], asked: Sequence[Answered], topic: str, folder: Path
) -> dict[str, str]:
    """Write the journals into `folder`; returns their files by name."""
    shutil.rmtree(folder, ignore_errors=True)
    assignments: list[dict[str, Any]] = []
    commits: list[dict[str, Any]] = []
    tables: dict[str, pa.Table] = {}
    for one in members:
        for event in one.events:
            row: dict[str, Any] = {"reader": one.member, "session": 0, "at_ns": event.at_ns, "topic": topic}
            places = [row | {"partition": partition, "offset": offset} for partition, offset in event.places]
            if event.event == "committed":
                how = {"error": event.error, "kind": "request", "asked_ns": event.asked_ns}
                commits += [place | how for place in places]
            elif event.event != "processed":
                assignments += [place | {"event": event.event} for place in places]
        tables[f"{LIVE_DIR}/{one.member}"] = pa.Table.from_pylist(_processed(one, topic), schema=READS)
    answers = [
        {
            "group": group,
            "topic": topic,
            "partition": partition,
            "asked_ns": asked_ns,
            "at_ns": at_ns,
            "source": "fetch",
            "broker": _NOT_KNOWN,
            "offset": offsets.get(partition),
        }
        for asked_ns, at_ns, offsets in asked
        for partition in sorted({row["partition"] for row in commits})
    ]
    tables[ASSIGNMENTS_DIR] = pa.Table.from_pylist(assignments, schema=ASSIGNMENTS)
    tables[COMMITS_DIR] = pa.Table.from_pylist(commits, schema=COMMITS)
    tables[OFFSETS_DIR] = pa.Table.from_pylist(answers, schema=OFFSETS)
    for name, table in tables.items():
        PartWriter(folder / name).write(table)
    return {name: str(next((folder / name).glob("*.parquet"))) for name in tables}


def _processed(journal: ConsumerJournal, topic: str) -> list[dict[str, object]]:
    """Rows of records that a member processed."""
    places = [
        (event.at_ns, partition, offset)
        for event in journal.events
        if event.event == "processed"
        for partition, offset in event.places
    ]
    return [
        {
            "reader": journal.member,
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "state": ReadState.OK.value,
            "read_ns": at_ns,
            "session": 0,
            "position": number,
        }
        for number, (at_ns, partition, offset) in enumerate(places)
    ]
