"""Faults by the user's own shell lines: what they are given, what counts as proof, and that heal is always
run."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from faults import Command
from faults.command import Commanded, run_line
from faults.shared.fault_spec import InjectionContext
from faults.targets.target_context import ClusterShape
from harness.cluster.state_records import OpenFaultRecord
from harness.model.errors import FaultError
from harness.run.faults.healing import injection_of
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster

pytestmark = pytest.mark.pure


def context(_: Path) -> InjectionContext:
    return InjectionContext(FakeCluster([quiet()]), "t", 1.0, "kafka-chaos-1f-command-1")  # type: ignore[arg-type]


def spec(**given: Any) -> Command:
    return Command.model_validate({"inject": "true", "verify": "true", "heal": "true", "seconds": 5, **given})


def test_every_line_is_given_whom_it_is_about(tmp_path: Path) -> None:
    told = tmp_path / "told"
    line = f"env | grep ^KAFKA_CHAOS_ | sort >>{told}; echo seen"
    here = context(tmp_path)
    target = {"any": [{"broker": 2}, {"broker": 3}]}
    injection = spec(inject=line, verify=line, heal=line, target=target).aim(here)
    injection.apply(here)
    evidence = injection.verify(here)
    injection.undo(here)
    assert evidence.seen
    assert evidence.what == "verify: seen"
    lines = told.read_text().splitlines()
    assert [one for one in lines if "PHASE" in one] == [
        f"KAFKA_CHAOS_PHASE={phase}" for phase in ("inject", "verify", "heal")
    ]
    for expected in (
        "KAFKA_CHAOS_TARGET=2",
        "KAFKA_CHAOS_TARGETS=2 3",
        "KAFKA_CHAOS_HOST=10.0.0.2:9092",
        "KAFKA_CHAOS_HOSTS=10.0.0.2:9092 10.0.0.3:9092",
        "KAFKA_CHAOS_BOOTSTRAP=10.0.0.1:9092",
        "KAFKA_CHAOS_TOPIC=t",
        "KAFKA_CHAOS_FAULT=kafka-chaos-1f-command-1",
    ):
        assert lines.count(expected) == 3, expected


def test_verify_is_tried_until_it_holds(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    here = context(tmp_path)
    assert spec(verify=f"test -e {mark} || {{ touch {mark}; exit 1; }}").aim(here).verify(here).seen


@pytest.mark.parametrize("line", ["echo no; exit 3", "sleep 60"])
def test_a_verify_that_does_not_hold_proves_nothing(tmp_path: Path, line: str) -> None:
    here = context(tmp_path)
    began = time.monotonic()
    evidence = spec(verify=line, seconds=1).aim(here).verify(here)
    assert not evidence.seen
    assert time.monotonic() - began < 30
    assert "has not proved it" in evidence.what


@pytest.mark.parametrize("phase", ["inject", "heal"])
def test_a_line_that_fails_is_told_with_what_it_printed(tmp_path: Path, phase: str) -> None:
    here = context(tmp_path)
    injection = spec(**{phase: "echo no such machine >&2; exit 4"}).aim(here)
    act = injection.apply if phase == "inject" else injection.undo
    with pytest.raises(FaultError, match=phase) as refused:
        act(here)
    assert "exit code 4: no such machine" in str(refused.value)


def test_a_line_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    ran = run_line(f"(sleep 4; touch {alive}) & echo begun; wait", {}, 1.5)
    assert ran.code is None
    assert ran.text == "begun"
    time.sleep(4)
    assert not alive.exists()


def test_another_process_can_heal_it_from_its_record(tmp_path: Path) -> None:
    healed = tmp_path / "healed"
    here = context(tmp_path)
    injection = spec(heal=f"echo $KAFKA_CHAOS_TARGET >{healed}", target={"broker": 2}).aim(here)
    record = OpenFaultRecord(
        name="command-1",
        kind="command",
        topic="t",
        session_seconds=1.0,
        tag="x",
        opened_ns=1,
        injection=json.loads(injection.model_dump_json()),
    )
    again = injection_of(record)
    assert isinstance(again, Commanded)
    again.undo(here)
    assert healed.read_text() == "2\n"
    assert again.healed(here).seen


def test_it_has_no_target_that_it_cannot_name() -> None:
    shape = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
    with pytest.raises(ValueError, match="lines run where the clients are"):
        spec(target="client").warnings(shape)
    assert spec(target={"leader": 0}, stops=True).max_brokers_down(shape) == 1
    assert spec(target={"leader": 0}).max_brokers_down(shape) == 0
    with pytest.raises(ValidationError):
        spec(inject="")
