"""Live readers against librdkafka's mock cluster: what each journals, alone and in groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.model.errors import BadInput
from tests.support.live_readers import (
    PARTITIONS,
    PATIENCE,
    QUICK,
    LiveReaders,
    Rows,
    everything,
    places,
    rising,
)
from workloads.records.config.reader_spec import ReaderSpec

pytestmark = pytest.mark.mock

LATER = (8.0, 20.0, 40.0)
"""When a member is restarted. On a busy machine it may have no partition yet the first time."""


def test_a_reader_by_hand_gets_everything_once_and_in_order(
    case: Callable[..., LiveReaders], write: Callable[[int], None]
) -> None:
    write(300)
    made = case(ReaderSpec(name="plain"))
    made.readers.start()
    made.until(lambda: made.readers.records() > 0)
    write(200)
    made.end()
    rows = made.rows("plain")
    rising(rows)
    assert sorted(places(rows)) == sorted(everything(500))
    assert {row["session"] for row in rows} == {0}
    events = [
        (row["session"], row["event"], row["partition"], row["offset"]) for row in made.table("assignments")
    ]
    assert events == [(0, "assigned", n, 0) for n in range(4)] + [(0, "revoked", n, None) for n in range(4)]
    assert made.table("commits") == []
    (info,) = made.readers.infos()
    assert (info.name, info.group, info.records, info.closed, info.commits) == (
        "plain",
        None,
        2000,
        True,
        "none",
    )


def test_a_member_that_was_given_nothing_is_not_restarted_yet(
    case: Callable[..., LiveReaders], write: Callable[[int], None]
) -> None:
    made = case(ReaderSpec(name="plain", restarts=(0.0,)))
    made.readers.start()
    # Long enough for a restart that does not wait: 40 polls.
    time.sleep(2)
    assert {row["session"] for row in flushed(made, "assignments")} == {0}
    write(100)
    made.until(lambda: any(row["session"] == 1 for row in flushed(made, "assignments")))
    made.end()


def test_a_restarted_reader_goes_on_where_it_was_in_a_new_session(
    case: Callable[..., LiveReaders], write: Callable[[int], None]
) -> None:
    write(300)
    made = case(ReaderSpec(name="plain", restarts=(2.0,)))
    made.readers.start()
    made.until(lambda: made.readers.records() == 1200)
    made.until(lambda: any(row["session"] == 1 for row in flushed(made, "assignments")))
    write(100)
    made.end()
    rows = made.rows("plain")
    rising(rows)
    assert sorted(places(rows)) == sorted(everything(400)), "nothing twice, nothing passed over"
    # How far the first session came depends on the machine; the second one begins just there.
    read = {
        number: [row["offset"] for row in rows if (row["session"], row["partition"]) == (0, number)]
        for number in range(PARTITIONS)
    }
    begun = [
        (row["session"], row["partition"], row["offset"])
        for row in made.table("assignments")
        if row["event"] == "assigned"
    ]
    assert begun == [(0, number, 0) for number in range(PARTITIONS)] + [
        (1, number, len(read[number])) for number in range(PARTITIONS)
    ]
    assert {row["session"] for row in rows} == {0, 1}


def flushed(made: LiveReaders, name: str) -> Rows:
    """The rows that are on disk by now."""
    folder = made._folder / name
    return [row for part in sorted(folder.glob("part-*.parquet")) for row in pq.read_table(part).to_pylist()]


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_group_without_offsets_begins_at_the_start_and_shares_the_partitions(
    case: Callable[..., LiveReaders], write: Callable[[int], None], assignor: Any
) -> None:
    write(200)
    spec = ReaderSpec(
        name="work", group="g", members=2, commits="manual", commit_every=0.2, assignor=assignor, extra=QUICK
    )
    made = case(spec)
    made.readers.start()
    made.until(lambda: made.readers.records() >= 800)
    made.until(lambda: len({row["partition"] for row in flushed(made, "commits")}) == PARTITIONS)
    made.until(lambda: {row["reader"] for row in flushed(made, "assignments")} == {"work-0", "work-1"})
    write(100)
    made.end()
    both = [made.rows("work-0"), made.rows("work-1")]
    for rows in both:
        rising(rows)
        assert rows
    assert set(places(both[0]) + places(both[1])) == everything(300)
    assert {(info.group, info.reset) for info in made.readers.infos()} == {("g", "error")}
    done = {
        row["partition"]: max(
            one["offset"] for one in made.table("commits") if one["partition"] == row["partition"]
        )
        for row in made.table("commits")
        if row["error"] is None
    }
    assert done == dict.fromkeys(range(4), 300)
    events = {row["event"] for row in made.table("assignments")}
    assert events == {"assigned", "revoked"}


def test_members_by_hand_read_everything_beside_each_other_and_commit(
    case: Callable[..., LiveReaders], write: Callable[[int], None]
) -> None:
    write(50)
    made = case(ReaderSpec(name="work", group="work", members=2, by_hand=True, commits="manual"))
    made.readers.start()
    made.until(lambda: made.readers.records() == 2 * 50 * PARTITIONS)
    made.end()
    for name in ("work-0", "work-1"):
        assert sorted(places(made.rows(name))) == sorted(everything(50))
        last = {row["partition"]: row["offset"] for row in made.table("commits") if row["reader"] == name}
        assert last == dict.fromkeys(range(PARTITIONS), 50), "committed before the partitions are given up"
    events = [(row["reader"], row["event"], row["partition"]) for row in made.table("assignments")]
    assert sorted(events) == [
        (name, event, number)
        for name in ("work-0", "work-1")
        for event in ("assigned", "revoked")
        for number in range(PARTITIONS)
    ]


def test_a_member_that_restarts_makes_the_group_rebalance(
    case: Callable[..., LiveReaders], write: Callable[[int], None]
) -> None:
    write(200)
    spec = ReaderSpec(
        name="work", group="g2", members=2, commits="auto", commit_every=0.2, restarts=LATER, extra=QUICK
    )
    made = case(spec)
    made.readers.start()
    made.until(
        lambda: any(
            row["reader"] == "work-0" and row["event"] == "revoked" for row in flushed(made, "assignments")
        )
    )
    write(100)
    made.end()
    rows = made.rows("work-0") + made.rows("work-1")
    assert set(places(rows)) == everything(300)
    moved = made.table("assignments")
    assert max(row["session"] for row in moved if row["reader"] == "work-0") >= 1
    commits = made.table("commits")
    done = {row["partition"] for row in commits if row["error"] is None}
    assert done == set(range(4)), "the client's own commits are there too"


def test_a_group_that_never_commits_begins_anew(
    case: Callable[..., LiveReaders], write: Callable[[int], None]
) -> None:
    write(50)
    made = case(ReaderSpec(name="work", group="g3", restarts=LATER, extra=QUICK))
    made.readers.start()
    made.until(lambda: made.readers.records() >= 400)
    made.end()
    rows = made.rows("work-0")
    rising(rows)
    assert set(places(rows)) == everything(50)
    assert len(rows) >= 400, "redelivered, as nothing was committed"
    assert made.table("commits") == []


def test_catching_up_is_bounded_and_told(tmp_path: Path) -> None:
    lost = LiveReaders(tmp_path / "lost", "127.0.0.1:1", "nowhere", ReaderSpec(name="plain"))
    lost.readers.start()
    assert not lost.readers.catch_up(time.monotonic() + 0.3)
    assert lost.readers.unread[0].startswith("plain is at 0 of partition 0")
    lost.close()
    (info,) = lost.readers.infos()
    assert (info.records, info.closed) == (0, True)
    assert pq.read_table(tmp_path / "lost" / "live" / "plain").num_rows == 0


def test_a_reader_with_a_rack_that_never_used_it_is_a_problem(
    case: Callable[..., LiveReaders], write: Callable[[int], None]
) -> None:
    write(10)
    made = case(ReaderSpec(name="near", rack="r9"))
    made.readers.start()
    assert made.readers.catch_up(time.monotonic() + PATIENCE)
    made.close()
    assert made.readers.problems == ("reader near has rack r9, but never fetched from a follower",)


def test_settings_that_the_client_refuses_are_bad_input(case: Callable[..., LiveReaders]) -> None:
    with pytest.raises(BadInput) as caught:
        case(ReaderSpec(name="plain", extra={"no.such.property": "1"}))
    assert caught.value.found is not None
    assert "no.such.property" in caught.value.found
