"""What expectations make of a finished run: small folders by hand, each with a near miss."""

from __future__ import annotations

from typing import Any

import pytest

from harness.lab.suite import expect_answers, expect_brokers, expect_records
from harness.lab.suite.expectations import (
    Expectation,
    Observation,
    between,
    exactly,
    format_value,
    precondition,
)
from harness.model import journal
from harness.model.finding_class import FindingClass
from tests.support.builders.finished_runs import FinishedRunFolder, at

pytestmark = pytest.mark.pure


def seen(folder: FinishedRunFolder, *expectations: Expectation) -> list[bool | None]:
    run = folder.finished()
    return [expectation.observe(run).ok for expectation in expectations]


def test_missing_evidence_is_unknown(folder: FinishedRunFolder) -> None:
    row = expect_records.in_log("alone", 5).observe(folder.finished())
    assert row == Observation(
        what="records of alone in the log",
        expected="5",
        seen="the run did not get through step alone",
        ok=None,
    )


def test_counts_come_from_the_check(folder: FinishedRunFolder) -> None:
    folder.findings = {FindingClass.LOST: 500, FindingClass.DUPLICATE: 3}
    folder.acked = {"alone": 500}
    wanted = (
        expect_records.lost(500, of=500),
        expect_records.duplicates(3),
        expect_records.acked("alone", 500),
    )
    near = (expect_records.lost(499), expect_records.duplicates(0), expect_records.acked("other", 500))
    assert seen(folder, *wanted, *near) == [True] * 3 + [False] * 3
    bounds = [(3, None), (1, 3), (4, None), (0, 2), (0, 0)]
    found = [expect_records.findings(FindingClass.DUPLICATE, least=one, most=two) for one, two in bounds]
    assert seen(FinishedRunFolder(folder.path), *found) == [False, False, False, True, True]
    assert seen(folder, *found) == [True, True, False, False, False]


def test_acks_that_come_after_the_step_do_not_count_for_it(folder: FinishedRunFolder) -> None:
    step = folder.step("alone", 0, 5)
    folder.send(step, 0, closed_ns=at(4.9))
    folder.send(step, 1, closed_ns=at(5.1))
    folder.send(step, 2, closed_ns=None, outcome="indeterminate", error="_MSG_TIMED_OUT")
    assert seen(
        folder,
        expect_records.acked_during("alone", 1),
        expect_records.acked_during("alone", 2),
        expect_records.outcomes(
            "alone", {journal.SendOutcome.ACKED: 2, journal.SendOutcome.INDETERMINATE: 1}
        ),
        expect_records.outcomes("alone", {journal.SendOutcome.ACKED: 3}),
        expect_records.errors("alone", {"_MSG_TIMED_OUT": 1}),
        expect_records.errors("alone", {}),
        expect_records.errors_among("alone", 1, frozenset({"_MSG_TIMED_OUT", "_TRANSPORT"})),
        expect_records.errors_among("alone", 2, frozenset({"_MSG_TIMED_OUT"})),
        expect_records.errors_among("alone", 1, frozenset({"_TRANSPORT"})),
        expect_records.refused_partitions("alone", frozenset({0})),
        expect_records.refused_partitions("alone", frozenset()),
    ) == [True, False, True, False, True, False, True, False, False, True, False]


def test_the_log_reads_in_the_order_of_offsets(folder: FinishedRunFolder) -> None:
    step = folder.step("all", 0, 5)
    for seq in range(5):
        folder.send(step, seq)
    for offset, seq in reversed(list(enumerate([0, 1, 2, 2, None]))):
        folder.read(offset, seq)
    assert seen(
        folder,
        expect_records.log_content("M1 M2 M3 M3 ?"),
        expect_records.log_content("M1 M2 M3 M3"),
        expect_records.in_log("all", 3),
        expect_records.in_log("all", 4),
    ) == [True, False, True, False]


