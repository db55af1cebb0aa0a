"""The evidence of each finding about a record: names instead of numbers, replicas that hold the record, open
faults, leader epochs, a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.checks.base import present
from checkers.checks.run import NONE, attempt, run_checks
from checkers.checks.sentences import FindingRows
from checkers.facts.columns import NULL, OUTCOMES, Flags, Ints, nullable
from checkers.facts.places import ranked
from checkers.facts.record import RecordFacts
from checkers.findings.fault_windows import open_windows
from checkers.findings.leadership_history import LeadershipHistory, acknowledging_leaders
from checkers.findings.table import FINDINGS, Labels, findings_table, partition_numbers, place_names
from harness.model.result import FindingClass
from harness.model.run import FaultWindow

NOT_COMMITTED = "not committed"
"""Place of a lost record that the log does hold, so it is not looked for in the replicas' files."""
_PLACES = (NOT_COMMITTED, "overwritten", "tail", "unknown")


@dataclass(frozen=True)
class RunNames:
    """What findings of a run name: topics and readers by number, fault windows, and who led when."""

    run: int
    topics: tuple[str, ...]
    readers: tuple[str, ...]
    windows: tuple[FaultWindow, ...]
    leadership: LeadershipHistory


@dataclass(frozen=True)
class Holders:
    """Which brokers' own files hold records: pairs of a record's number and a broker."""

    record: Ints
    broker: Ints


def classified(facts: RecordFacts) -> tuple[RecordFacts, list[FindingClass], list[str]]:
    """The records of a class, ordered by it, with `finding`, the index into the classes that are returned;
    and the problems of checks that failed.

    Args:
        facts: with all columns that `checkers.findings.record_context` adds.
    """
    of_records, found, problems = run_checks(facts, "record")
    claimed = np.flatnonzero(found != NONE)
    claimed = claimed[np.argsort(found[claimed], kind="stable")]
    return facts.where(claimed).plus(finding=found[claimed]), [one.finding for one in of_records], problems


def lost_of(facts: RecordFacts, classes: Sequence[FindingClass]) -> Flags:
    """Which classified records are lost and not in the log, so that the replicas' files are looked at."""
    return np.asarray(_of(facts, classes, FindingClass.LOST) & ~facts["not_committed"])


def evidence(
    facts: RecordFacts, classes: Sequence[FindingClass], names: RunNames, holders: Holders | None
) -> tuple[pa.Table, list[str]]:
    """Findings of records, as `FINDINGS`, and the problems of sentences that failed.

    Args:
        facts: as `classified` returns them, with these classes.
        holders: of lost records, by their number in `facts`; None: no replica's files were read.
    """
    lost, vanished = (_of(facts, classes, finding) for finding in (FindingClass.LOST, FindingClass.VANISHED))
    missing = lost_of(facts, classes)
    place = _places(facts, lost)
    held = _held_by(holders, missing)
    partition = partition_numbers(np.where(facts["spot"] == NULL, facts["seen_spot"], facts["spot"]))
    leader, epoch = acknowledging_leaders(
        names.leadership, partition_numbers(facts["spot"]), facts["closed_ns"], lost
    )
    code = facts["outcome"]
    brokers = [*(", ".join(map(str, one)) for one in held.names), ""]
    labels = {
        "outcome": Labels(np.where((code >= 0) & (code < len(OUTCOMES)), code, -1), OUTCOMES),
        "error": Labels(np.maximum(facts["error"], -1), facts.errors),
        "reader": Labels(np.maximum(facts["live_reader"], -1), names.readers),
        "place": place,
        "holders": Labels(np.where(held.codes < 0, len(held.names), held.codes), brokers),
        "sent_to": place_names(facts["spot"], names.topics),
        "first_at": place_names(facts["seen_spot"], names.topics),
        "elsewhere": place_names(facts["away_spot"], names.topics),
    }
    texts = {name: label.coded() for name, label in labels.items()}
    facts = facts.plus(
        epochs=np.where(present(facts), np.maximum(facts["epochs"], 1), facts["epochs"]),
        this_run=np.full(len(facts), names.run),
    )
    detail, problems = _details(facts, texts)
    key = np.where(facts["send_rows"] > 0, facts["key"], facts["first_key"])
    numbers = {
        **{name: facts[name] for name in ("producer", "seq", "step", "sent_ns", "closed_ns", "acked_offset")},
        **{name: facts[name] for name in ("copies", "epochs", "txn")},
        "partition": partition,
        "key": key,
        "acked_by": leader,
        "acked_epoch": epoch,
        "replaced_epoch": np.where(missing, facts["epoch_there"], NULL),
    }
    columns = {name: nullable(column, FINDINGS.field(name).type) for name, column in numbers.items()}
    columns |= {name: texts[name] for name in ("outcome", "error", "reader", "place")}
    columns |= {
        "finding": Labels(facts["finding"], [one.value for one in classes]).coded(),
        "offsets": facts.offsets,
        "held_by": held.array(pa.list_(pa.int32())),
        "windows": open_windows(names.windows, facts["sent_ns"], facts["closed_ns"], lost | vanished).coded(),
        "detail": detail,
    }
    return findings_table(len(facts), columns), problems


def _of(facts: RecordFacts, classes: Sequence[FindingClass], finding: FindingClass) -> Flags:
    number = classes.index(finding) if finding in classes else NONE - 1
    return np.asarray(facts["finding"] == number)


def _places(facts: RecordFacts, lost: Flags) -> Labels:
    """What is at the acknowledged offset of each lost record."""
    tail = (facts["acked_offset"] != NULL) & (facts["end_offset"] != NULL)
    tail &= facts["acked_offset"] >= facts["end_offset"]
    code = np.where(tail, 2, 3)
    code = np.where(facts["overwritten"] | facts["overwritten_badly"], 1, code)
    code = np.where(facts["not_committed"], 0, code)
    return Labels(np.where(lost, code, -1), _PLACES)


def _held_by(holders: Holders | None, missing: Flags) -> Labels:
    """The brokers that hold each missing record, ascending, as lists; null for the others."""
    code = np.zeros(len(missing), np.int64)
    if holders is None:
        return Labels(np.full(len(missing), -1), [])
    kinds: list[tuple[int, ...]] = [()]
    for broker in np.unique(holders.broker).tolist():
        holds = np.zeros(len(missing), bool)
        holds[holders.record[holders.broker == broker]] = True
        many, code = ranked(code * 2 + holds)
        kinds = [(*kinds[one >> 1], broker) if one & 1 else kinds[one >> 1] for one in many.tolist()]
    return Labels(np.where(missing, code, -1), kinds)


def _details(facts: RecordFacts, texts: dict[str, pa.Array]) -> tuple[pa.ChunkedArray, list[str]]:
    """The sentence of each record; the records are ordered by class."""
    from checkers import checks

    parts, problems = list[pa.Array](), list[str]()
    of_records = checks.checks_of("record")
    starts = np.searchsorted(facts["finding"], np.arange(len(of_records) + 1))
    for check, begin, end in zip(of_records, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if begin == end:
            continue
        rows = FindingRows(
            {name: column[begin:end] for name, column in facts.columns.items()},
            {name: text.slice(begin, end - begin) for name, text in texts.items()},
        )
        sentences, problem = attempt(check.finding.value, lambda: check.sentences(rows))  # noqa: B023 - at once
        problems += [problem] if problem else []
        parts.append(pa.nulls(end - begin, pa.string()) if sentences is None else sentences)
    return pa.chunked_array(parts, pa.string()), problems
