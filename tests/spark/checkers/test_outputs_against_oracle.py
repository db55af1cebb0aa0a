"""Random outputs of an application, classified by the check and by the plain-Python oracle: they agree."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.applications.find import find
from checkers.check import check_run
from checkers.journals.views import Scratch, Views
from checkers.registry import load_whole_run
from harness.model.run import Deletion, FinalRead, PartitionBounds
from tests.support.history import (
    FINISHED,
    OTHER_RUN,
    RUN,
    History,
    Row,
    application,
    bounds,
    event,
    findings_of,
    ns,
    run_meta,
    window,
    write_run,
)
from tests.support.output_oracle import OutputFinding, counted, outputs_of, unnamed
from tests.support.random_histories import examples, many, side_by_side

pytestmark = pytest.mark.spark

SIDE_BY_SIDE = side_by_side(30, of_many=60)
"""Histories in one run, so that one check answers for all: producers and partitions 10 apart."""
CLASSES = ("invented", "premature", "unprocessed", "reprocessed", "reordered_output")

offsets = st.integers(0, 6)
sends = st.builds(
    dict,
    outcome=st.sampled_from(["acked", "acked", "acked", "unconfirmed", "rejected", "indeterminate"]),
    at=st.none() | offsets,
    partition=st.integers(0, 1),
    key=st.none() | st.integers(0, 1),
    sent=st.sampled_from([1.0, 5.0, 39.0, 41.0]),
    txn=st.none() | st.integers(0, 1),
    # Older and younger than the retention of a minute, before 1970, and at its first moment.
    stamp=st.none() | st.sampled_from([-7200.0, 20.0, 39.0, 41.0, 3600.0, -2e9, -1.7e9]),
)
outputs = st.builds(
    dict,
    at=offsets,
    partition=st.integers(0, 1),
    made=st.none() | st.sampled_from([2.0, 6.0, 44.0]),
    committed=st.sampled_from([True, True, False]),
)
strays = st.builds(
    dict,
    seq=st.integers(0, 4),
    producer=st.integers(0, 3),
    at=offsets,
    partition=st.integers(0, 1),
    state=st.sampled_from(["ok", "ok", "foreign", "corrupt", "undecodable", "unmapped"]),
    committed=st.booleans(),
)


@st.composite
def stories(draw: st.DrawFn) -> tuple[History, tuple[PartitionBounds, ...]]:
    """Up to eight inputs, mostly in the log and mostly processed once, and a few outputs of anything."""
    history = History()
    for producer in (0, 1):
        for seq, options in enumerate(draw(st.lists(sends, max_size=4))):
            outcome = options.pop("outcome")
            history.send(seq, outcome, producer=producer, **options)
            where = {"producer": producer, "partition": options["partition"], "key": options["key"]}
            at = draw(offsets) if options["at"] is None else options["at"]
            for place in draw(st.sampled_from([(at,), (at,), (at,), (), (at, at + 1), (at, at)])):
                history.read(seq, at=place, **where)
            if draw(st.booleans()):
                history.read_committed(seq, at=at, **where)
            for one in draw(st.lists(outputs, max_size=3)):
                history.output(seq, producer=producer, **one)
        for number in draw(st.sets(st.integers(0, 1))):
            word = draw(st.sampled_from(["committed", "committed", "aborted", "indeterminate"]))
            history.txn(number, word, producer=producer)
    for options in draw(st.lists(strays, max_size=3)):
        if options["state"] in ("undecodable", "unmapped"):
            options |= {"seq": None, "producer": None, "run": None}
        elif options["state"] == "foreign":
            options |= {"run": OTHER_RUN}
        history.output(options.pop("seq"), **options)
    starts = [draw(st.integers(0, 4)) for _ in (0, 1)]
    return history, tuple(bounds(number, start, 10) for number, start in enumerate(starts))


@st.composite
def orderly_stories(draw: st.DrawFn) -> tuple[History, tuple[PartitionBounds, ...]]:
    """An application that takes its inputs one after the other, passes over some of them and gives a few
    twice; now and then an output is late, or has no time."""
    history, made, at = History(), 2.0, [100, 100]
    partitions = draw(st.sampled_from([(0,), (0, 1)]))
    for seq in range(draw(st.integers(2, 8))):
        sent = draw(st.sampled_from([1.0, 1.0, 5.0]))
        history.send(seq, at=seq, sent=sent, closed=sent).read(seq, at=seq)
        made = max(made, sent) + draw(st.sampled_from([0.0, 0.1, 3.0, 20.0]))
        for _ in range(draw(st.sampled_from([1, 1, 1, 0, 0, 2]))):
            partition, late = draw(st.sampled_from(partitions)), draw(st.sampled_from([0] * 9 + [25]))
            at[partition] += 10
            time = draw(st.sampled_from([made] * 5 + [None]))
            history.output(seq, at=at[partition] - late, partition=partition, made=time)
    return history, (bounds(0, 0, 10), bounds(1, 0, 10))


policies = st.sampled_from(
    [
        {},
        {"retention.ms": "60000"},
        {"retention.ms": "60000", "message.timestamp.type": "LogAppendTime"},
        {"retention.bytes": "1000"},
        {"cleanup.policy": "compact"},
    ]
)
applications = st.builds(
    application,
    guarantee=st.sampled_from(["at-least-once", "at-most-once", "exactly-once"]),
    order=st.sampled_from(["none", "partition", "key"]),
    outputs_per_input=st.sampled_from([1, 1, 2]),
    output_times=st.sampled_from(["broker", "broker", "broker", "application"]),
    drained=st.sampled_from([True, True, True, False]),
)


def _moved(history: History, index: int) -> History:
    """The same history among others: its producers and partitions shifted."""

    def shift(row: Row) -> Row:
        return row | {
            name: row[name] + 10 * index for name in ("producer", "partition") if row.get(name) is not None
        }

    return History(
        **{
            column.name: [shift(row) for row in getattr(history, column.name)]
            for column in fields(History)
            if column.name not in ("producer", "partition")
        }
    )


def _shuffled(history: History, seed: int) -> History:
    """The same rows in another order."""
    random = Random(seed)
    mixed = {}
    for column in fields(History):
        if column.name not in ("producer", "partition"):
            rows = list(getattr(history, column.name))
            mixed[column.name] = random.sample(rows, len(rows))
    return History(**mixed)


def _histories(number: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Drawn anew for each run."""

    def drawn(test: Callable[..., None]) -> Callable[..., None]:
        given_them = given(
            drawn=st.lists(stories() | orderly_stories(), min_size=SIDE_BY_SIDE, max_size=SIDE_BY_SIDE),
            policy=policies,
            app=applications,
            seed=st.integers(0, 1000),
            transactional=st.booleans(),
            again=st.none() | st.sampled_from([3.0, 39.0]),
        )(test)
        return many(number)(given_them)

    return drawn


