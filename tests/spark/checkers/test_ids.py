"""Ids that records have of their own: what is in the log too often, not at all, or in another order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.judgement.judge import judge
from checkers.questions.views import views_of
from harness.model.finding_class import FindingClass
from harness.model.id_journal import SENT_IDS_DIR
from harness.model.result import VerdictWord
from harness.model.run import ReaderInfo, RecordIds, RunMeta
from tests.support.history import (
    Check,
    History,
    Row,
    application,
    bounds,
    findings_of,
    run_meta,
    window,
    write_run,
)
from tests.support.random_histories import examples, many, side_by_side

pytestmark = pytest.mark.spark

IDS = {
    FindingClass.LOST_ID.value,
    FindingClass.DUPLICATE_ID.value,
    FindingClass.PHANTOM_ID.value,
    FindingClass.REORDERED_ID.value,
}


def meta_of(times: int = 1, **changes: Any) -> RunMeta:
    return run_meta(ids=RecordIds(place="the field order of the value", times=times), **changes)


def of_partitions(number: int) -> dict[str, Any]:
    """What the metadata of a run say whose topic has this number of partitions."""
    read = run_meta().final_read
    assert read is not None
    ends = tuple(bounds(partition) for partition in range(number))
    return {"partitions": number, "final_read": read.model_copy(update={"bounds": ends})}


def of_ids(rows: list[Row]) -> dict[str, Row]:
    """The findings about ids, by id."""
    return {row["id"]: row for row in rows if row["finding"] in IDS}


def story() -> History:
    """order-11 timed out and was sent again, and both are in the log."""
    history = History()
    history.send(0, at=40, record_id="order-10", sent=1.0, closed=1.1).read(0, at=40, record_id="order-10")
    history.send(1, "indeterminate", record_id="order-11", sent=2.0, closed=3.0, error="_MSG_TIMED_OUT")
    history.read(1, at=41, record_id="order-11")
    history.send(2, at=57, record_id="order-11", sent=3.1, closed=3.1)
    return history.read(2, at=57, record_id="order-11")


def test_an_order_that_was_sent_again_is_found_with_its_sends_side_by_side(check: Check) -> None:
    summary, rows = check(story(), meta=meta_of(windows=(window("kill-1", 1.5, 4.0),)))
    found = of_ids(rows)
    assert found.keys() == {"order-11"}
    row = found["order-11"]
    assert row["finding"] == "duplicate_id"
    assert row["detail"] == (
        "order-11: producer 0 seq 1 _MSG_TIMED_OUT after 1.0 s; sent again: producer 0 seq 2 acknowledged "
        "after 0.0 s; in the log at t-0@41, t-0@57"
    )
    assert (row["producer"], row["seq"], row["step"], row["partition"]) == (0, 1, 0, 0)
    assert (row["copies"], row["count"], row["offsets"], row["windows"]) == (2, 2, [41, 57], "kill-1")
    assert summary.findings[FindingClass.DUPLICATE_ID] == 1
    assert FindingClass.DUPLICATE not in summary.findings, "each send is in the log once"
    assert (summary.ids, summary.acked_ids) == (2, 2)
    verdict = judge(meta_of(), summary)
    assert verdict.verdict is VerdictWord.INVALID
    assert "1 duplicate_id" in str(verdict.reasons) or "id" in str(verdict.reasons)


def test_without_ids_the_same_run_is_valid(check: Check) -> None:
    history = story()
    history.sent_ids.clear()
    history.log_ids.clear()
    summary, rows = check(history, meta=run_meta())
    assert not of_ids(rows)
    assert judge(run_meta(), summary).verdict is VerdictWord.VALID
    assert (summary.ids, summary.acked_ids) == (None, None)


def test_the_different_ids_that_were_sent_and_acknowledged_are_counted(check: Check) -> None:
    history = story().send(3, "indeterminate", record_id="order-12", sent=5, closed=None, error="x")
    history.send(4, at=60, sent=6, closed=7).read(4, at=60)
    history.read(None, at=61, producer=None, state="undecodable", run=None, value=b"{}", record_id="nobody's")
    summary, _ = check(history, meta=meta_of())
    assert (summary.ids, summary.acked_ids) == (3, 2)


def test_the_evidence_of_other_findings_names_the_id(check: Check) -> None:
    history = story().send(3, at=60, record_id="order-12")
    _, rows = check(history, meta=meta_of())
    (lost,) = [row for row in rows if row["finding"] == "lost"]
    assert lost["id"] == "order-12"
    assert of_ids(rows)["order-12"]["finding"] == "lost_id"
    assert of_ids(rows)["order-12"]["detail"] == (
        "order-12: producer 0 seq 3 acknowledged after 1.0 s; not in the log"
    )


def test_the_evidence_names_the_key_of_a_producer_of_the_users_own(check: Check) -> None:
    history = story().send(3, at=60, key_text="customer-7").send(4, at=61, key_text="a").read(4, at=61)
    summary, rows = check(history, meta=run_meta())
    (lost,) = [row for row in rows if row["finding"] == "lost"]
    assert (lost["key_text"], lost["id"]) == ("customer-7", None)
    assert summary.ids is None, "the run is not judged by ids"
    (example,) = [one for one in summary.examples if one.finding is FindingClass.LOST]
    assert example.record == "producer 0, seq 3, key customer-7"


def test_findings_about_readers_and_ids_name_key_and_id_too(check: Check) -> None:
    history = History().send(0, at=1, record_id="a", key_text="k").send(1, at=2, record_id="b", key_text="b")
    history.read(0, at=1, record_id="a").read(1, at=2, record_id="b").read(1, at=3, record_id="b")
    history.send(2, at=0).read(2, at=0).give(2, at=0).give(1, at=2)
    summary, rows = check(history, meta=meta_of(readers=(ReaderInfo(name="live"),)))
    named = {row["finding"]: (row["id"], row["key_text"]) for row in rows}
    assert named["duplicate_id"] == named["duplicate"] == ("b", "b")
    assert named["skipped"] == ("a", "k")
    records = {one.finding: one.record for one in summary.examples}
    assert records[FindingClass.SKIPPED] == "producer 0, seq 0, key k, id a"
    assert records[FindingClass.DUPLICATE] == "producer 0, seq 1, id b", "a key that is the id is told once"


def test_findings_about_outputs_name_key_and_id_of_the_input(check: Check) -> None:
    history = History()
    for seq, name in enumerate(("none", "two", "absent")):
        history.send(seq, at=seq, record_id=name, key_text=f"k-{seq}")
    for seq in (0, 1):
        history.read(seq, at=seq)
    history.output(1, at=5).output(1, at=6).output(2, at=7).output(9, at=8)
    # Only the log names the id of this one.
    history.send(3, at=3).read(3, at=3, record_id="of the log")
    summary, rows = check(history, meta=meta_of(application=application()))
    of_outputs = {row["seq"]: (row["finding"], row["id"], row["key_text"]) for row in rows if row["seq"] != 2}
    assert of_outputs == {
        0: ("unprocessed", "none", "k-0"),
        1: ("reprocessed", "two", "k-1"),
        3: ("unprocessed", "of the log", None),
        9: ("invented", None, None),
    }
    (premature,) = [row for row in rows if row["finding"] == "premature"]
    assert (premature["id"], premature["key_text"]) == ("absent", "k-2")
    told = {one.seq: one.record for one in summary.examples if one.finding is FindingClass.UNPROCESSED}
    assert told == {0: "producer 0, seq 0, key k-0, id none", 3: "producer 0, seq 3, id of the log"}


def test_a_value_that_only_claims_an_identity_has_no_name(check: Check) -> None:
    history = History().send(0, at=1, record_id="a", key_text="k").read(0, at=1, record_id="a")
    history.read(0, at=2, state="corrupt")
    _, rows = check(history, meta=meta_of())
    assert [(row["finding"], row["id"], row["key_text"]) for row in rows] == [("corrupt", None, None)]


def test_a_folder_from_before_keys_were_kept_is_checked_as_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_run(tmp_path, story().send(3, at=60, record_id="order-12"), meta=meta_of())
    part = tmp_path / SENT_IDS_DIR / "part-00000.parquet"
    pq.write_table(pq.read_table(part).drop_columns("key_text"), part)
    check_run(spark, tmp_path)
    (lost,) = [row for row in findings_of(tmp_path) if row["finding"] == "lost"]
    assert (lost["id"], lost["key_text"]) == ("order-12", None)


def test_sql_has_id_and_key_of_records_of_own_producers_alone(spark: SparkSession, tmp_path: Path) -> None:
    history = History().send(0, at=1, record_id="a", key_text="k").read(0, at=1).send(1, at=2).read(1, at=2)
    views = views_of(spark, write_run(tmp_path / "own", history, meta=meta_of()))
    rows = views.sql("select seq, id, key_text from records order by seq").to_pylist()
    assert [tuple(row.values()) for row in rows] == [(0, "a", "k"), (1, None, None)]
    history.sent_ids.clear()
    other = views_of(spark, write_run(tmp_path / "other", history, meta=run_meta()))
    assert "key_text" not in other["records"].columns


NONE: dict[str, Callable[[], tuple[History, RunMeta]]] = {
    "each once": lambda: (
        History().send(0, at=1, record_id="a").read(0, at=1, record_id="a"),
        meta_of(),
    ),
    "sent again, and only the second is there": lambda: (
        History()
        .send(0, "indeterminate", record_id="a", error="_MSG_TIMED_OUT")
        .send(1, at=2, record_id="a", sent=3, closed=4)
        .read(1, at=2, record_id="a"),
        meta_of(),
    ),
    "lost, and sent again before": lambda: (
        History()
        .send(0, at=1, record_id="a")
        .send(1, at=2, record_id="a", sent=3, closed=4)
        .read(1, at=2, record_id="a"),
        meta_of(),
    ),
    "never acknowledged, and absent": lambda: (
        History()
        .send(0, "indeterminate", record_id="a", error="x")
        .send(1, at=1, record_id="b")
        .read(1, at=1, record_id="b"),
        meta_of(),
    ),
    "meant to be there twice": lambda: (
        History()
        .send(0, at=1, record_id="a", sent=1, closed=2)
        .send(1, at=2, record_id="a", sent=3, closed=4)
        .read(0, at=1, record_id="a")
        .read(1, at=2, record_id="a"),
        meta_of(times=2),
    ),
    "in two partitions, whose order nobody keeps": lambda: (
        History()
        .send(0, at=9, record_id="a", sent=1, closed=2)
        .send(1, at=2, record_id="a", sent=3, closed=4, partition=1)
        .read(0, at=9, record_id="a")
        .read(1, at=2, record_id="a", partition=1),
        meta_of(times=2),
    ),
    "of two producers, sent at once": lambda: (
        History()
        .send(0, at=9, record_id="a", sent=1, closed=4)
        .send(0, at=2, record_id="a", sent=3, closed=4, producer=1)
        .read(0, at=9, record_id="a")
        .read(0, at=2, record_id="a", producer=1),
        meta_of(times=2),
    ),
    "records without an id": lambda: (
        History().send(0, at=1).read(0, at=1).send(1, at=2, record_id="b").read(1, at=2, record_id="b"),
        meta_of(),
    ),
    "named by the log only": lambda: (
        History().send(0, at=1).read(0, at=1, record_id="a"),
        meta_of(),
    ),
}


@pytest.mark.parametrize("name", NONE)
def test_nothing_is_said_of(name: str, check: Check) -> None:
    history, meta = NONE[name]()
    meta = meta.model_copy(
        update={
            "final_read": meta.final_read
            and meta.final_read.model_copy(update={"bounds": (bounds(), bounds(1))})
        }
    )
    summary, rows = check(history, meta=meta)
    assert of_ids(rows) == {}
    assert not summary.problems


FOUND: dict[str, Callable[[], tuple[History, RunMeta, str]]] = {
    "one record written twice": lambda: (
        History().send(0, at=1, record_id="a").read(0, at=1, record_id="a").read(0, at=2, record_id="a"),
        meta_of(),
        "duplicate_id",
    ),
    "three where two are meant": lambda: (
        History()
        .send(0, at=1, record_id="a")
        .send(1, at=2, record_id="a", sent=3, closed=4)
        .read(0, at=1, record_id="a")
        .read(1, at=2, record_id="a")
        .read(1, at=3, record_id="a"),
        meta_of(times=2),
        "duplicate_id",
    ),
    "both sends lost": lambda: (
        History().send(0, at=1, record_id="a").send(1, at=2, record_id="a", sent=3, closed=4),
        meta_of(),
        "lost_id",
    ),
    "one lost, one never reported": lambda: (
        History().send(0, at=1, record_id="a").send(1, "indeterminate", record_id="a", sent=3, closed=None),
        meta_of(),
        "lost_id",
    ),
    "nobody sent it": lambda: (
        History()
        .send(0, at=1, record_id="b")
        .read(0, at=1, record_id="b")
        .read(None, at=7, producer=None, state="undecodable", run=None, value=b"{}", record_id="a"),
        meta_of(),
        "phantom_id",
    ),
    "a later record of its producer stands before it": lambda: (
        History()
        .send(0, at=9, record_id="a", sent=1, closed=4)
        .send(1, at=2, record_id="a", sent=2, closed=4)
        .read(0, at=9, record_id="a")
        .read(1, at=2, record_id="a"),
        meta_of(times=2),
        "reordered_id",
    ),
    "a record of another producer, sent after its report": lambda: (
        History()
        .send(0, at=9, record_id="a", sent=1, closed=2)
        .send(0, at=2, record_id="a", sent=3, closed=4, producer=1)
        .read(0, at=9, record_id="a")
        .read(0, at=2, record_id="a", producer=1),
        meta_of(times=2),
        "reordered_id",
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_it_is_found(name: str, check: Check) -> None:
    history, meta, finding = FOUND[name]()
    _, rows = check(history, meta=meta)
    assert {key: row["finding"] for key, row in of_ids(rows).items()} == {"a": finding}


def test_an_expired_record_is_no_lost_id(check: Check) -> None:
    history = History().send(0, at=1, record_id="a").send(1, at=2, record_id="b").read(1, at=2, record_id="b")
    assert of_ids(check(history, meta=meta_of())[1]).keys() == {"a"}
    read = of_partitions(1)["final_read"]
    expired = read.model_copy(update={"bounds": (bounds(start=2),)})
    meta = meta_of(topic_config={"retention.ms": "10"}, final_read=expired)
    assert of_ids(check(history, meta=meta)[1]) == {}


def test_what_readers_of_committed_records_do_not_get_does_not_count(check: Check) -> None:
    history = History().txn(0, "aborted").txn(1)
    history.send(0, at=1, record_id="a", txn=0).read(0, at=1, record_id="a")
    history.send(1, at=3, record_id="a", txn=1, sent=3, closed=4).read(1, at=3, record_id="a")
    history.read_committed(1, at=3)
    meta = meta_of(transactional=True, idempotent=True)
    assert of_ids(check(history, meta=meta)[1]) == {}
    history.read_committed(0, at=1)
    assert of_ids(check(history, meta=meta)[1])["a"]["finding"] == "duplicate_id"


def test_a_run_whose_records_have_no_id_at_that_place_is_unknown(check: Check) -> None:
    history = History().send(0, at=1).read(0, at=1)
    summary, _ = check(history, meta=meta_of())
    (problem,) = summary.problems
    assert problem.startswith("no record has an id (the field order of the value)")
    assert judge(meta_of(), summary).verdict is VerdictWord.UNKNOWN


def test_a_story_has_an_end(check: Check) -> None:
    history = History()
    for seq in range(30):
        history.send(seq, at=seq, record_id="a", sent=seq, closed=seq + 1).read(seq, at=seq, record_id="a")
    row = of_ids(check(history, meta=meta_of())[1])["a"]
    assert row["detail"].count("producer 0 seq") == 5
    assert "; and 25 more sends; in the log at" in row["detail"]
    assert row["detail"].endswith("t-0@4 and 25 more")
    assert (row["copies"], row["count"], row["offsets"]) == (30, 30, [0, 1, 2, 3, 4])


def unidentified(history: History, *places: tuple[int, str]) -> History:
    """Records without an identity at these offsets."""
    for offset, name in places:
        history.read(
            None, at=offset, producer=None, state="undecodable", run=None, value=b"{}", record_id=name
        )
    return history


def test_without_identities_ids_alone_are_judged(check: Check) -> None:
    meta = meta_of().model_copy(update={"ids": RecordIds(place="the key", alone=True)})
    history = History().send(0, record_id="a").send(1, record_id="b").send(2, record_id="c")
    history.send(3, "indeterminate", record_id="c", closed=None).send(4, "indeterminate", record_id="d")
    summary, rows = check(unidentified(history, (0, "a"), (1, "a"), (2, "x")), meta=meta)
    assert {row["id"]: (row["finding"], row["offsets"]) for row in rows} == {
        "a": ("duplicate_id", [0, 1]),
        "b": ("lost_id", None),
        "c": ("lost_id", None),
        "x": ("phantom_id", [2]),
    }
    assert (summary.sent, summary.ids, summary.acked_ids, summary.problems) == (5, 4, 3, ())
    assert judge(meta, summary).verdict is VerdictWord.INVALID
    whole = unidentified(History().send(0, record_id="a").send(1, record_id="b"), (0, "b"), (1, "a"))
    summary, rows = check(whole, meta=meta)
    assert (rows, judge(meta, summary).verdict) == ([], VerdictWord.VALID)


def test_two_lists_without_a_common_id_say_nothing(check: Check) -> None:
    meta = meta_of().model_copy(update={"ids": RecordIds(place="the key", alone=True)})
    summary, rows = check(unidentified(History().send(0, record_id="a"), (0, "A")), meta=meta)
    assert rows == []
    assert "no id that was sent is in the log" in summary.problems[0]
    assert judge(meta, summary).verdict is VerdictWord.UNKNOWN


SENDS = st.lists(
    st.tuples(
        st.sampled_from("abcd"),  # its id
        st.integers(0, 1),  # producer
        st.integers(0, 1),  # partition
        st.sampled_from(["acked", "acked", "indeterminate"]),
        st.integers(0, 6),  # when it was sent
        st.integers(0, 3),  # how long it took
        st.integers(0, 2),  # copies in the log
        st.booleans(),  # its journal names the id
    ),
    max_size=12,
)


SIDE_BY_SIDE = side_by_side(20, of_many=80)
"""Histories of one check, each with partitions, producers and ids of its own."""


@many(examples(3, SIDE_BY_SIDE))
@given(
    stories=st.lists(SENDS, min_size=SIDE_BY_SIDE, max_size=SIDE_BY_SIDE),
    seed=st.integers(0, 1000),
    times=st.integers(1, 2),
)
def test_same_as_the_oracle(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, stories: Any, seed: int, times: int
) -> None:
    places = Random(seed)
    folder = tmp_path_factory.mktemp("ids")
    meta = meta_of(times).model_copy(update=of_partitions(2 * SIDE_BY_SIDE))
    told = [built(number, sends, places) for number, sends in enumerate(stories)]
    write_run(folder, *(history for history, _ in told), meta=meta)
    check_run(spark, folder)
    found = {name: row["finding"] for name, row in of_ids(findings_of(folder)).items()}
    known = [one for _, sends in told for one in sends if one["known"]]
    assert found == expected(known, times)


def built(number: int, sends: Any, places: Random) -> tuple[History, list[Row]]:
    """A history, and its sends for the oracle."""
    history = History(producer=2 * number, partition=2 * number)
    next_seq, told, offsets = defaultdict[int, int](int), list[Row](), list(range(60))
    places.shuffle(offsets)
    for name, producer, partition, outcome, at, took, copies, named in sorted(sends, key=lambda one: one[4]):
        seq, own = next_seq[producer], f"{number}-{name}"
        next_seq[producer] += 1
        where = [offsets.pop() for _ in range(copies)]
        acked = outcome == "acked"
        history.send(
            seq,
            outcome,
            at=(where or [offsets.pop()])[0] if acked else None,
            producer=producer,
            partition=partition,
            sent=float(at),
            closed=float(at + took),
            error=None if acked else "x",
            record_id=own if named else None,
        )
        for offset in where:
            history.read(seq, at=offset, producer=producer, partition=partition, record_id=own)
        told.append(
            {
                "id": own,
                "producer": producer,
                "seq": seq,
                "partition": partition,
                "offsets": where,
                "acked": acked,
                "sent": at,
                "closed": at + took,
                "known": named or bool(where),
            }
        )
    return history, told


def expected(told: list[Row], times: int) -> dict[str, str]:
    """The finding about each id, in plain Python."""
    result = {}
    for name in {one["id"] for one in told}:
        mine = [one for one in told if one["id"] == name]
        copies = sum(len(one["offsets"]) for one in mine)
        acked = [one for one in mine if one["acked"]]
        late = any(
            first["partition"] == second["partition"]
            and first["offsets"]
            and second["offsets"]
            and min(second["offsets"]) < min(first["offsets"])
            and (
                (first["producer"] == second["producer"] and first["seq"] < second["seq"])
                or (first["acked"] and first["closed"] < second["sent"])
            )
            for first in mine
            for second in mine
        )
        if not copies and acked:
            result[name] = "lost_id"
        elif copies > times:
            result[name] = "duplicate_id"
        elif late:
            result[name] = "reordered_id"
    return result
