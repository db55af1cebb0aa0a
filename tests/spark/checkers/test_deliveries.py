"""What live readers and groups got: skipped, in the wrong order, again, and damaged; with near misses."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checkers.deliveries.find import find_damaged
from checkers.found import Found
from checkers.journals.views import Scratch, Views
from checkers.registry import find_deliveries, load_whole_run
from harness.model.run import ReaderInfo, RunMeta
from tests.support.history import OTHER_RUN, RUN, History, Row, run_meta, write_run
from tests.support.oracle import corrupt_values, deliveries

pytestmark = pytest.mark.spark

READERS = (
    ReaderInfo(name="live"),
    ReaderInfo(name="strict", committed=True),
    ReaderInfo(name="one", group="pair"),
    ReaderInfo(name="two", group="pair"),
    ReaderInfo(name="cautious", group="careful", committed=True),
)
META = run_meta(readers=READERS, transactional=True)
Find = Callable[..., list[Row]]


@pytest.fixture
def found(spark: SparkSession, tmp_path: Path) -> Find:
    """found(history, ...) -> findings about deliveries and damaged values, in order."""

    def run(*histories: History, meta: RunMeta = META, **options: Any) -> list[Row]:
        number = len(list(tmp_path.iterdir()))
        folder, scratch = tmp_path / f"run-{number}", tmp_path / f"scratch-{number}"
        folder.mkdir()
        scratch.mkdir()
        views = Views.of(spark, load_whole_run(write_run(folder, *histories, meta=meta, **options)))
        result = find_deliveries(views, Scratch(spark, scratch))
        assert result.problems == ()
        frames = [frame for frame in (result.findings, find_damaged(views)) if frame is not None]
        rows = [row for frame in frames for row in frame.toArrow().to_pylist()]
        return sorted(rows, key=_order)

    return run


def _order(row: Row) -> tuple[object, ...]:
    return row["finding"], row["reader"] or "", row["offsets"], row["partition"], row["detail"]


def _told(rows: Sequence[Row]) -> list[tuple[str, str, int, int]]:
    return [(row["finding"], row["reader"], row["offsets"][0], row["count"]) for row in rows]


def _log(*offsets: int) -> History:
    """A final read that holds these offsets; the record at each has its number."""
    history = History()
    for offset in offsets:
        history.read(offset, at=offset)
    return history


def _given(history: History, reader: str, *offsets: int, session: int = 0) -> History:
    for offset in offsets:
        history.give(offset, at=offset, reader=reader, session=session)
    return history


def test_without_live_readers_there_is_nothing_to_find(spark: SparkSession, tmp_path: Path) -> None:
    write_run(tmp_path, _log(1), meta=META)
    views = Views.of(spark, load_whole_run(tmp_path))
    assert find_deliveries(views, Scratch(spark, tmp_path / "scratch")) == Found()
    assert find_damaged(views) is None


def test_in_order_and_complete_is_no_finding(found: Find) -> None:
    history = _given(_log(*range(200)), "live", *range(200))
    assert found(_given(_given(history, "one", *range(150)), "two", *range(150, 200), session=1)) == []


def test_a_session_in_order_skips_what_lies_between_its_offsets(found: Find) -> None:
    (row,) = found(_given(_log(*range(50, 140)), "live", *range(55, 60), *range(132, 135)))
    assert (row["finding"], row["reader"], row["offsets"], row["count"]) == ("skipped", "live", [60], 72)
    assert (row["producer"], row["seq"], row["partition"]) == (0, 60, 0)
    assert row["detail"] == "live passed over 72 offset(s) of t-0 from 60 on, which the final read holds"
    assert row["windows"] == ""


def test_runs_end_where_the_log_has_a_hole(found: Find) -> None:
    rows = found(_given(_log(0, 1, 2, 62, 63, 64, 65, 127, 128, 200), "live", 0, 200))
    assert _told(rows) == [
        ("skipped", "live", 1, 2),
        ("skipped", "live", 62, 4),
        ("skipped", "live", 127, 2),
    ]


def test_what_a_reader_skipped_after_it_went_back_counts_again(found: Find) -> None:
    rows = found(_given(_log(*range(10)), "live", 0, 5, 0, 5, 3))
    assert _told(rows) == [
        ("nonmonotonic_read", "live", 0, 1),
        ("nonmonotonic_read", "live", 3, 1),
        ("skipped", "live", 1, 4),
        ("skipped", "live", 1, 4),
    ]
    assert rows[0]["detail"] == "live got offset 0 of t-0 after offset 5 in one session"


def test_a_member_that_went_back_skips_nothing_by_itself(found: Find) -> None:
    history = _given(_given(_log(*range(10)), "two", 1, 2, 3, 4), "one", 0, 5, 6)
    assert found(history) == []
    rows = found(_given(history, "one", 5))
    assert _told(rows) == [("nonmonotonic_read", "one", 5, 1), ("redelivered", "pair", 5, 2)]


def test_redelivered_has_the_identity_of_the_least_record(found: Find) -> None:
    history = _log(0, 1, 2)
    for seq, run in ((7, RUN), (4, OTHER_RUN), (9, OTHER_RUN)):
        history.give(seq, at=1, reader="two", run=run, session=seq)
    history.give(0, at=0, reader="one").give(2, at=2, reader="one")
    (row,) = found(history)
    assert (row["finding"], row["seq"], row["count"]) == ("redelivered", 4, 3)
    assert row["detail"] == "group pair was given offset 1 of t-0 3 times"


def test_a_group_may_have_the_name_of_a_reader(found: Find) -> None:
    readers = (ReaderInfo(name="a"), ReaderInfo(name="b", group="a"))
    history = _given(_given(_log(*range(5)), "a", 0, 4), "b", 0, 1, 2, 4)
    rows = found(history, meta=run_meta(readers=readers))
    assert _told(rows) == [("skipped", "a", 1, 3), ("skipped", "a", 3, 1)]


def test_a_commit_beyond_the_last_delivery_passes_over_what_is_there(found: Find) -> None:
    history = _given(_log(*range(300)), "one", *range(10))
    assert found(history.commit(10, reader="one")) == []
    assert found(history.commit(290, reader="one", error="REBALANCE_IN_PROGRESS")) == []
    assert found(history.commit(290, reader="cautious").commit(290, reader="live")) == []
    assert _told(found(history.commit(290, reader="two"))) == [("skipped", "pair", 10, 280)]


def test_readers_of_committed_records_skip_only_these(found: Find) -> None:
    history = _given(_given(_log(*range(100)), "strict", 0, 90), "cautious", 0, 90)
    history.read_committed(0, at=0).read_committed(90, at=90)
    assert found(history) == []
    rows = found(history.read_committed(44, at=44))
    assert _told(rows) == [("skipped", "careful", 44, 1), ("skipped", "strict", 44, 1)]
    assert {row["seq"] for row in rows} == {44}


def test_the_identity_of_what_was_skipped_is_the_least_that_can_be_trusted(found: Find) -> None:
    history = _given(_log(0, 9), "live", 0, 9)
    history.read(1, at=5, producer=1, state="corrupt").read(
        8, at=5, producer=2, state="foreign", run=OTHER_RUN
    )
    history.read(3, at=5, producer=2)
    (damaged, row) = found(history)
    assert (row["producer"], row["seq"], row["count"]) == (2, 3, 1)
    assert (damaged["finding"], damaged["reader"], damaged["copies"]) == ("corrupt", None, 1)


def test_rows_without_a_position_are_delivered_but_in_no_order(found: Find) -> None:
    history = _given(_log(*range(10)), "live", 0, 1, 2, 9)
    history.live[1]["position"] = None
    assert _told(found(history)) == [("skipped", "live", 1, 1), ("skipped", "live", 3, 6)]
    history = _given(_log(*range(10)), "one", 0, 1, 2, 9)
    history.live[3]["position"] = None
    assert _told(found(history)) == [("skipped", "pair", 3, 6)]


def test_offsets_at_their_limits(found: Find) -> None:
    most = 2**63 - 1
    held = [0, 63, 64, 2**40, 2**62 - 1, 2**62, most - 1, most]
    rows = found(_given(_given(_log(*held), "live", 0, most, 0, most), "one", 0, most))
    between = [(63, 2), (2**40, 1), (2**62 - 1, 2), (most - 1, 1)]
    expected = [("nonmonotonic_read", "live", 0, 1)]
    expected += [("skipped", "live", *run) for run in between for _ in (0, 1)]
    expected += [("skipped", "pair", *run) for run in between]
    assert sorted(_told(rows)) == sorted(expected)


def test_damage_that_only_a_live_reader_got(found: Find) -> None:
    history = _log(3, 4).give(5, at=3, state="corrupt", key=8).give(6, at=3, state="undecodable", session=1)
    history.give(4, at=4, state="corrupt").read(7, at=4, state="corrupt", value=b"x")
    both, once = found(history)
    assert (both["reader"], both["offsets"], both["copies"]) == (None, [4], 1), "told once, of the final read"
    assert (once["reader"], once["count"], once["copies"], once["epochs"]) == ("live", 2, 0, 1)
    assert (once["producer"], once["seq"], once["key"], once["partition"]) == (0, 5, 8, 0), "of the first"
    assert once["detail"] == (
        "live reader live got what the final read does not hold: CRC does not match; t-0 at offset 3"
    )


def test_damaged_values_of_the_final_read_show_how_they_begin(found: Find) -> None:
    history = History().read(1, at=7, state="corrupt", value=bytes(range(250, 256)) * 5, key=2)
    history.read(None, at=8, state="undecodable", run=None, producer=None)
    claimed, unknown = found(history)
    assert claimed["detail"] == (
        "CRC does not match; t-0 at offset 7, 30 bytes beginning FAFBFCFDFEFFFAFBFCFDFEFFFAFBFCFD"
    )
    assert unknown["detail"] == "not a value of this harness; t-0 at offset 8, 0 bytes beginning "
    assert (claimed["producer"], claimed["seq"], claimed["key"], claimed["partition"]) == (0, 1, 2, 0)
    assert (claimed["copies"], claimed["epochs"], claimed["count"], claimed["reader"]) == (1, 1, None, None)
    assert (unknown["producer"], unknown["seq"]) == (None, None)


def test_files_and_their_order_do_not_matter(found: Find) -> None:
    history = _random(random.Random(8))
    whole = found(history)
    assert len(whole) > 5
    assert found(history, files=3, row_group=2) == whole
    assert found(history, files=2, reverse=True) == whole


def _random(dice: random.Random) -> History:
    """Logs with holes, and readers that mostly go forward, a few offsets at a time."""
    history = History()
    for partition in (0, 1):
        there = [offset for offset in range(150) if dice.random() < 0.8]
        for offset in there:
            state = dice.choice(["ok"] * 20 + ["corrupt"])
            history.read(offset, at=offset, partition=partition, state=state)
            if dice.random() < 0.7:
                history.read_committed(offset, at=offset, partition=partition)
        for reader in READERS:
            at, session = dice.randrange(30), 0
            while at < 150 and dice.random() < 0.98:
                state = dice.choice(["ok"] * 20 + ["corrupt"])
                history.give(at, at=at, reader=reader.name, partition=partition, session=session, state=state)
                at += dice.choice([1] * 12 + [2, 5, 70])
                if dice.random() < 0.05:
                    at, session = max(0, at - dice.randrange(40)), session + dice.randrange(2)
            if dice.random() < 0.5:
                error = dice.choice([None, None, "REBALANCE_IN_PROGRESS"])
                history.commit(at + dice.randrange(20), reader=reader.name, partition=partition, error=error)
    return history


@pytest.mark.parametrize("seed", range(4))
def test_same_as_the_oracle(found: Find, seed: int) -> None:
    dice = random.Random(seed)
    histories = [_moved(_random(dice), 2 * index) for index in range(10)]
    rows = found(*histories)
    expected = sum((deliveries(META, history) for history in histories), Counter())
    bad = sum((corrupt_values(history) for history in histories), Counter())
    assert expected
    assert bad
    told = [row for row in rows if row["finding"] != "corrupt"]
    assert expected == Counter((*_told([row])[0][:2], row["partition"], *_told([row])[0][2:]) for row in told)
    values = [row for row in rows if row["finding"] == "corrupt"]
    assert bad == Counter((row["partition"], row["offsets"][0]) for row in values)


def _moved(history: History, by: int) -> History:
    """The same history in partitions of its own."""
    columns = {
        one.name: [row | {"partition": row["partition"] + by} for row in getattr(history, one.name)]
        for one in fields(History)
        if one.name in ("reads", "committed", "live", "commits")
    }
    return replace(History(), **columns)
