"""What the clients of own producers say of themselves, against what the arm says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import BadInput
from workloads.own.client_settings import ClientSettings, Judged, acks_of, differences, judged_by, shown
from workloads.own.json_events import open_events, parse_settings

pytestmark = pytest.mark.pure

ARM = Judged(acks="all", idempotent=True, max_in_flight=5)
AS_ARM = ClientSettings("kafka-python", "all", True, 5, 30_000)
WEAK = ClientSettings("aiokafka", "1", False, 1)


@pytest.mark.parametrize(
    ("value", "acks"),
    [(0, "0"), ("0", "0"), (1, "1"), ("1", "1"), (-1, "all"), ("-1", "all"), ("all", "all")],
)
def test_acks_of_every_client_have_one_form(value: object, acks: str) -> None:
    assert acks_of(value) == acks


def test_the_clients_own_settings_count() -> None:
    assert judged_by(ARM, [WEAK], all_told=True) == Judged("1", False, 1)
    strong = judged_by(Judged("1", False, 1), [AS_ARM], all_told=True)
    assert strong == Judged("all", True, 5), "also where the client is safer than the arm"


def test_the_weakest_of_several_counts() -> None:
    assert judged_by(ARM, [AS_ARM, WEAK], all_told=True) == Judged("1", False, 5)
    assert judged_by(Judged("0", False, None), [AS_ARM], all_told=False) == Judged("0", False, None)


def test_nobody_told_leaves_the_arm() -> None:
    assert judged_by(ARM, [], all_told=True) == ARM


def test_each_difference_is_said() -> None:
    (said,) = differences(ARM, {0: AS_ARM, 1: WEAK})
    assert said == (
        "producer 1 (aiokafka) has acks=1 (the arm says all) and enable.idempotence=false (the arm says "
        "true): it is judged by its own settings"
    )


def test_settings_are_shown_with_all_their_values() -> None:
    assert shown([AS_ARM, WEAK]) == {
        "client": "kafka-python, aiokafka",
        "acks": "all, 1",
        "idempotent": "true, false",
        "max_in_flight": "5, 1",
        "delivery_timeout_ms": "30000",
    }


def begin(folder: Path, **fields: Any) -> ClientSettings | None:
    file = folder / "0.jsonl"
    file.write_text(json.dumps({"event": "begin", "producer": 0, "run": 1, "topic": "t"} | fields) + "\n")
    return parse_settings(open_events(file)[0])


def test_a_program_may_tell_its_settings(tmp_path: Path) -> None:
    assert begin(tmp_path, **AS_ARM.fields()) == AS_ARM
    assert begin(tmp_path, client="sarama 1.61.1", acks="1", idempotent=False) == ClientSettings(
        "sarama 1.61.1", "1", False
    )
    assert begin(tmp_path, acks="1") is None, "a program of earlier versions tells acks alone"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"client": " "}, "as printable text"),
        ({"client": 5}, "as printable text"),
        ({"client": "x \ud800"}, "as printable text"),
        ({"client": "x\n1"}, "as printable text"),
        ({"client": "x" * 201}, "as printable text"),
        ({"client": "x", "idempotent": True}, '"0" or "1" or "all"'),
        ({"client": "x", "acks": "all"}, "true or false"),
        ({"client": "x", "acks": "all", "idempotent": "yes"}, "true or false"),
        ({"client": "x", "acks": "all", "idempotent": True, "max_in_flight": -1}, "a whole number from 0"),
    ],
)
def test_what_it_tells_must_be_usable(tmp_path: Path, fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadInput) as refused:
        begin(tmp_path, **fields)
    assert expected in str(refused.value)
