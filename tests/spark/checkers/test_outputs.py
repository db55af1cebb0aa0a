"""Each class of findings about an application's outputs and its near misses: one small run per case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checkers.applications import classes
from checkers.applications.find import find
from checkers.check import check_run
from checkers.evidence.findings import FINDINGS
from checkers.found import Found
from checkers.journals.views import Scratch, Views
from checkers.judgement.judge import judge
from checkers.registry import load_whole_run
from harness.model.finding_class import FindingClass
from harness.model.result import VerdictWord
from harness.model.run import Deletion, FinalRead, RunMeta
from tests.support.history import (
    FINISHED,
    OTHER_RUN,
    SECOND,
    T0,
    History,
    Row,
    application,
    bounds,
    event,
    ns,
    run_meta,
    window,
    write_run,
)

pytestmark = pytest.mark.spark

OUTPUTS = {rule.finding.value for rule in classes.CLASSES}
WINDOWS = (window("kill-1", 2, 10), window("cut-1", 20, 30))
RETENTION = {"retention.ms": "60000"}
"""The final read ended at 100 s, so what was sent up to 40 s may have been deleted."""


def _meta(*, start: int = 10, topic: dict[str, str] | None = None, **of_application: Any) -> RunMeta:
    final = FinalRead(
        complete=True,
        bounds=(bounds(0, start, 1000), bounds(1, start, 1000)),
        finished_ns=ns(FINISHED),
        replicas_inspected=(1, 2, 3),
    )
    return run_meta(
        application=application(**of_application),
        final_read=final,
        topic_config=topic or {},
        windows=WINDOWS,
    )


Find = Callable[..., tuple[Found, list[Row]]]
Check = Callable[..., Any]


@pytest.fixture
def found(spark: SparkSession, tmp_path: Path) -> Find:
    """found(history, meta, ...) -> what was found, and the findings about outputs in the order of their
    identities, classes and offsets."""

    def run(
        history: History, meta: RunMeta | None = None, *, repeated: bool = False, **options: Any
    ) -> tuple[Found, list[Row]]:
        number = len(list(tmp_path.iterdir()))
        folder, scratch = tmp_path / f"run-{number}", tmp_path / f"scratch-{number}"
        scratch.mkdir()
        views = Views.of(spark, load_whole_run(write_run(folder, history, meta=meta or _meta(), **options)))
        views = replace(views, repeated_sends=None if repeated else 0)
        of_outputs = find(views, Scratch(spark, scratch))
        rows: list[Row] = []
        if of_outputs.findings is not None:
            table = of_outputs.findings.toArrow()
            assert table.column_names == FINDINGS.names
            rows = table.to_pylist()
        return of_outputs, sorted(rows, key=_identity)

    return run


def _identity(row: Row) -> tuple[Any, ...]:
    numbers = (-1 if row[name] is None else row[name] for name in ("producer", "seq"))
    return (*numbers, row["finding"], row["offsets"], row["detail"])


def _input(history: History, seq: int, at: int, **options: Any) -> History:
    """An input that was acknowledged where the final read has it."""
    key = options.get("key")
    return history.send(seq, at=at, **options).read(
        seq, at=at, key=key, partition=options.get("partition", 0)
    )


def _inputs(*places: int) -> History:
    history = History()
    for seq, at in enumerate(places):
        _input(history, seq, at)
    return history


Tell = Callable[[], History]

CASES: dict[str, tuple[Tell, dict[str, Any], tuple[dict[str, Any], ...]]] = {
    "one output each is no finding": (lambda: _inputs(20, 21).output(0, at=5).output(1, at=6), {}, ()),
    "no output is unprocessed": (
        lambda: _inputs(20, 21).output(1, at=6),
        {},
        ({"finding": "unprocessed", "seq": 0, "place": None, "copies": 0, "windows": "kill-1"},),
    ),
    "no output of an application that was not drained: not known": (
        lambda: _inputs(20, 21).output(1, at=6),
        {"drained": False},
        (),
    ),
    "an output that was not read to its end misses nothing": (
        lambda: _inputs(20, 21).output(1, at=6),
        {"read_complete": False},
        (),
    ),
    "no output that is committed is unprocessed": (
        lambda: _inputs(20).output(0, at=6, committed=False),
        {},
        ({"finding": "unprocessed", "copies": 0},),
    ),
    "under at-least-once, an output of an aborted transaction counts": (
        lambda: _inputs(20).output(0, at=6, committed=False),
        {"guarantee": "at-least-once"},
        (),
    ),
    "an input that was not acknowledged and is in the log must be processed": (
        lambda: History().send(0, "indeterminate").read(0, at=20),
        {},
        ({"finding": "unprocessed", "seq": 0},),
    ),
    "an input that was not acknowledged and is absent need not be": (
        lambda: History().send(0, "indeterminate"),
        {},
        (),
    ),
    "an input that Kafka lost is not unprocessed": (lambda: History().send(0, at=20), {}, ()),
    "one of two outputs is unprocessed": (
        lambda: _inputs(20).output(0, at=6),
        {"outputs_per_input": 2},
        ({"finding": "unprocessed", "copies": 1},),
    ),
    "two of two outputs are no finding": (
        lambda: _inputs(20).output(0, at=6).output(0, at=7),
        {"outputs_per_input": 2},
        (),
    ),
    "two outputs are reprocessed": (
        lambda: _inputs(20).output(0, at=5, made=3).output(0, at=9, made=15),
        {},
        ({"finding": "reprocessed", "copies": 2, "offsets": [5, 9], "windows": "kill-1"},),
    ),
    "the second of two outputs is not committed: once": (
        lambda: _inputs(20).output(0, at=5).output(0, at=9, committed=False),
        {},
        (),
    ),
    "the same place read twice is one output": (
        lambda: _inputs(20).output(0, at=5).output(0, at=5),
        {},
        (),
    ),
    "equal offsets of two partitions are two outputs": (
        lambda: _inputs(20).output(0, at=5).output(0, at=5, partition=1),
        {},
        ({"finding": "reprocessed", "copies": 2},),
    ),
    "an input that its log holds twice may have two outputs": (
        lambda: _inputs(20).read(0, at=30).output(0, at=5).output(0, at=9),
        {},
        (),
    ),
    "but not three": (
        lambda: _inputs(20).read(0, at=30).output(0, at=5).output(0, at=9).output(0, at=11),
        {},
        ({"finding": "reprocessed", "copies": 3},),
    ),
    "an output of several inputs is one of each": (
        lambda: _inputs(20, 21).output(0, at=5, part=0, parts=2).output(1, at=5, part=1, parts=2),
        {},
        (),
    ),
    "an output of an input that is not in the log is premature": (
        lambda: History().send(0, at=20).output(0, at=5),
        {},
        ({"finding": "premature", "seq": 0, "place": "not in the log"},),
    ),
    "an output of a rejected input is premature": (
        lambda: History().send(0, "rejected").output(0, at=5),
        {},
        ({"finding": "premature", "seq": 0},),
    ),
    "an output that carries a seq that was never sent is invented": (
        lambda: _inputs(20).output(0, at=5).output(7, at=6),
        {},
        ({"finding": "invented", "seq": 7, "place": "never sent", "partition": 0},),
    ),
    "an output of another producer is invented": (
        lambda: _inputs(20).output(0, at=5).output(0, at=6, producer=3),
        {},
        ({"finding": "invented", "producer": 3, "place": "never sent"},),
    ),
    "an output of another run is invented": (
        lambda: _inputs(20).output(0, at=5).output(0, at=6, run=OTHER_RUN, state="foreign"),
        {},
        ({"finding": "invented", "place": "foreign"},),
    ),
    "an output without an identity is invented": (
        lambda: _inputs(20).output(0, at=5).output(None, at=6, producer=None, run=None, state="undecodable"),
        {},
        ({"finding": "invented", "seq": None, "place": "undecodable", "offsets": [6]},),
    ),
    "what the identity function raised is in the evidence": (
        lambda: (
            _inputs(20)
            .output(0, at=5)
            .output(None, at=6, producer=None, run=None, state="unmapped", error="KeyError: 'id'")
        ),
        {},
        ({"finding": "invented", "place": "unmapped"},),
    ),
    "an invented output that is not committed is none": (
        lambda: _inputs(20).output(0, at=5).output(7, at=6, committed=False),
        {},
        (),
    ),
    "outputs in another order than the inputs are no finding without a promise": (
        lambda: _inputs(20, 21).output(1, at=5).output(0, at=6),
        {},
        (),
    ),
    "with one, the earlier input is late": (
        lambda: _inputs(20, 21).output(1, at=5).output(0, at=6),
        {"order": "partition"},
        ({"finding": "reordered_output", "seq": 0, "offsets": [6]},),
    ),
    "outputs of one transaction of inputs in another order than sent keep the order of the log": (
        lambda: _inputs(21, 20).output(1, at=5).output(0, at=6),
        {"order": "partition"},
        (),
    ),
    "in another partition of the output nothing is late": (
        lambda: _inputs(20, 21).output(1, at=5).output(0, at=6, partition=1),
        {"order": "partition"},
        (),
    ),
    "inputs of two partitions have no order": (
        lambda: _input(_inputs(20), 1, 21, partition=1).output(1, at=5).output(0, at=6),
        {"order": "partition"},
        (),
    ),
    "inputs in one output have no order": (
        lambda: _inputs(20, 21).output(1, at=5, parts=2).output(0, at=5, part=1, parts=2),
        {"order": "partition"},
        (),
    ),
    "what is processed again comes late and is not reordered": (
        lambda: _inputs(20, 21).output(0, at=5).output(1, at=6).output(0, at=7),
        {"order": "partition"},
        ({"finding": "reprocessed", "seq": 0},),
    ),
    "of one key, the earlier input is late": (
        lambda: _input(_input(History(), 0, 20, key=4), 1, 21, key=4).output(1, at=5).output(0, at=6),
        {"order": "key"},
        ({"finding": "reordered_output", "seq": 0, "key": 4},),
    ),
    "of two keys, no input is late": (
        lambda: _input(_input(History(), 0, 20, key=4), 1, 21, key=5).output(1, at=5).output(0, at=6),
        {"order": "key"},
        (),
    ),
    "without a key, no input is late": (
        lambda: _inputs(20, 21).output(1, at=5).output(0, at=6),
        {"order": "key"},
        (),
    ),
    "only the late input is named, and not the ones that it follows": (
        lambda: _inputs(20, 21, 22, 23).output(0, at=1).output(2, at=2).output(1, at=3).output(3, at=4),
        {"order": "partition"},
        ({"finding": "reordered_output", "seq": 1},),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(found: Find, name: str) -> None:
    tell, of_application, expected = CASES[name]
    of_outputs, rows = found(tell(), _meta(**of_application))
    assert of_outputs.problems == ()
    shown = [{key: row[key] for key in one} for row, one in zip(rows, expected, strict=True)]
    assert shown == list(expected)
    assert all(row["detail"] for row in rows)


@pytest.mark.parametrize("finding", sorted(OUTPUTS))
def test_without_its_rule_a_class_is_not_found(
    found: Find, finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = next(
        name for name, (_, _, expected) in CASES.items() if [one["finding"] for one in expected] == [finding]
    )
    rest = tuple(rule for rule in classes.CLASSES if rule.finding.value != finding)
    monkeypatch.setattr(classes, "CLASSES", rest)
    tell, of_application, _ = CASES[name]
    _, rows = found(tell(), _meta(**of_application))
    assert rows == []


def test_inputs_that_retention_deleted_and_nobody_processed_are_counted_one_by_one(found: Find) -> None:
    history = History()
    for seq in range(6):
        history.send(seq, at=seq, sent=1.0)
        if seq >= 4:
            history.read(seq, at=seq).output(seq, at=seq)
    meta = _meta(start=4, topic=RETENTION, guarantee="at-least-once")
    of_outputs, rows = found(history.output(0, at=9), meta)
    assert [(row["finding"], row["seq"], row["place"]) for row in rows] == [
        ("unprocessed", seq, "expired") for seq in (1, 2, 3)
    ]
    assert of_outputs.summary == {"inputs": 6, "processed": 3}
    assert "it has been deleted since" in rows[0]["detail"]


def test_inputs_that_are_gone_and_were_too_young_for_retention_make_outputs_premature(found: Find) -> None:
    history = History().send(0, at=0, sent=90.0).output(0, at=0, made=91)
    _, rows = found(history, _meta(start=4, topic=RETENTION))
    assert [row["finding"] for row in rows] == ["premature"]


def test_what_a_step_deleted_before_it_was_processed_is_unprocessed_and_nothing_is_premature(
    found: Find,
) -> None:
    history = History().send(0, at=0, sent=90.0).send(1, at=1, sent=90.0).output(1, at=0)
    meta = _meta(start=2).model_copy(
        update={"deletions": (Deletion(topic="t", before=2, at_ns=T0 + 95 * SECOND),)}
    )
    _, rows = found(history, meta)
    assert [(row["finding"], row["seq"], row["place"]) for row in rows] == [("unprocessed", 0, "expired")]


def test_outputs_of_a_topic_that_was_created_again_have_no_order_with_those_of_the_old_one(
    found: Find,
) -> None:
    history = History().send(0, at=7, sent=50.0).output(0, at=0)
    _input(history, 1, 0, sent=60.0).output(1, at=1)
    deletion = Deletion(topic="t", before=None, at_ns=T0 + 55 * SECOND)
    meta = _meta(start=0, order="partition").model_copy(update={"deletions": (deletion,)})
    of_outputs, rows = found(history, meta)
    assert rows == []
    assert of_outputs.summary == {"inputs": 2, "processed": 2}


def test_compaction_may_have_removed_an_input_before_and_after_it_was_processed(found: Find) -> None:
    history = History().send(0, at=20, key=1).output(0, at=0).send(1, at=21, key=1)
    _input(history, 2, 22, key=1).output(2, at=1)
    _, rows = found(history, _meta(topic={"cleanup.policy": "compact"}))
    assert rows == []


def test_an_aborted_input_must_not_be_processed_and_a_committed_one_must(found: Find) -> None:
    history = History().txn(0, "aborted").txn(1).txn(2, "indeterminate")
    for seq, txn in enumerate((0, 0, 1, 2, 2)):
        history.send(seq, at=20 + seq, txn=txn).read(seq, at=20 + seq)
    history.read_committed(2, at=22).read_committed(3, at=23)
    history.output(0, at=0)
    meta = _meta().model_copy(update={"transactional": True})
    of_outputs, rows = found(history, meta)
    assert [(row["finding"], row["seq"], row["place"]) for row in rows] == [
        ("premature", 0, "aborted"),
        ("unprocessed", 2, None),
        ("unprocessed", 3, None),
    ]
    assert of_outputs.summary == {"inputs": 2, "processed": 0}
    assert "belongs to a transaction that was aborted" in rows[0]["detail"]


def _restarts() -> tuple[Row, ...]:
    checkpoint = '{"checkpoint": {"0": %d}}'
    return (
        event(1, "started", instance=1),
        event(2, "checkpoint", detail=checkpoint % 20),
        event(12, "restarted", instance=1),
        event(16, "restarted", instance=0),
        event(17, "checkpoint", detail=checkpoint % 22),
    )


def test_the_evidence_names_restarts_and_checkpoints(found: Find) -> None:
    history = _inputs(20, 21).output(0, at=5, made=3).output(0, at=9, made=15)
    _, rows = found(history, events=_restarts())
    assert [(row["finding"], row["reader"], row["checkpoint"]) for row in rows] == [
        ("reprocessed", "instance 1", 20),
        ("unprocessed", None, 20),
    ]
    assert rows[0]["detail"] == (
        "the input at offset 20 of t-0 has 2 outputs, first at offset 5 of t-out-0, last at offset 9 of "
        "t-out-0; instance 1 was started again before the last one; its last checkpoint before was at "
        "offset 20"
    )


def test_what_the_function_raised_is_said(found: Find) -> None:
    error = "KeyError: 'id'"
    history = _inputs(20).output(0, at=5)
    history.output(None, at=6, producer=None, run=None, state="unmapped", error=error)
    _, (row,) = found(history)
    assert row["detail"] == (
        "the output at offset 6 of t-out-0 maps to no input of this run: the identity of the application "
        "maps it to none (KeyError: 'id')"
    )


NAMELESS: dict[str, Any] = {"producer": None, "run": None}


def test_where_no_output_carries_an_identity_nothing_is_known_and_the_remedy_is_said(
    check: Check, tmp_path: Path
) -> None:
    error = "LookupError: there is no member 'id'"
    history = _inputs(20, 21).output(None, at=5, state="unmapped", error=error, **NAMELESS)
    history.output(None, at=6, state="undecodable", **NAMELESS).output(0, at=7, committed=False)
    summary, rows = check(history, meta=_meta(identity="json $.id"))
    assert (rows, summary.inputs, summary.processed) == ([], 2, None)
    judgement = judge(RunMeta.load(tmp_path / "run-0"), summary)
    assert (judgement.verdict, judgement.as_promised) == (VerdictWord.UNKNOWN, None)
    assert judgement.reasons == (
        "none of the 2 outputs names its input by `identity: json $.id` (LookupError: there is no member "
        "'id'), so it is not known what the application has processed: let it pass on an identity, such as "
        "`id: $identity` of `workload: {payload: {json: {id: $identity}}}`, and say where outputs have it "
        "(`identity: {json: $.id}`)",
    )


@pytest.mark.parametrize("state", ["corrupt", "foreign"])
def test_one_identity_of_whatever_kind_says_that_outputs_have_them(found: Find, state: str) -> None:
    history = _inputs(20).output(None, at=5, state="undecodable", **NAMELESS)
    of_outputs, rows = found(history.output(0, at=6, state=state, run=OTHER_RUN))
    assert [row["finding"] for row in rows] == ["invented", "invented", "unprocessed"]
    assert of_outputs.problems == ()


def test_an_output_without_a_timestamp_is_blamed_on_all_faults_since_the_send(found: Find) -> None:
    history = _inputs(20).output(0, at=5, made=None).output(0, at=9, made=None)
    _, (row,) = found(history)
    assert row["windows"] == "kill-1 + cut-1"


def test_a_run_without_an_application_has_no_such_findings_and_no_such_counts(found: Find) -> None:
    of_outputs, rows = found(_inputs(20), run_meta())
    assert rows == []
    assert of_outputs.summary == {}


def test_a_missing_part_of_the_journal_is_a_problem(spark: SparkSession, tmp_path: Path) -> None:
    write_run(tmp_path, _inputs(20, 21).output(0, at=5).output(1, at=6), meta=_meta(), files=2)
    (tmp_path / "outputs" / "part-00001.parquet").unlink()
    summary = check_run(spark, tmp_path)
    assert summary.problems == (
        "the outputs journal holds 1 rows, the output had 2 records, so the verdict is unknown",
    )


def test_the_summary_counts_what_happened_to_inputs(check: Check) -> None:
    history = History().send(0, at=0, sent=1.0).txn(0, "aborted")
    history.send(1, at=4, txn=0).read(1, at=4).output(1, at=0)
    meta = _meta(start=4, topic=RETENTION).model_copy(update={"transactional": True})
    summary, _ = check(history, meta=meta)
    assert summary.count(FindingClass.EXPIRED) == 1
    assert summary.premature_places == {"aborted": 1}
    assert (summary.inputs, summary.processed) == (1, 0)


def test_the_summary_names_restarts_and_checkpoints(check: Check) -> None:
    history = _inputs(20, 21).output(0, at=5, made=3).output(0, at=9, made=15)
    summary, _ = check(history, meta=_meta(), events=_restarts())
    assert summary.blame == (
        "1 reprocessed: sent in write to partition 0, during kill-1, after instance 1 was started again, "
        "last checkpoint at offset 20",
        "1 unprocessed: sent in write to partition 0, during kill-1 + cut-1, last checkpoint at offset 20",
    )


@pytest.mark.parametrize(
    ("guarantee", "outputs", "verdict"),
    [
        ("at-least-once", 0, VerdictWord.INVALID),
        ("at-least-once", 1, VerdictWord.VALID),
        ("at-least-once", 2, VerdictWord.VALID),
        ("at-most-once", 0, VerdictWord.VALID),
        ("at-most-once", 1, VerdictWord.VALID),
        ("at-most-once", 2, VerdictWord.INVALID),
        ("exactly-once", 0, VerdictWord.INVALID),
        ("exactly-once", 1, VerdictWord.VALID),
        ("exactly-once", 2, VerdictWord.INVALID),
    ],
)
def test_the_verdict_follows_from_the_guarantee(
    check: Check, tmp_path: Path, guarantee: str, outputs: int, verdict: VerdictWord
) -> None:
    # No fault was open while nothing was sent.
    meta = _meta(guarantee=guarantee).model_copy(update={"windows": WINDOWS[:1]})
    history = _inputs(20)
    for number in range(outputs):
        history.output(0, at=number)
    summary, _ = check(history, meta=meta)
    judgement = judge(RunMeta.load(tmp_path / "run-0"), summary)
    assert judgement.verdict is verdict
    assert judgement.as_promised is (verdict is VerdictWord.VALID)
    if verdict is VerdictWord.INVALID:
        assert judgement.reasons[0].endswith(f", though the application promises {guarantee}")


def test_a_doubt_about_the_application_makes_the_verdict_unknown(check: Check, tmp_path: Path) -> None:
    summary, _ = check(_inputs(20).output(0, at=5), meta=_meta(drained=False))
    judgement = judge(RunMeta.load(tmp_path / "run-0"), summary)
    assert judgement.verdict is VerdictWord.UNKNOWN
    assert judgement.reasons == ("the application was not drained, so what it left out is not known",)


def test_of_sends_that_the_journal_holds_twice_the_greatest_outcome_counts(found: Find) -> None:
    history = History().send(0, "rejected").send(0, "indeterminate", closed=None).output(0, at=5)
    _, (row,) = found(history, repeated=True)
    assert (row["finding"], row["outcome"], row["seq"]) == ("premature", "indeterminate", 0)


def test_an_offset_and_a_time_at_the_end_of_their_range_are_findings_and_no_failure(found: Find) -> None:
    history = _inputs(20, 2**63 - 1).output(0, at=2**63 - 1, made=3).output(1, at=5, made=3)
    history.outputs[0]["timestamp_ms"] = 2**63 - 1
    history.outputs[1]["timestamp_ms"] = -(2**63)
    _, (row,) = found(history, _meta(order="partition"))
    assert (row["finding"], row["seq"], row["offsets"]) == ("reordered_output", 0, [2**63 - 1])
    assert row["windows"] == "kill-1 + cut-1"


def test_a_journal_of_the_application_that_cannot_be_read_is_a_problem_and_findings_stay(found: Find) -> None:
    history = _inputs(20)
    of_outputs, (row,) = found(history, events=(event(1, "checkpoint", detail="{"),))
    assert (row["finding"], row["checkpoint"]) == ("unprocessed", None)
    (problem,) = of_outputs.problems
    assert problem.startswith("the check of the application's restarts and checkpoints failed (")
    assert problem.endswith("so the verdict is unknown")
