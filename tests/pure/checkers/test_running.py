"""Tasks in threads of this process."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from checkers.running import MOST_THREADS, ThisProcess

pytestmark = pytest.mark.pure


def _one(number: int, _shared: object) -> bytes:
    return bytes([number])


def test_every_answer_comes_back() -> None:
    assert ThisProcess().run(None, []) == []
    answers = ThisProcess().run(None, [partial(_one, number) for number in range(50)])
    assert sorted(answers) == [bytes([number]) for number in range(50)]
    assert 1 <= ThisProcess().side_by_side <= MOST_THREADS


def test_the_first_error_ends_it_and_is_raised() -> None:
    begun = []

    def task(number: int, _shared: object) -> bytes:
        begun.append(number)
        if number == 3:
            raise OSError("the disk is gone")
        return b""

    with pytest.raises(OSError, match="the disk is gone"):
        ThisProcess().run(None, [partial(task, number) for number in range(10_000)])
    assert len(begun) < 10_000


def test_an_interrupted_process_does_not_wait_for_its_threads() -> None:
    seen = []

    def task(_shared: object) -> bytes:
        seen.append(threading.current_thread().daemon)
        return b""

    ThisProcess().run(None, [task])
    assert seen == [True]