def test_a_stall_is_the_longest_time_without_an_ack(folder: FinishedRunFolder) -> None:
    step = folder.step("writing", 0, 20)
    for seq, closed in enumerate([1, 2, 9, 10]):
        folder.send(step, seq, sent_ns=at(closed - 0.5), closed_ns=at(closed))
    folder.send(step, 4, partition=1, sent_ns=at(1), closed_ns=at(4))
    folder.send(step, 5, outcome="indeterminate", closed_ns=at(19))
    assert seen(
        folder,
        expect_records.longest_stall("writing", 4.9, 5.1),
        expect_records.longest_stall("writing", 0, 4.9),
        expect_records.slowest_ack("writing", 2.9, 3.1),
        expect_records.slowest_ack("writing", 0, 0.6, partition=0),
        expect_records.slowest_ack("writing", 0, 0.6, partition=1),
    ) == [True, False, True, True, False]


def test_a_partition_is_acked_alone_from_its_first_to_its_last_ack_between_those_of_others(
    folder: FinishedRunFolder,
) -> None:
    step = folder.step("writing", 0, 20)
    acks = [(0, 1.0), (1, 2.0), (1, 4.0), (1, 5.0), (2, 9.0), (1, 9.1), (1, 10.0), (0, 11.0)]
    for seq, (partition, acked) in enumerate(acks):
        folder.send(step, seq, partition=partition, sent_ns=at(1), closed_ns=at(acked))
    assert seen(
        folder,
        expect_records.acked_alone("writing", 1, 2.9),
        expect_records.acked_alone("writing", 1, 3.1),
        expect_records.acked_alone("writing", 1, most=3.1),
        expect_records.acked_alone("writing", 1, most=2.9),
        expect_records.acked_alone("writing", 0, most=0),
        expect_records.acked_alone("writing", 3, most=0),
    ) == [True, False, True, False, True, True]


@pytest.mark.parametrize(
    ("aimed", "acks", "ok"),
    [(1.0, (1, 6), True), (1.0, (1, 16), False), (1.0, (1, 2, 3), False), (0.0, (1, 12.5), True)],
)
def test_a_stall_as_long_as_its_fault(
    folder: FinishedRunFolder, aimed: float, acks: tuple[float, ...], ok: bool
) -> None:
    folder.fault("partition-1", "aimed", aimed)
    folder.fault("partition-1", "injected", 1.0)
    folder.fault("partition-1", "undone", 5.0)
    step = folder.step("writing", 0, 20)
    for seq, closed in enumerate(acks):
        folder.send(step, seq, closed_ns=at(closed))
    assert seen(folder, expect_records.stall_as_long_as("writing", "partition")) == [ok]


def test_the_isr_as_the_newest_belief_has_it(folder: FinishedRunFolder) -> None:
    folder.fault("partition-1", "aimed", 1.0)
    folder.fault("partition-1", "injected", 1.0)
    folder.fault("partition-1", "undone", 9.0)
    folder.sample(0, 1, [1, 2, 3])
    folder.sample(2, 1, [1, 2, 3])
    # A follower that has not heard of it yet, at the same moment.
    folder.sample(8, 1, [1, 2, 3], broker=3)
    folder.sample(8, 1, [2, 1], broker=1)
    folder.sample(10, 1, [1, 2, 3])
    assert seen(
        folder,
        expect_brokers.isr_history(((1, 2, 3), (1, 2), (1, 2, 3))),
        expect_brokers.isr_history(((1, 2, 3),)),
        expect_brokers.left_isr(3, "partition", 6.5, 7.5),
        expect_brokers.left_isr(3, "partition", 0, 6.5),
        expect_brokers.left_isr(2, "partition", 0, 9),
        expect_brokers.back_in_isr(3, "partition", 1.5),
        expect_brokers.back_in_isr(3, "partition", 0.5),
    ) == [True, False, True, False, None, True, False]


def test_who_led_in_the_second_half_of_a_step(folder: FinishedRunFolder) -> None:
    folder.step("after", 0, 10)
    folder.sample(1, 1, [1])
    folder.sample(6, -1, [1], leader_epoch=1)
    folder.sample(9, -1, [1], leader_epoch=1)
    folder.sample(11, 1, [1], leader_epoch=2)
    assert seen(
        folder,
        expect_brokers.led_during("after", frozenset({-1})),
        expect_brokers.led_during("after", frozenset({1})),
        expect_brokers.leaders_at_end_of("after", {0: (-1,)}),
        expect_brokers.leaders_at_end_of("after", {0: (1, 2)}),
        expect_brokers.elections(2),
        expect_brokers.elections(3),
    ) == [True, False, True, False, True, False]


