"""Ask steps and heal steps as files hold them, and the record that only a leader may take."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from harness.cluster.protocol.client_requests import batch
from harness.spec.experiment_files import parse
from harness.spec.run_plan import plan_of
from harness.spec.steps import Ask, Heal
from workloads.records.log_format.segments import parse_segment

pytestmark = pytest.mark.pure


def test_a_batch_is_one_that_can_be_read_back() -> None:
    (found,) = parse_segment(batch(b"x" * 300))
    assert found.crc_ok
    assert (found.base_offset, found.last_offset, found.count) == (0, 0, 1)
    assert (found.producer_id, found.base_sequence) == (-1, -1)
    records = found.records()
    assert records is not None
    assert [(one.key, one.value) for one in records] == [(None, b"x" * 300)]


def ask(**how: object) -> Ask:
    return Ask.model_validate({"name": "a", "of": {"broker": 1}, "what": ["fetch"], **how})


def test_a_text_is_for_what_was_printed_only() -> None:
    assert ask(what=["printed"], text="Loaded").text == "Loaded"
    for wrong in ({"what": ["printed"]}, {"text": "Loaded"}):
        with pytest.raises(ValidationError, match="needs `text`"):
            ask(**wrong)


@pytest.mark.parametrize("wrong", [{"what": []}, {"what": ["weather"]}, {"seconds": 0}, {"partition": -1}])
def test_what_cannot_be_asked_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ask(**wrong)


def test_only_named_faults_are_taken_back_without_waiting() -> None:
    assert not Heal.model_validate({"only": ["cut"], "awaited": False}).awaited
    with pytest.raises(ValidationError, match="needs `only`"):
        Heal.model_validate({"awaited": False})


def test_both_are_described_in_a_plan() -> None:
    text = """
name: asked
title: t
topic: {partitions: 1}
arms: [{name: a}]
steps:
- write: {name: some, records: 1}
- inject: {kill: {target: {broker: 1}}, name: death}
- ask: {name: now, of: {nodes: [2, 3]}, what: [fetch, log_end], seconds: 2}
- heal: {only: [death], awaited: false}
"""
    plan = plan_of(parse(text, "here"), 1)
    assert plan.steps[2].what == "ask nodes: [2, 3] for fetch, log_end of partition 0, for 2 s"
    assert plan.steps[3].what == "heal death, not awaited"
