"""Whose doing it was that records were not handled: a case for each cause, and random stories."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.applications.find import find
from checkers.check import check_run
from checkers.journals.views import Scratch, Views
from checkers.registry import load_whole_run
from harness.model.group_journal import OFFSETS_DIR
from harness.model.result import HandledRecords, MemberRecords, NotHandled
from harness.model.run import Deletion, RunMeta
from tests.support.history import T0, TOPIC, History, application, event, ns, run_meta, write_run
from tests.support.random_histories import examples, many

pytestmark = pytest.mark.spark

COMMITTED, FAILED = NotHandled.COMMITTED.value, NotHandled.FAILED.value
JUMPED, NOT_REACHED = NotHandled.JUMPED.value, NotHandled.NOT_REACHED.value
RECORDS = 8


def _meta(**changes: Any) -> RunMeta:
    handles = application(guarantee="at-least-once", deliveries=True, table=True, group="g")
    return run_meta(application=handles, **changes)


def _log() -> History:
    """Records 0 to 7, at their offsets."""
    history = History()
    for seq in range(RECORDS):
        history.send(seq, at=seq).read(seq, at=seq)
    return history


def _handle(history: History, *offsets: int, since: float = 10, member: int = 0) -> History:
    """A member handles these, one each second."""
    row = sum(one["partition"] == member for one in history.outputs)
    for number, offset in enumerate(offsets):
        history.output(offset, at=row + number, partition=member, made=since + number)
    return history


@pytest.fixture
def handled(spark: SparkSession, tmp_path: Path) -> Any:
    """handled(history, meta) -> causes by offset, sentences by offset, and what members handled."""

    def run(
        history: History, meta: RunMeta | None = None, restarted: float | None = None
    ) -> tuple[dict[int, str], dict[int, str], Any]:
        number = len(list(tmp_path.iterdir()))
        folder, scratch = tmp_path / f"run-{number}", tmp_path / f"scratch-{number}"
        scratch.mkdir()
        events = () if restarted is None else (event(restarted, "restarted"),)
        write_run(folder, history, meta=meta or _meta(), events=events)
        views = Views.of(spark, load_whole_run(folder))
        found = find(views, Scratch(spark, scratch))
        assert not found.problems
        rows = [] if found.findings is None else found.findings.collect()
        missing = [row for row in rows if row["finding"] == "unprocessed"]
        causes = {row["seq"]: row["place"] for row in missing}
        return causes, {row["seq"]: row["detail"] for row in missing}, found.summary.get("handled")

    return run


class TestCauses:
    def test_a_commit_that_comes_before_the_handler(self, handled: Any) -> None:
        history = _handle(_log(), 0, 1, 2).logged(3, at=11.5).logged(8, at=12.5)

        causes, words, _ = handled(history)

        assert causes == dict.fromkeys((3, 4, 5, 6, 7), COMMITTED)
        assert words[3].endswith(
            "; its group committed offset 8 at 12.500 s of the run, before it was handled"
        )

    def test_a_commit_up_to_a_record_does_not_pass_over_it(self, handled: Any) -> None:
        causes, words, _ = handled(_handle(_log(), 0, 1, 2).logged(3, at=12.5))

        assert causes == dict.fromkeys((3, 4, 5, 6, 7), NOT_REACHED)
        assert words[7].endswith("; neither a commit nor a later record shows that it was reached")

    def test_a_handler_that_failed_and_went_on(self, handled: Any) -> None:
        history = _handle(_log(), 0, 1, 3, 4, 5, 6, 7).handler_failed(2, at=11.5).logged(8, at=30)

        causes, words, _ = handled(history)

        assert causes == {2: FAILED}
        assert words[2].endswith(
            "; its handler had failed on it at 11.500 s of the run, and it went on with a later record"
        )

    def test_a_handler_that_failed_and_a_commit_on_the_way_out(self, handled: Any) -> None:
        history = _handle(_log(), 0, 1).handler_failed(2, at=11.5).logged(3, at=11.6)
        history = _handle(history, 3, 4, 5, 6, 7, since=20, member=1).logged(8, at=30)

        causes, words, _ = handled(history)

        assert causes == {2: COMMITTED}
        assert words[2].endswith(
            "; its group committed offset 3 at 11.600 s of the run, before it was handled; its handler had "
            "failed on it at 11.500 s of the run"
        )

    def test_a_later_record_was_handled_first(self, handled: Any) -> None:
        causes, words, _ = handled(_handle(_log(), 0, 1, 5, 6, 7).logged(8, at=30))

        assert causes == dict.fromkeys((2, 3, 4), JUMPED)
        # The output has the end of its millisecond.
        assert words[4].endswith("; a later record was handled first, at 12.001 s of the run")

    def test_commits_of_another_group_and_partition_say_nothing(self, handled: Any) -> None:
        history = _handle(_log(), 0).logged(8, at=12, group="other").logged(8, at=12, partition=1)

        assert set(handled(history)[0].values()) == {NOT_REACHED}

    def test_commits_of_a_topic_that_was_deleted_say_nothing(self, handled: Any) -> None:
        gone = Deletion(topic=TOPIC, before=None, at_ns=ns(5) or 0)
        history = History()
        for seq in range(3):
            history.send(seq, at=seq, sent=6, closed=7).read(seq, at=seq)

        causes, _, _ = handled(_handle(history, 0).logged(3, at=4), _meta(deletions=(gone,)))

        assert set(causes.values()) == {NOT_REACHED}

    def test_a_folder_from_before_commits_had_their_times(self, spark: SparkSession, tmp_path: Path) -> None:
        folder = write_run(tmp_path / "run", _handle(_log(), 0, 1, 2).logged(8, at=12), meta=_meta())
        (part,) = (folder / OFFSETS_DIR).iterdir()
        pq.write_table(pq.read_table(part).drop_columns("commit_ms"), part)

        summary = check_run(spark, folder)

        assert summary.problems == ()
        assert summary.unprocessed_places == {NOT_REACHED: 5}

    def test_an_application_without_such_a_journal_has_no_causes(self, handled: Any) -> None:
        meta = run_meta(application=application(guarantee="at-least-once", group="g"))

        causes, words, members = handled(_handle(_log(), 0, 1, 2).logged(8, at=12), meta)

        assert set(causes.values()) == {None}
        assert "committed" not in words[3]
        assert members is None

    def test_the_summary_counts_them(self, spark: SparkSession, tmp_path: Path) -> None:
        history = _handle(_log(), 0, 1, 3).handler_failed(2, at=11.5).logged(8, at=40)
        folder = write_run(tmp_path / "run", history, meta=_meta())

        summary = check_run(spark, folder)

        assert summary.unprocessed_places == {COMMITTED: 4, FAILED: 1}
        assert summary.handled is not None
        assert summary.handled.longest_gap == 1.0


def test_members_share_a_partition(handled: Any) -> None:
    history = _handle(_log(), 0, 1, 2, 3).logged(2, at=11.5).logged(4, at=20)
    history = _handle(history, 2, 3, 4, 5, 6, 7, since=12, member=1).logged(8, at=30)

    _, _, members = handled(history)

    first, second = members.members
    assert (first.member, first.records, first.next_offset, first.committed) == (0, 4, 4, 2)
    assert (second.member, second.records, second.next_offset, second.committed) == (1, 6, 8, 8)
    assert members.shared_seconds == 1.0
    assert members.longest_gap == 1.0


def test_what_a_process_commits_before_it_handles_anything_is_its_own(handled: Any) -> None:
    history = _handle(_handle(_log(), 0, 1), 2, 3, since=20, member=1)
    history.logged(2, at=11.5).logged(3, at=19)

    _, _, members = handled(history, restarted=15)

    assert [one.committed for one in members.members] == [2, 3]


def test_it_is_no_gap_that_nothing_was_there_to_handle(handled: Any) -> None:
    history = _handle(_log(), 0, 1).send(9, at=9, sent=70, closed=71).read(9, at=9)
    history = _handle(history, 9, since=75)

    _, _, members = handled(history)

    assert members.longest_gap == 4.001


def test_members_one_after_the_other_share_nothing(handled: Any) -> None:
    history = _handle(_handle(_log(), 0, 1), 2, 3, since=50, member=1)

    _, _, members = handled(history)

    assert members.shared_seconds == 0.0
    assert members.longest_gap == 39.0
    assert [one.committed for one in members.members] == [None, None]


@many(examples(10))
@given(
    given_out=st.lists(st.tuples(st.integers(0, RECORDS - 1), st.integers(0, 1)), max_size=14),
    commits=st.lists(st.tuples(st.integers(0, RECORDS), st.integers(0, 30)), max_size=6),
    failed=st.sets(st.integers(0, RECORDS - 1), max_size=3),
)
def test_same_as_plain_python(
    handled: Any,
    given_out: list[tuple[int, int]],
    commits: list[tuple[int, int]],
    failed: set[int],
) -> None:
    """`given_out` are offsets and members, one each second from 10 s on; commits have their times."""
    history = _log()
    for number, (offset, member) in enumerate(given_out):
        _handle(history, offset, since=10 + number, member=member)
    for offset, at in sorted(commits, key=lambda commit: commit[1]):
        history.logged(offset, at=at)
    for offset in failed:
        history.handler_failed(offset, at=5)

    causes, _, members = handled(history)

    assert causes == _causes(given_out, commits, failed)
    assert members == _members(given_out, commits)


def _causes(
    given_out: list[tuple[int, int]], commits: list[tuple[int, int]], failed: set[int]
) -> dict[int, str]:
    causes = {}
    for record in set(range(RECORDS)) - {offset for offset, _ in given_out}:
        handled = [10 + number for number, (offset, _) in enumerate(given_out) if offset > record]
        passed = [at for offset, at in commits if offset > record]
        if passed and (not handled or min(passed) <= min(handled)):
            causes[record] = COMMITTED
        elif handled:
            causes[record] = FAILED if record in failed else JUMPED
        else:
            causes[record] = NOT_REACHED
    return causes


def _members(given_out: list[tuple[int, int]], commits: list[tuple[int, int]]) -> HandledRecords:
    times = {
        member: [10 + number for number, (_, one) in enumerate(given_out) if one == member]
        for member in {member for _, member in given_out}
    }
    order = sorted(times, key=lambda member: times[member][0])
    in_log = sorted(commits, key=lambda commit: commit[1])
    rows = []
    for member, following in zip_longest(order, order[1:]):
        until = float("inf") if following is None else times[following][0]
        offsets = [offset for offset, one in given_out if one == member]
        known = [offset for offset, at in in_log if at <= until]
        rows.append(
            MemberRecords(
                member=member,
                partition=0,
                records=len(offsets),
                first_ns=_end_of_ms(times[member][0]),
                last_ns=_end_of_ms(times[member][-1]),
                next_offset=max(offsets) + 1,
                committed=known[-1] if known else None,
            )
        )
    shared = 0.0
    if len(order) == 2:
        one, other = (times[member] for member in order)
        shared = float(max(0, min(one[-1], other[-1]) - max(one[0], other[0])))
    return HandledRecords(
        members=tuple(rows), longest_gap=1.0 if len(given_out) > 1 else None, shared_seconds=shared
    )


def _end_of_ms(second: int) -> int:
    return T0 + second * 1_000_000_000 + 999_999
