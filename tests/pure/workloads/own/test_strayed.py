"""Acknowledged records of which the topic has none: a program's mistake, or Kafka's loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.history import TOPIC, History, sample, write_run
from workloads.own.strayed import strayed_records

pytestmark = pytest.mark.pure


def _sampled(end: int, topic: str = TOPIC) -> dict[str, Any]:
    return sample(1, 1, 1, 0) | {"log_end_offset": end, "topic": topic}


def test_records_of_another_run_are_the_programs(tmp_path: Path) -> None:
    history = History().send(0, at=0).send(1, at=1)
    history.read(0, at=0, state="foreign", run=99).read(1, at=1, state="foreign", run=99)
    write_run(tmp_path, history, samples=[_sampled(2)])
    (problem,) = strayed_records(tmp_path, TOPIC)
    assert problem.startswith(
        f"none of the 2 acknowledged records of producer 0 is in the topic {TOPIC}, and it"
    )
    assert "it holds records of another identity: 2 with another run's id" in problem


@pytest.mark.parametrize(
    ("state", "words"), [("corrupt", "1 with a wrong checksum"), ("undecodable", "1 without an identity")]
)
def test_so_are_records_with_a_wrong_identity(state: str, words: str, tmp_path: Path) -> None:
    write_run(tmp_path, History().send(0, at=0).read(None, at=0, state=state, producer=None, run=None))
    (problem,) = strayed_records(tmp_path, TOPIC)
    assert words in problem


def test_and_records_of_a_producer_that_has_no_journal(tmp_path: Path) -> None:
    write_run(tmp_path, History().send(0, at=0).read(0, at=0, producer=7))
    (problem,) = strayed_records(tmp_path, TOPIC)
    assert "1 of a producer that has no journal" in problem


def test_a_topic_that_never_held_a_record_was_not_written_to(tmp_path: Path) -> None:
    write_run(tmp_path, History().send(0, at=0), samples=[_sampled(0), _sampled(5, "other")])
    (problem,) = strayed_records(tmp_path, TOPIC)
    assert "the program wrote to another topic" in problem


@pytest.mark.parametrize("samples", [[_sampled(0), _sampled(1)], [sample(1, 1, 1, 0, answered=False)], []])
def test_what_a_topic_held_once_is_a_loss(samples: list[dict[str, Any]], tmp_path: Path) -> None:
    write_run(tmp_path, History().send(0, at=0), samples=samples)
    assert strayed_records(tmp_path, TOPIC) == []


def test_one_record_of_a_producer_is_enough_and_what_others_lost_is_a_loss(tmp_path: Path) -> None:
    history = History().send(0, at=0).send(1, at=1).read(0, at=0).read(1, at=1, state="foreign", run=99)
    write_run(tmp_path / "some", history)
    assert strayed_records(tmp_path / "some", TOPIC) == []
    write_run(tmp_path / "all", History().send(0, at=0, producer=1).send(0, at=0).read(0, at=0))
    assert strayed_records(tmp_path / "all", TOPIC) == []


def test_what_was_not_acknowledged_need_not_be_there(tmp_path: Path) -> None:
    write_run(tmp_path, History().send(0, "unconfirmed").read(None, at=0, state="undecodable", producer=None))
    assert strayed_records(tmp_path, TOPIC) == []