def test_every_partition_must_have_a_new_leader(folder: FinishedRunFolder) -> None:
    folder.fault("kill-1", "aimed", 1.0)
    folder.fault("kill-1", "injected", 1.0)
    folder.sample(0.5, 2, [2])
    folder.sample(3, 2, [2], leader_epoch=1)
    # An old belief at the same moment does not count.
    folder.sample(3, 1, [1, 2], broker=3)
    wanted, near = (
        expect_brokers.all_partitions_led("kill", frozenset({2, 3}), 1.5, 2.5),
        expect_brokers.all_partitions_led("kill", frozenset({3}), 0, 9),
    )
    assert seen(folder, wanted, near) == [True, None]


def test_a_fault_may_have_had_its_effect_before_its_injection_had_ended(folder: FinishedRunFolder) -> None:
    folder.fault("kill-1", "aimed", 0.5)
    folder.fault("kill-1", "injected", 2.0)
    folder.sample(1, 1, [1, 2])
    folder.sample(4, 2, [2], leader_epoch=1)
    run = folder.finished()
    found = [
        expect_brokers.all_partitions_led("kill", frozenset({2}), least, most).observe(run)
        for least, most in [(3.5, 8), (0, 2), (3.6, 8), (0, 1.9)]
    ]
    assert [one.ok for one in found] == [True, True, False, False]
    assert {one.seen for one in found} == {"2.0 to 3.5 s"}
    assert {one.number for one in found} == {2.0}


def test_an_end_that_goes_back_is_counted(folder: FinishedRunFolder) -> None:
    for seconds, mark in enumerate([5, 9, None, 7, 8]):
        folder.sample(seconds, 1, [1], high_watermark=mark)
    assert seen(folder, expect_brokers.end_went_back(1), expect_brokers.end_went_back(0)) == [True, False]


def test_what_consumers_were_given(folder: FinishedRunFolder) -> None:
    both = [[0, 0, 0], [1, 0, 1]]
    folder.answer("a", "fetch", 1, 2, detail={"records": both})
    folder.answer("b", "fetch", 2, 1, detail={"records": [[0, 0, 0], [1, 0, 9]]})
    folder.answer("b", "fetch_v10", 2, error="NOT_LEADER_OR_FOLLOWER")
    folder.answer("c", "fetch", 3, error="NO_ANSWER")
    folder.read(0, 0)
    folder.read(1, 9)
    folder.read(2, 10)
    no = "NOT_LEADER_OR_FOLLOWER"
    assert seen(
        folder,
        expect_answers.read_from_broker("a", 1, 2),
        expect_answers.read_from_broker("a", 1, 1),
        expect_answers.read_from_broker("c", 3, 0),
        # Another record at the same offset is not the same record.
        expect_answers.vanished_between("a", "b", 1),
        expect_answers.vanished_between("a", "b", 0),
        expect_answers.answered("b", "fetch_v10", 2, no),
        expect_answers.answered("b", "fetch", 2, no),
        expect_answers.answered("a", "fetch", 1),
        expect_answers.answered("a", "fetch", 1, number=2),
        expect_answers.answered("a", "fetch", 1, number=1),
        expect_answers.answered("c", "fetch", 3, number=2),
        expect_answers.missed_by_read("b", 2, 1),
        expect_answers.missed_by_read("b", 2, 0),
    ) == [True, False, None, True, False, True, False, True, True, False, False, True, False]


