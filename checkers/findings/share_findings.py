"""Findings about share groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.checks.run import attempt, run_checks
from checkers.checks.sentences import FindingRows
from checkers.facts.columns import NULL, Ints, nullable
from checkers.facts.offsets import NOTHING, Ranges
from checkers.facts.share import STUCK, ShareHistory, share_anomalies
from checkers.facts.share_doubts import doubts_of
from checkers.facts.share_rows import read_deliveries, read_starts
from checkers.facts.tasks import RunContext
from checkers.findings.leadership_history import LeadershipHistory
from checkers.findings.table import FINDINGS, Labels, findings_table, partition_numbers, place_names
from checkers.findings.value_findings import one_each
from harness.model.run import FaultWindow, ShareInfo


@dataclass(frozen=True)
class ShareFiles:
    """The files of a run's journals of share groups."""

    deliveries: tuple[str, ...]
    offsets: tuple[str, ...]
    events: tuple[str, ...]


def share_findings(
    info: ShareInfo,
    files: ShareFiles,
    context: RunContext,
    *,
    windows: Sequence[FaultWindow],
    leadership: LeadershipHistory,
    properties: Mapping[str, str],
) -> tuple[pa.Table, list[str]]:
    """Findings about a share group, as `FINDINGS`, and the problems of checks that failed and of journals
    that are not whole."""
    rows = read_deliveries(files.deliveries, info, context.numbers)
    starts = read_starts(files.offsets, info, context.numbers)
    changes = _changes(leadership)
    history = ShareHistory(
        info=info,
        rows=rows,
        starts=starts,
        there=_there(context),
        doubts=doubts_of(
            info, events=files.events, windows=windows, leader_changes=changes, properties=properties
        ),
    )
    found, problem = attempt("share groups", lambda: share_anomalies(history))
    begun = any(start != NULL for start in starts.start.values())
    # A group that was given nothing at all never begins: then it is known.
    known = begun or (found is not None and bool((found["kind"] == STUCK).any()))
    problems = _missing(info, len(rows), known)
    if found is None:
        return findings_table(0, {}), [*problems, problem or ""]
    checks, claimed, failed = run_checks(found, "share")
    problems += failed
    tables = []
    for number, check in enumerate(checks):
        chosen = found.where(np.flatnonzero(claimed == number))
        count = len(chosen)
        member, other = (_names(chosen[name], info.members) for name in ("member", "other"))
        who = Labels.same(info.group, count).array()
        texts = {
            "who": who,
            "at": place_names(chosen["spot"], context.topics).array(),
            "reader": member.array(),
            "other": other.array(),
        }
        sentence = FindingRows(chosen.columns, texts)
        detail, problem = attempt(check.finding.value, lambda: check.sentences(sentence))  # noqa: B023 - at once
        problems += [problem] if problem else []
        columns = {
            name: nullable(chosen[name], FINDINGS.field(name).type) for name in ("producer", "seq", "count")
        }
        columns |= {
            "finding": Labels.same(check.finding.value, count).array(),
            "partition": nullable(partition_numbers(chosen["spot"]), pa.int32()),
            "offsets": one_each(chosen["offset"]),
            "reader": who,
        }
        tables.append(findings_table(count, columns | ({} if detail is None else {"detail": detail})))
    return pa.concat_tables(tables), problems


def _changes(leadership: LeadershipHistory) -> list[int]:
    """When each leader epoch of a partition but its first was first sampled."""
    seen: dict[int, dict[int, int]] = {}
    for partition, begun, _, _, epoch in leadership.spans:
        epochs = seen.setdefault(partition, {})
        epochs[epoch] = min(begun, epochs.get(epoch, begun))
    return [at for epochs in seen.values() for epoch, at in epochs.items() if epoch != min(epochs)]


def _names(numbers: Ints, members: Sequence[str]) -> Labels:
    return Labels(np.where(numbers == NULL, -1, numbers), members)


def _there(context: RunContext) -> dict[int, Ranges]:
    """What the final read holds, damaged values included, by spot."""
    final = context.index()
    found = {}
    for spot in {*final.readable, *final.bad}:
        one, other = final.readable.get(spot, NOTHING), final.bad.get(spot, NOTHING)
        found[spot] = Ranges(
            np.concatenate([one.start, other.start]), np.concatenate([one.end, other.end])
        ).merged()
    return found


def _missing(info: ShareInfo, rows: int, starts: bool) -> list[str]:
    problems = []
    if info.closed and info.deliveries != rows:
        problems.append(
            f"the journal of deliveries holds {rows:,} of share group '{info.name}', its members say "
            f"{info.deliveries:,}, so the verdict is unknown"
        )
    if not starts:
        problems.append(
            f"it is not known where share group '{info.name}' begins at the end, so the verdict is unknown"
        )
    return problems
