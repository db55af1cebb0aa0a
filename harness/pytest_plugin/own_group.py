"""Judges the consumer groups of an application under test by the journals of their members.

A member is a live reader like a run's own: it gets the same journals, and they are checked in the same way.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from checkers import EngineChoice, group_findings
from harness.check_jobs import engines
from harness.cluster.protocol.client_requests import CommittedOffset
from harness.model.errors import BadInput
from harness.model.finding_class import Breaks, FindingClass
from harness.model.group_journal import (
    ASSIGNMENTS,
    ASSIGNMENTS_DIR,
    COMMITS,
    COMMITS_DIR,
    OFFSETS,
    OFFSETS_DIR,
)
from harness.model.journal import LIVE_DIR, READS, READS_DIR, SENDS_DIR, ReadState
from harness.model.journal_reader import JournalRow
from harness.model.run import ReaderInfo, RunMeta
from harness.pytest_plugin.delivery_report import Committed
from workloads.groups.offset_rows import answer_row
from workloads.own.consumer_journal import ConsumerJournal
from workloads.records.journal.parquet_parts import PartWriter

FOLDER = "own-groups"
"""The folder of these journals in the run's folder: GROUP/ with assignments, commits, offsets and live/."""
_AGAIN_SECONDS = 10.0
_EVERY_SECONDS = 0.5
_NOT_KNOWN = -1


def group_problems(
    journals: Sequence[ConsumerJournal],
    meta: RunMeta,
    run: Path,
    committed: Callable[[], Committed | str | None],
) -> list[str]:
    """What breaks the progress of the groups, a line each: findings of the classes that always break a
    verdict.

    A commit that the coordinator lacks is looked for again for a while, because one that was just elected may
    answer from an old state.

    Args:
        run: the run's folder, which has the final read, and in which the journals are kept.
        committed: asks what the groups have committed, as `ChaosResult.committed`.

    Raises:
        BadInput: two journals have one group and member.
        CheckError: a rule failed.
    """
    findings: list[JournalRow] = []
    for group in sorted({journal.group for journal in journals}):
        members = [journal for journal in journals if journal.group == group]
        _refuse_namesakes(group, [journal.member for journal in members])
        folder, answers = run / FOLDER / group, list[JournalRow]()
        deadline = time.monotonic() + _AGAIN_SECONDS
        while True:
            answers += _answers(group, meta.topic, members, committed)
            _write(folder, meta.topic, members, answers)
            problems = _problems(meta, folder, members, run / READS_DIR)
            lost = any(row["finding"] == FindingClass.COMMIT_LOST for row in problems)
            if not lost or time.monotonic() >= deadline:
                break
            time.sleep(_EVERY_SECONDS)
        findings += problems
    return [
        f"{row['finding']}: {row['detail']}" + (f" (during {row['windows']})" if row["windows"] else "")
        for row in findings
    ]


def _refuse_namesakes(group: str, names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise BadInput(
            "two journals are of one member",
            where=f"group {group}",
            expected="another name for each member of a group",
            found=", ".join(sorted(names)),
            next_step="pass another `member` to each ConsumerJournal",
        )


def _problems(
    meta: RunMeta, folder: Path, members: Sequence[ConsumerJournal], reads: Path
) -> list[JournalRow]:
    """The findings that break the progress of a group, by partition."""
    readers = tuple(
        ReaderInfo(name=journal.member, group=journal.group, session_ms=journal.session_ms)
        for journal in members
    )
    meta = meta.model_copy(update={"readers": readers})
    # The embedded engine starts in a second.
    engine = EngineChoice(engine="sail")
    findings = group_findings(lambda: engines.engine(engine).session(), meta, folder, reads_folder=reads)
    broken = [row for row in findings if FindingClass(row["finding"]).breaks is Breaks.ALWAYS]
    return sorted(broken, key=lambda row: (row["partition"], row["offsets"]))


def _answers(
    group: str,
    topic: str,
    members: Sequence[ConsumerJournal],
    committed: Callable[[], Committed | str | None],
) -> list[JournalRow]:
    """Rows of OFFSETS: a coordinator's answers now, if one can be asked, for partitions that have commits."""
    asked_ns = time.time_ns()
    answer = committed()
    if answer is None or isinstance(answer, str):
        return []
    offsets, times_ns = answer.get(group, {}), (asked_ns, time.time_ns())
    partitions = {
        partition
        for journal in members
        for event in journal.events
        if event.event == "committed"
        for partition, _ in event.places
    }
    return [
        answer_row(group, (topic, number), _NOT_KNOWN, CommittedOffset(offsets.get(number)), times_ns)
        for number in sorted(partitions)
    ]


def _write(folder: Path, topic: str, members: Sequence[ConsumerJournal], answers: list[JournalRow]) -> None:
    """Write the journals of a group, in place of those of an earlier question."""
    shutil.rmtree(folder, ignore_errors=True)
    # The check wants a journal of sends, even if there are none in it.
    (folder / SENDS_DIR).mkdir(parents=True)
    assignments: list[JournalRow] = []
    commits: list[JournalRow] = []
    for journal in members:
        given: list[JournalRow] = []
        for event in journal.events:
            row = {"reader": journal.member, "session": 0, "at_ns": event.at_ns, "topic": topic}
            places = [row | {"partition": partition, "offset": offset} for partition, offset in event.places]
            if event.event == "processed":
                given += [
                    position | {"read_ns": event.at_ns, "state": ReadState.OK.value} for position in places
                ]
            elif event.event == "committed":
                how = {"error": event.error, "kind": "request", "asked_ns": event.asked_ns}
                commits += [position | how for position in places]
            else:
                assignments += [position | {"event": event.event} for position in places]
        numbered = [row | {"position": number} for number, row in enumerate(given)]
        _write_journal(folder / LIVE_DIR / journal.member, numbered, READS)
    _write_journal(folder / ASSIGNMENTS_DIR, assignments, ASSIGNMENTS)
    _write_journal(folder / COMMITS_DIR, commits, COMMITS)
    _write_journal(folder / OFFSETS_DIR, answers, OFFSETS)


def _write_journal(folder: Path, rows: list[JournalRow], schema: pa.Schema) -> None:
    PartWriter(folder).write(pa.Table.from_pylist(rows, schema=schema))