def test_what_a_live_reader_was_given(folder: FinishedRunFolder) -> None:
    for offset, seq in enumerate([0, 1, 7]):
        folder.read(offset, seq)
    # In the order in which it got them, not of the offsets: the log was cut under it.
    for position, (offset, seq) in enumerate([(0, 0), (1, 1), (2, 2), (3, 3), (2, 7)]):
        folder.live("c", position, offset, seq)
    assert seen(
        folder,
        expect_records.received("c", 5),
        expect_records.received_and_gone("c", 2),
        expect_records.received_and_gone("c", 1),
        expect_records.went_back("c", 1),
        expect_records.went_back("c", 0),
        expect_records.received("nobody", 0),
    ) == [True, True, False, True, False, None]


def batch(first: int, last: int, epoch: int = 0, ok: bool = True) -> dict[str, Any]:
    return {"base_offset": first, "last_offset": last, "leader_epoch": epoch, "crc_ok": ok}


@pytest.mark.parametrize(
    ("batches", "ok"),
    [
        ([batch(0, 9), batch(10, 14)], True),
        ([batch(0, 9), batch(11, 14)], False),
        ([batch(0, 9), batch(10, 14, epoch=1)], False),
        ([batch(0, 9), batch(10, 14, ok=False)], False),
        ([batch(0, 9)], False),
    ],
)
def test_a_dump_is_whole(folder: FinishedRunFolder, batches: list[dict[str, Any]], ok: bool) -> None:
    folder.answer("now", "files", 1, 15, detail={"batches": batches, "records": [], "epochs": []})
    assert seen(folder, expect_answers.batches("now", 1, leader_epoch=0, records=15)) == [ok]


def test_dumps_are_compared_where_both_have_something(folder: FinishedRunFolder) -> None:
    folder.answer("now", "files", 1, detail={"records": [[0, 0, 0], [1, 0, 1], [2, 0, 2]]})
    folder.answer("now", "files", 2, detail={"records": [[0, 0, 0], [1, 0, 5]]})
    assert seen(
        folder,
        expect_answers.differing_offsets("now", 1, 2, 1),
        expect_answers.differing_offsets("now", 1, 2, 2),
    ) == [
        True,
        False,
    ]


@pytest.mark.parametrize("change", ["none", "crc", "epoch", "missing", "not read"])
def test_replicas_are_alike_and_as_read(folder: FinishedRunFolder, change: str) -> None:
    for broker in (1, 2, 3):
        for offset in range(2):
            odd = broker == 3 and offset == 1
            if odd and change == "missing":
                continue
            crc = 8 if odd and change == "crc" else 7
            folder.replica(broker, offset, offset, epoch=int(odd and change == "epoch"), crc=crc)
    for offset in range(1 if change == "not read" else 2):
        folder.read(offset, offset)
    assert seen(folder, expect_brokers.replicas_identical()) == [change == "none"]


def test_epoch_lines_must_be_on_every_replica(folder: FinishedRunFolder) -> None:
    for broker in (1, 2):
        folder.replica(broker, 0, 0)
        folder.epochs(broker, (0, 0), (2, 5))
    wanted, near = expect_brokers.epoch_lines(((0, 0), (2, 5))), expect_brokers.epoch_lines(((0, 0), (1, 5)))
    assert seen(folder, wanted, near) == [True, False]
    (other := FinishedRunFolder(folder.path / "other")).path.mkdir()
    other.rows = {name: list(rows) for name, rows in folder.rows.items()}
    other.epochs(1, (3, 9))
    assert seen(other, wanted) == [False]


def test_what_the_leader_says_of_an_epoch(folder: FinishedRunFolder) -> None:
    folder.answer("ends", "epoch_ends", 3, 2, detail={"ends": {"0": [0, 5], "1": [0, 5], "2": None}})
    assert seen(
        folder,
        expect_answers.epoch_end("ends", 1, (0, 5)),
        expect_answers.epoch_end("ends", 1, (1, 5)),
        expect_answers.epoch_end("ends", 2, (2, 9)),
    ) == [True, False, False]


