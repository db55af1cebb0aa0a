"""Findings about the progress of consumer groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.checks.run import attempt, run_checks
from checkers.checks.sentences import FindingRows
from checkers.facts.columns import NULL, ColumnBatch, nullable
from checkers.facts.deliveries import Unit
from checkers.facts.group_journals import GroupFiles
from checkers.findings.fault_windows import open_windows
from checkers.findings.table import FINDINGS, Labels, findings_table, partition_numbers, place_names
from checkers.findings.value_findings import one_each
from checkers.journals.load import RunJournals
from harness.model.run import FaultWindow, ReaderInfo

_RETENTION = "offsets.retention.minutes"
_RETENTION_MINUTES = 7 * 24 * 60
_SESSION = "group.consumer.session.timeout.ms"
_MILLISECOND, _MINUTE = 1_000_000, 60_000_000_000


def group_files(journals: RunJournals) -> GroupFiles:
    """The journals that all groups of a run share."""
    files, meta = journals.files, journals.meta
    properties = meta.cluster.properties

    def session_ms(reader: ReaderInfo) -> int:
        if reader.protocol == "classic":
            return reader.session_ms
        return int(properties.get(_SESSION, reader.session_ms))

    return GroupFiles(
        assignments=tuple(str(file.path) for file in files.assignments),
        commits=tuple(str(file.path) for file in files.commits),
        offsets=tuple(str(file.path) for file in files.offsets),
        session_ns={
            number: session_ms(reader) * _MILLISECOND for number, reader in enumerate(journals.readers)
        },
        retention_ns=int(properties.get(_RETENTION, _RETENTION_MINUTES)) * _MINUTE,
        made_again=tuple(
            (step.started_ns, step.ended_ns or step.started_ns)
            for step in meta.steps
            if step.kind == "recreate_topic"
        ),
    )


def progress_findings(
    unit: Unit,
    rows: ColumnBatch,
    topics: Sequence[str],
    readers: Sequence[str],
    windows: Sequence[FaultWindow],
) -> tuple[pa.Table, list[str]]:
    """Findings from rows of `checkers.facts.progress.PROGRESS`, as `FINDINGS`, and the problems of checks
    that failed. `windows` are the faults that were open between the times of a row."""
    of_groups, claimed, problems = run_checks(rows, "group")
    tables = [findings_table(0, {})]
    for number, check in enumerate(of_groups):
        chosen = rows.where(np.flatnonzero(claimed == number))
        if not len(chosen):
            continue
        who = Labels.same(unit.name, len(chosen)).array()
        reader, other = (
            Labels(np.where(chosen[name] == NULL, -1, chosen[name]), readers).array()
            for name in ("reader", "other")
        )
        texts = {"who": who, "reader": reader, "other": other}
        texts["at"] = place_names(chosen["spot"], topics).array()
        sentence = FindingRows(chosen.columns, texts)
        detail, problem = attempt(check.finding.value, lambda: check.sentences(sentence))  # noqa: B023 - at once
        problems += [problem] if problem else []
        during = open_windows(windows, chosen["at_ns"], chosen["until_ns"], np.zeros(len(chosen), bool))
        columns = {
            "finding": Labels.same(check.finding.value, len(chosen)).array(),
            "partition": nullable(partition_numbers(chosen["spot"]), pa.int32()),
            "offsets": one_each(chosen["offset"]),
            "count": nullable(chosen["count"], FINDINGS.field("count").type),
            "reader": pc.coalesce(reader, who),
            "windows": during.array(),
        }
        tables.append(findings_table(len(chosen), columns | ({} if detail is None else {"detail": detail})))
    return pa.concat_tables(tables), problems
