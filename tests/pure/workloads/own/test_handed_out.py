"""When a record that was handed out counts as processed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from workloads.own.consumer_journal import ConsumerJournal
from workloads.own.handed_out import HandedOut, HandedOutBatch

pytestmark = pytest.mark.pure


@dataclass(frozen=True)
class Record:
    offset: int
    partition: int = 0
    topic: str = "t"


class Program:
    """What a wrapped consumer tells of one program."""

    def __init__(self, *, explicit: bool = False) -> None:
        self.journal = ConsumerJournal("g", "m", topic="t")
        self.hand = HandedOut(self.journal, explicit=explicit)

    def poll(self, *offsets: int) -> HandedOutBatch:
        self.hand.asked_for_more()
        return self.hand.batch([Record(offset) for offset in offsets])

    def next(self, offset: int) -> Record:
        self.hand.asked_for_more()
        record: Record = self.hand.one(Record(offset))
        return record

    @property
    def processed(self) -> list[int]:
        return [offset for _, offset in self.journal.positions()]


def test_a_record_is_processed_when_the_next_one_is_asked_for() -> None:
    program = Program()
    program.next(0)
    assert program.processed == []
    program.next(1)
    assert program.processed == [0]
    program.hand.asked_for_more()
    assert program.processed == [0, 1]


def test_or_when_the_program_commits() -> None:
    program = Program()
    program.next(0)
    program.hand.asked_to_commit()
    assert program.processed == [0]
    program.next(1)
    assert program.processed == [0], "and only once"


def test_of_a_batch_each_is_processed_when_the_next_one_is_taken() -> None:
    program = Program()
    seen = []
    for _ in program.poll(0, 1, 2):
        seen.append(list(program.processed))
    assert seen == [[], [0], [0, 1]]
    assert program.processed == [0, 1, 2], "the loop has ended"


def test_what_a_program_leaves_in_a_batch_is_not_processed() -> None:
    program = Program()
    for record in program.poll(0, 1, 2, 3):
        if record.offset == 1:
            break
    program.poll()
    program.poll()
    assert program.processed == [0, 1]


def test_it_may_go_on_with_the_batch_later() -> None:
    program = Program()
    batch = program.poll(0, 1, 2)
    for _ in batch:
        break
    program.hand.asked_to_commit()
    assert program.processed == [0]
    assert [record.offset for record in batch] == [0, 1, 2]
    assert program.processed == [0, 1, 2], "each once, though it was seen twice"


HANDLERS: dict[str, Callable[[HandedOutBatch], object]] = {
    "list": lambda batch: list(batch),
    "sorted": lambda batch: sorted(batch, key=lambda record: record.offset),
    "comprehension": lambda batch: [record.offset for record in batch],
    "by number": lambda batch: [batch[number] for number in range(len(batch))],
    "a slice": lambda batch: batch[:],
    "not at all": lambda batch: len(batch),
}


@pytest.mark.parametrize("how", HANDLERS)
def test_however_a_batch_is_handled_it_is_processed_before_the_next(how: str) -> None:
    program = Program()
    HANDLERS[how](program.poll(0, 1, 2))
    program.poll(3)
    assert sorted(program.processed) == [0, 1, 2]


def test_a_batch_that_is_committed_before_anything_is_taken_was_not_processed_then() -> None:
    program = Program()
    batch = program.poll(0, 1)
    program.hand.asked_to_commit()
    assert program.processed == []
    assert len(batch[:1]) == 1
    program.hand.asked_to_commit()
    assert program.processed == [0]


def test_an_error_on_its_way_means_that_the_record_was_not_processed() -> None:
    program = Program()
    with suppress(ValueError):
        try:
            for record in program.poll(0, 1, 2):
                if record.offset == 1:
                    raise ValueError
        finally:
            program.hand.asked_for_more()  # as `close` does
    program.poll()
    assert program.processed == [0]


def test_a_whole_batch_is_not_processed_if_its_handler_raises() -> None:
    program = Program()
    with suppress(ValueError):
        try:
            program.poll(0, 1)
            raise ValueError
        finally:
            program.hand.asked_for_more()
    assert program.processed == []


def test_an_error_that_was_handled_is_the_programs_decision() -> None:
    program = Program()
    for offset in range(2):
        try:
            program.next(offset)
            raise ValueError
        except ValueError:
            pass
    program.hand.asked_for_more()
    assert program.processed == [0, 1]


def test_an_error_from_before_says_nothing() -> None:
    """A program that begins again where it handles an error works there as elsewhere."""
    program = Program()
    try:
        raise ValueError
    except ValueError:
        for offset in range(3):
            program.next(offset)
    assert program.processed == [0, 1]


def test_a_generator_around_the_loop_that_is_closed_is_no_error() -> None:
    program = Program()

    def records() -> object:
        try:
            yield program.next(0)
        finally:
            program.hand.asked_for_more()

    for _ in records():  # type: ignore[attr-defined]
        break
    assert program.processed == [0]


def test_a_program_may_say_it_all_itself() -> None:
    program = Program(explicit=True)
    records = list(program.poll(0, 1, 2))
    program.poll()
    assert program.processed == []
    program.hand.processed(records[1:2], told=True)
    assert program.processed == [1]


def test_or_earlier_than_it_would_be_told() -> None:
    program = Program()
    record = program.next(0)
    program.hand.processed([record], told=True)
    program.next(1)
    assert program.processed == [0], "once"


def test_records_of_other_topics_are_passed_over() -> None:
    program = Program()
    program.hand.one(Record(7, topic="other"))
    program.hand.asked_for_more()
    program.next(1)
    program.hand.asked_for_more()
    assert program.processed == [1]