def test_how_long_a_start_took_is_read_off_the_last_line(folder: FinishedRunFolder) -> None:
    lines = ["Loaded 1 logs in 900ms", "[...] INFO Loaded 12 logs in 1234ms (kafka.log.LogManager)"]
    folder.answer("loaded", "printed", 1, 2, detail={"lines": lines})
    folder.answer("silent", "printed", 1, 0, detail={"lines": []})
    run = folder.finished()
    assert expect_answers.load_seconds("loaded", 1).observe(run).seen == "1.2 s"
    assert expect_answers.load_seconds("silent", 1).observe(run).ok is None
    assert expect_answers.lines_printed("loaded", 1, 2, None).observe(run).ok
    assert expect_answers.lines_printed("loaded", 1, 0, 0).observe(run).ok is False


def a_round(
    folder: FinishedRunFolder,
    number: int,
    mark: int,
    ends: list[int],
    isr: list[int],
    *,
    later_isr: list[int] | None = None,
) -> None:
    for place, question in enumerate(["leader", "high_watermark", "log_end", "leader"]):
        for broker in (1, 2, 3):
            members = later_isr if place == 3 and later_isr is not None else isr
            how = {"round": number, "place": place, "at_ns": at(number)}
            value = {"leader": 1, "high_watermark": mark if broker == 1 else 0, "log_end": ends[broker - 1]}
            detail = {"isr": members, "leader_epoch": 0} if question == "leader" else {}
            folder.answer("look", question, broker, value[question], detail=detail, **how)


def test_the_high_watermark_is_never_above_the_smallest_log_end(folder: FinishedRunFolder) -> None:
    for number in range(50):
        # Broker 3 is behind the high watermark, and out of the ISR.
        a_round(folder, number, 5, [9, 6, 2], [1, 2])
    # Rounds in which the ISR changed say nothing.
    a_round(folder, 50, 5, [9, 6, 2], [1, 2, 3], later_isr=[1, 2])
    assert seen(
        folder,
        expect_brokers.high_watermark_never_above(("look",)),
        expect_brokers.high_watermark_behind("look", (1, 2)),
        expect_brokers.high_watermark_behind("look", (1, 2, 3)),
        expect_brokers.high_watermark_stands_still("look", 48, 50),
        expect_brokers.high_watermark_stands_still("look", 0, 48),
        expect_brokers.high_watermark_at_log_end("look"),
    ) == [True, True, None, True, False, False]


def test_a_high_watermark_above_a_log_end_is_noticed(folder: FinishedRunFolder) -> None:
    for number in range(50):
        a_round(folder, number, 7 if number == 30 else 6, [9, 6, 6], [1, 2, 3])
    run = folder.finished()
    row = expect_brokers.high_watermark_never_above(("look",)).observe(run)
    assert (row.seen, row.ok) == ("1 of 50", False)


def test_a_leader_may_act_by_an_isr_that_its_metadata_does_not_show_yet(folder: FinishedRunFolder) -> None:
    for number in range(60):
        behind, isr = (6, [1, 2, 3]) if number < 30 else (2, [1, 2])
        a_round(folder, number, 6, [9, 6, 2 if number == 29 else behind], isr)
    row = expect_brokers.high_watermark_never_above(("look",)).observe(folder.finished())
    assert (row.seen, row.ok) == ("0 of 59", True)


def test_few_rounds_prove_nothing(folder: FinishedRunFolder) -> None:
    a_round(folder, 0, 9, [9, 9, 9], [1, 2, 3])
    assert seen(
        folder,
        expect_brokers.high_watermark_never_above(("look",)),
        expect_brokers.high_watermark_at_log_end("look"),
    ) == [
        False,
        True,
    ]


def test_expectations_in_words(folder: FinishedRunFolder) -> None:
    run = folder.finished()
    assert between("x", 1, 2, lambda _: 1.5, "s").observe(run).expected == "1 to 2 s"
    assert between("x", 0, 2, lambda _: 2.5).observe(run).expected == "at most 2"
    assert between("x", 3, None, lambda _: 2).observe(run).ok is False
    assert precondition(exactly("x", 1, lambda _: 1)).observe(run).given
    assert format_value(((1, 2, 3), (1, 2))) == "(1 2 3) (1 2)"
    assert format_value({"a": 1000, "b": True}) == "a: 1,000, b: yes"
    assert format_value(frozenset()) == "none"
