"""The experiments of a comparison: who takes part, under what, and with which settings."""

from __future__ import annotations

import json
import shutil

import pytest

from harness.lab.clients import participants
from harness.lab.clients.comparison import ClientArm, Load, client_of, experiments_for
from harness.lab.clients.fault import USUAL
from harness.lab.clients.installing import NamedClient
from harness.lab.clients.participants import chosen_faults
from harness.model.errors import BadInput, PrerequisiteMissing

pytestmark = pytest.mark.pure

ARMS = tuple(
    ClientArm(client, mode, (client, "{topic}"), {"KAFKA_CHAOS_MODE": mode, "JSON": "{}"})
    for client in ("one-x", "two-1.2.3")
    for mode in ("default", "acks=1")
)


def test_every_arm_starts_its_program_on_a_topic_of_its_own() -> None:
    fault = chosen_faults(["kill"])["kill"]
    (experiment,) = experiments_for("kill", fault, ARMS, Load("4.4.0", rate=7, close_seconds=20))
    assert experiment.together
    assert (experiment.cluster.version, experiment.cluster.proxy) == ("4.4.0", False)
    assert [client_of(arm.name) for arm in experiment.arms] == [(arm.client, arm.mode) for arm in ARMS]
    own = experiment.arms[1].workload.own  # type: ignore[union-attr]
    assert own.command == ("one-x", "{topic}"), "what the run fills in"
    assert own.close_seconds == 20
    assert own.env == {
        "KAFKA_CHAOS_RATE": "7",
        "KAFKA_CHAOS_CLIENT": "kafka-chaos-one-x-acks=1",
        "KAFKA_CHAOS_CLOSE": "15",
        "KAFKA_CHAOS_MODE": "acks=1",
        "JSON": "{{}}",
    }


def test_more_arms_than_may_run_at_once_are_shared_out_evenly() -> None:
    fault = chosen_faults(["none"])["none"]
    made = list(experiments_for("none", fault, ARMS, Load("4.4.0", at_once=3)))
    assert [len(experiment.arms) for experiment in made] == [2, 2]
    assert {arm.name for experiment in made for arm in experiment.arms} == {arm.name for arm in ARMS}


def test_a_step_about_a_client_is_there_for_each() -> None:
    fault = chosen_faults(["lost-answer"])["lost-answer"]
    (experiment,) = experiments_for("lost-answer", fault, ARMS, Load("4.4.0"))
    assert experiment.cluster.proxy
    steps = json.dumps([step.model_dump(mode="json", by_alias=True) for step in experiment.steps])
    for arm in ARMS:
        assert steps.count(f'"client": "{arm.client_id}"') == 1
    assert len(experiment.steps) == len(fault.steps) + len(ARMS) - 1


def test_faults_are_chosen_by_name() -> None:
    assert tuple(chosen_faults([])) == USUAL
    assert len(chosen_faults(["all"])) == 8
    with pytest.raises(BadInput, match="did you mean 'pause'"):
        chosen_faults(["paus"])


def test_a_client_that_cannot_be_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(named: NamedClient) -> None:
        raise PrerequisiteMissing(f"the client {named.name} needs go", found="no go on PATH")

    monkeypatch.setattr(participants, "install", refuse)
    arms, left_out = participants.participants(["kafka-python"], [], "shop --brokers '{bootstrap}'", "own")
    assert [(arm.client, arm.mode, arm.command) for arm in arms] == [
        ("own", "default", ("shop", "--brokers", "{bootstrap}"))
    ]
    assert left_out == {"kafka-python": "the client kafka-python needs go: no go on PATH"}
    with pytest.raises(BadInput, match="no client is left to compare"):
        participants.participants(["kafka-python"], [], None, "own")


def test_doctor_names_the_tools_and_who_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "go" else f"/bin/{tool}")
    row = participants.toolchains()
    assert row.state == "limited"
    assert not row.required
    assert "no go" in row.found
    assert (
        row.remedy
        == "install golang-go; without: franz-go, kafka-go, sarama in containers, if images can be pulled"
    )
    monkeypatch.setattr(shutil, "which", lambda tool: f"/bin/{tool}")
    assert (participants.toolchains().state, participants.toolchains().remedy) == ("ok", "")


@pytest.mark.parametrize(
    ("modes", "command", "says"),
    [
        (["defualt"], None, "did you mean 'default'"),
        ([], "", "expected: a program"),
        ([], "shop 'open", "No closing quotation"),
    ],
)
def test_bad_input_is_told(modes: list[str], command: str | None, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        participants.participants([] if command is not None else ["kafka-python"], modes, command, "own")
    assert says in str(refused.value)
