"""Findings about the outputs of an application under test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.checks.run import attempt, run_checks
from checkers.checks.sentences import FindingRows
from checkers.facts.columns import NULL, OUTCOMES, ColumnBatch, Ints, codes, integers, nullable, words
from checkers.facts.output_order import ORDER, late_outputs, order_file
from checkers.facts.outputs import OUTPUT_FACTS, OutputFacts, OutputRules, one_offset_each, unsent_facts
from checkers.facts.reading import outputs_of, tables
from checkers.facts.tasks import RunContext
from checkers.findings.application_history import ApplicationHistory
from checkers.findings.fault_windows import open_windows
from checkers.findings.table import FINDINGS, Labels, findings_table, partition_numbers, place_names
from checkers.journals.footers import RowGroup
from harness.model.journal import ReadState
from harness.model.result import ABORTED_INPUT, INPUT_NOT_IN_LOG, FindingClass
from harness.model.run import FaultWindow
from harness.model.storage import StoragePath, open_parquet

_OK = {ReadState.OK.value: 0}
_COLUMNS = [
    *("topic", "partition", "offset", "timestamp_ms", "state", "run", "producer", "seq", "committed", "error")
]
_WHY = {
    ReadState.FOREIGN.value: "it carries the identity of another run",
    ReadState.CORRUPT.value: "the checksum of its identity does not match",
    ReadState.UNDECODABLE.value: "it carries no identity",
    "unmapped": "the identity of the application maps it to none",
}
_NEVER_SENT = "never sent"


@dataclass(frozen=True)
class OutputNames:
    """What findings about outputs name: topics by number, fault windows, and what the application's journal
    says."""

    topics: tuple[str, ...]
    windows: tuple[FaultWindow, ...]
    history: ApplicationHistory


def output_findings(
    facts: OutputFacts, names: OutputNames, places: Labels | None = None, why: pa.Array | None = None
) -> tuple[pa.Table, list[str]]:
    """Findings about inputs and their outputs, as `FINDINGS`, and the problems of checks that failed.

    Args:
        places: what `place` says of invented outputs, if their identity is not one that was never sent.
        why: why each of these is invented.
    """
    checks, claimed, problems = run_checks(facts.rows, "output")
    tables = [findings_table(0, {})]
    for number, check in enumerate(checks):
        chosen = np.flatnonzero(claimed == number)
        if not len(chosen):
            continue
        rows = facts.rows.where(chosen)
        finding = check.finding
        instance, checkpoint = _blamed(rows, finding, names)
        texts = {
            "input": place_names(rows["in_spot"], names.topics).array(),
            "output": place_names(rows["out_spot"], names.topics).array(),
            "again": place_names(rows["again_spot"], names.topics).array(),
            "sent_to": place_names(rows["spot"], names.topics).array(),
            "outcome": _outcomes(rows).array(),
            "instance": instance.array(),
            "why": _never_sent(rows) if why is None else why.take(pa.array(chosen)),
        }
        sentence = FindingRows(rows.columns | {"checkpoint": checkpoint}, texts)
        detail, problem = attempt(finding.value, lambda: check.sentences(sentence))  # noqa: B023 - at once
        problems += [problem] if problem else []
        partition = rows["out_spot"] if finding is FindingClass.INVENTED else rows["spot"]
        numbers = {
            **{name: rows[name] for name in ("producer", "seq", "key", "step", "sent_ns", "closed_ns")},
            **{name: rows[name] for name in ("acked_offset", "txn")},
            "copies": rows["outputs"],
            "checkpoint": checkpoint,
            "partition": partition_numbers(partition),
        }
        columns = {name: nullable(column, FINDINGS.field(name).type) for name, column in numbers.items()}
        place = _places(rows, finding) if places is None else Labels(places.codes[chosen], places.names)
        columns |= {
            "finding": Labels.same(finding.value, len(rows)).array(),
            "outcome": texts["outcome"],
            "offsets": facts.offsets.take(pa.array(chosen)),
            "place": place.array(),
            "reader": texts["instance"],
            "windows": _windows(rows, finding, names).array(),
        }
        tables.append(findings_table(len(rows), columns | ({} if detail is None else {"detail": detail})))
    return pa.concat_tables(tables), problems


def invented_values(
    groups: Sequence[RowGroup], context: RunContext, rules: OutputRules, names: OutputNames
) -> tuple[pa.Table, list[str]]:
    """Findings about outputs in these row groups whose identity cannot be trusted, or that map to no
    input."""
    found, problems = [findings_table(0, {})], []
    states = list(_WHY)
    for _, table in tables(groups, _COLUMNS):
        rows, counts = outputs_of(table, context.numbers, committed_only=rules.committed_only)
        chosen = np.flatnonzero(counts & (codes(table.column("state"), _OK) != 0))
        if not len(chosen):
            continue
        rows = rows.where(chosen)
        facts = unsent_facts(
            rules,
            producer=rows["producer"],
            seq=rows["seq"],
            out_spot=rows["spot"],
            out_offset=rows["offset"],
            moment=rows["moment"],
        )
        state = codes(table.column("state"), {word: code for code, word in enumerate(states)})[chosen]
        error, errors = words(table.column("error"))
        why = [
            _WHY[states[one]] + ("" if said < 0 else f" ({errors[said]})")
            for one, said in zip(state.tolist(), error[chosen].tolist(), strict=True)
        ]
        part, failed = output_findings(facts, names, Labels(state, states), pa.array(why, pa.string()))
        found.append(part)
        problems += failed
    return pa.concat_tables(found), problems


def order_findings(
    spot: int, blocks: Sequence[int], context: RunContext, rules: OutputRules, names: OutputNames
) -> tuple[pa.Table, list[str]]:
    """Findings about the order of the outputs in one partition of the output, from all blocks that have
    outputs there."""
    files = [order_file(context.scratch, spot, number) for number in blocks]
    parts = []
    for path in files:
        with open_parquet(path) as file:
            table = file.read(columns=list(_OF_ORDER), use_threads=False)
        parts.append(ColumnBatch({name: integers(table.column(name)) for name in _OF_ORDER}))
    rows = ColumnBatch.joined(parts, _OF_ORDER)
    late, ahead = late_outputs(rows, rules.order)
    if not len(late):
        return findings_table(0, {}), []
    late, back = np.unique(late, return_index=True)
    found = _rest_of_order(files, late)
    return output_findings(_late_facts(found, ahead[back], rules), names)


_OF_ORDER = ("out_offset", "in_spot", "in_offset", "key")


def _rest_of_order(files: Sequence[StoragePath], chosen: Ints) -> ColumnBatch:
    """All columns of `ORDER` of the rows with these numbers, which ascend over all blocks."""
    parts, begin = [], 0
    for path in files:
        with open_parquet(path) as file:
            end = begin + file.metadata.num_rows
            mine = chosen[(chosen >= begin) & (chosen < end)] - begin
            begin = end
            if len(mine):
                table = file.read(use_threads=False).take(pa.array(mine))
                parts.append(ColumnBatch({name: integers(table.column(name)) for name in ORDER}))
    return ColumnBatch.joined(parts, ORDER)


def _late_facts(rows: ColumnBatch, ahead: Ints, rules: OutputRules) -> OutputFacts:
    count = len(rows)
    none, one = np.zeros(count, bool), np.ones(count, np.int64)
    columns = {name: np.full(count, NULL, np.int64) for name in OUTPUT_FACTS}
    columns |= {name: rows[name] for name in ORDER}
    columns |= dict.fromkeys(("aborted", "by_policy", "expected"), none)
    columns |= {
        "sent": ~none,
        "in_log": ~none,
        "late": ~none,
        "complete": np.full(count, rules.complete),
        "ahead": ahead,
    }
    # No other check may claim what it claims in another task.
    columns |= dict.fromkeys(("outputs", "allowed", "per_input", "copies"), one)
    return OutputFacts(ColumnBatch(columns), one_offset_each(rows["out_offset"]))


def _blamed(rows: ColumnBatch, finding: FindingClass, names: OutputNames) -> tuple[Labels, Ints]:
    """The instance that was started again before, and the last checkpoint before."""
    history = names.history
    if finding is FindingClass.UNPROCESSED:
        nobody = np.full(len(rows), -1, np.int64)
        return Labels(nobody, []), history.checkpoint_below(rows["in_spot"], rows["in_offset"])
    instance = history.restarted_before(rows["sent_ns"], rows["moment"])
    checkpoint = history.checkpoint_at(rows["in_spot"], rows["moment"])
    many = np.unique(instance[instance != NULL])
    code = np.where(instance == NULL, -1, np.searchsorted(many, instance))
    return Labels(code, [f"instance {number}" for number in many.tolist()]), checkpoint


def _outcomes(rows: ColumnBatch) -> Labels:
    code = rows["outcome"]
    return Labels(np.where((code >= 0) & (code < len(OUTCOMES)), code, -1), OUTCOMES)


def _never_sent(rows: ColumnBatch) -> pa.Array:
    return pa.array(
        [
            f"this run never sent seq {seq} of producer {producer}"
            for producer, seq in zip(rows["producer"].tolist(), rows["seq"].tolist(), strict=True)
        ]
        if not rows["sent"].all()
        else [""] * len(rows),
        pa.string(),
    )


_PLACES = ("expired", ABORTED_INPUT, INPUT_NOT_IN_LOG, _NEVER_SENT)


def _places(rows: ColumnBatch, finding: FindingClass) -> Labels:
    nothing = np.full(len(rows), -1, np.int64)
    code = {
        FindingClass.UNPROCESSED: np.where(rows["in_log"], -1, 0),
        FindingClass.PREMATURE: np.where(rows["aborted"], 1, 2),
        FindingClass.INVENTED: nothing + 1 + _PLACES.index(_NEVER_SENT),
    }.get(finding, nothing)
    return Labels(code, _PLACES)


def _windows(rows: ColumnBatch, finding: FindingClass, names: OutputNames) -> Labels:
    """The faults that were open between the send of the input and its last output; of an unprocessed input,
    those at any time since the send; of an invented output, those when it was written."""
    missing = np.full(len(rows), finding is FindingClass.UNPROCESSED)
    moment = rows["moment"]
    if finding is FindingClass.INVENTED:
        return open_windows(names.windows, moment, moment, missing)
    sent = rows["sent_ns"]
    return open_windows(names.windows, sent, np.where(moment < sent, NULL, moment), missing)