@_histories(3)
def test_same_as_the_oracle(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, **drawn: Any
) -> None:
    _agree(spark, tmp_path_factory.mktemp("random"), rounds=1, **drawn)


@pytest.mark.soak
@_histories(examples(25, SIDE_BY_SIDE))
def test_same_as_the_oracle_for_long(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, **drawn: Any
) -> None:
    _agree(spark, tmp_path_factory.mktemp("random"), rounds=2, **drawn)


def _agree(
    spark: SparkSession,
    folder: Path,
    *,
    rounds: int,
    drawn: list[tuple[History, tuple[PartitionBounds, ...]]],
    policy: dict[str, str],
    app: Any,
    seed: int,
    transactional: bool,
    again: float | None,
) -> None:
    """`again` is when the topic was deleted and created again."""
    histories = [_moved(history, index) for index, (history, _) in enumerate(drawn)]
    final = FinalRead(
        complete=True,
        bounds=tuple(
            bound.model_copy(update={"partition": bound.partition + 10 * index})
            for index, (_, both) in enumerate(drawn)
            for bound in both
        ),
        finished_ns=ns(FINISHED),
    )
    meta = run_meta(
        application=app,
        topic_config=policy,
        final_read=final,
        transactional=transactional,
        deletions=() if again is None else (Deletion(topic="t", before=None, at_ns=ns(again) or 0),),
        windows=(window("a", 4, 8), window("b", 40, None)),
    )
    if not transactional:
        for history in histories:
            history.committed, history.txns = [], []
            history.sends = [row | {"txn": None} for row in history.sends]
    events = [event(4, "restarted"), event(5, "checkpoint", detail='{"checkpoint": {"0": 3}}')]
    nothing_known = unnamed(meta, *histories)
    expected = sorted((found for one in histories for found in outputs_of(meta, one)), key=str)
    inputs, processed = map(sum, zip(*(counted(meta, one) for one in histories), strict=True))
    answers = []
    for number in range(rounds):
        mixed = [_shuffled(history, seed + number) for history in histories]
        write_run(folder, *mixed, meta=meta, files=1 + number % 2, events=events, row_group=50)
        summary = check_run(spark, folder)
        rows = [row for row in findings_of(folder) if row["finding"] in CLASSES]
        answers.append((summary.model_copy(update={"check_seconds": 0.0}), rows))
        # Sends that may be repeated are read in another way, with the same result where none is.
        views, scratch = Views.of(spark, load_whole_run(folder)), Scratch(spark, folder / "scratch")
        scratch.folder.mkdir()
        found = find(views, scratch)
        again = [] if found.findings is None else found.findings.toArrow().to_pylist()
        assert sorted(again, key=str) == sorted(rows, key=str)
        shutil.rmtree(folder)
        assert len(summary.problems) == nothing_known
        assert sorted(map(_told, rows), key=str) == ([] if nothing_known else expected)
        assert (summary.inputs, summary.processed) == (inputs, None if nothing_known else processed)
    assert all(answer == answers[0] for answer in answers)


def test_without_any_identity_both_say_that_nothing_is_known(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    nameless = {"producer": None, "run": None, "state": "unmapped"}
    history = History().send(0, at=2).read(0, at=2).output(None, at=0, **nameless)
    app, both = application(), (bounds(0, 0, 10), bounds(1, 0, 10))
    folder = tmp_path_factory.mktemp("nameless")
    rest: dict[str, Any] = {"policy": {}, "seed": 1, "transactional": False, "again": None}
    _agree(spark, folder, rounds=1, drawn=[(history, both)], app=app, **rest)


def _told(row: Row) -> OutputFinding:
    faults = row["windows"] if row["finding"] in ("unprocessed", "reprocessed") else None
    offsets = tuple(row["offsets"])
    return OutputFinding(
        row["finding"], row["producer"], row["seq"], row["place"], row["copies"], offsets, faults
    )


def test_runs_of_the_oracle_have_every_class() -> None:
    """The histories are worth drawing: one with each class is easy to draw by hand."""
    history = History().send(0, at=2).read(0, at=2).send(1, at=3).read(1, at=3).send(2, at=4).read(2, at=4)
    history.output(1, at=0).output(0, at=1).output(0, at=2).output(9, at=3).send(3, at=5).output(3, at=4)
    found = outputs_of(run_meta(application=application(order="partition")), history)
    assert {one.finding for one in found} == set(CLASSES)
    assert RUN != OTHER_RUN
