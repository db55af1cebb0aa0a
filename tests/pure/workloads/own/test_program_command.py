"""Command lines of the user's programs, and programs that this machine does not have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.containers import images
from harness.model.errors import BadInput
from harness.run.workloads import check_settings_of
from harness.spec.experiment_files import parse
from workloads.own.program_command import check_program, commands_of
from workloads.records.config.own_producer_spec import OwnProducerSpec

pytestmark = pytest.mark.pure

VARIABLES = {
    "KAFKA_CHAOS_BOOTSTRAP": "there:9092",
    "KAFKA_CHAOS_TOPIC": "orders",
    "KAFKA_CHAOS_JOURNAL": "/results/producers",
    "KAFKA_CHAOS_RUN": "17",
}


def test_one_process_has_all_producers_unless_the_command_names_a_number() -> None:
    spec = OwnProducerSpec(command=("shop", "{bootstrap}", "{run}"), env={"TO": "{topic} {journal}"})
    (one,) = commands_of(spec, VARIABLES, 3)
    assert one.arguments == ("shop", "there:9092", "17")
    assert one.environment == {**VARIABLES, "TO": "orders /results/producers"}
    several = commands_of(OwnProducerSpec(command=("shop",), env={"N": "{producer}"}), VARIABLES, 3)
    assert [command.environment["N"] for command in several] == ["0", "1", "2"]
    assert commands_of(OwnProducerSpec(), VARIABLES, 3) == ()


def test_values_are_not_looked_through_for_placeholders() -> None:
    odd = VARIABLES | {"KAFKA_CHAOS_JOURNAL": "/results/{topic}"}
    (one,) = commands_of(OwnProducerSpec(command=("shop", "{journal}")), odd, 1)
    assert one.arguments == ("shop", "/results/{topic}")


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"command": ["no-such-program-of-mine"]}, "nothing that can be executed is called"),
        ({"command": ["./no-such-file"]}, "no such file"),
        ({"command": ["{tmp}"]}, "a folder"),
        ({"command": ["{tmp}/script"]}, "a file that may not be executed"),
        ({"command": ["sh"], "env": {"PATH": "{tmp}"}}, "nothing that can be executed is called 'sh'"),
    ],
)
def test_a_program_that_is_not_there_is_refused(spec: dict[str, Any], found: str, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    given = {
        "command": tuple(text.replace("{tmp}", str(tmp_path)) for text in spec["command"]),
        "env": {name: text.replace("{tmp}", str(tmp_path)) for name, text in spec.get("env", {}).items()},
    }
    with pytest.raises(BadInput) as refused:
        check_program(OwnProducerSpec.model_validate(given), "experiment x, arm y")
    assert refused.value.found is not None
    assert refused.value.found.startswith(found)
    assert "experiment x, arm y: `command` below `own`" in str(refused.value)


@pytest.mark.parametrize("command", [("sh",), (sys.executable,), ("{journal}/made-later",), None])
def test_a_program_that_is_there_or_is_made_later_is_not(command: tuple[str, ...] | None) -> None:
    check_program(OwnProducerSpec(command=command), "here")


def test_a_program_in_a_container_is_not_looked_for_here_but_its_image_and_folders_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"known": None, "other": "no registry answered"}
    monkeypatch.setattr(images, "refusal_of", known.__getitem__)
    command = ("no-such-program-of-mine",)
    check_program(OwnProducerSpec(command=command, image="known", folders=(str(tmp_path),)), "arm y")
    with pytest.raises(BadInput, match="the image of the program is not available") as refused:
        check_program(OwnProducerSpec(command=command, image="other"), "arm y")
    assert "arm y: `image` below `own`: other" in str(refused.value)
    missing = str(tmp_path / "missing")
    with pytest.raises(BadInput, match="a folder for the program's container is missing"):
        check_program(OwnProducerSpec(command=command, image="known", folders=(missing,)), "arm y")


def test_a_run_looks_for_its_programs_before_anything_starts() -> None:
    experiment = parse(
        """
        name: x
        title: t
        workload: {client: own, own: {command: [sh]}}
        steps: [{write: {name: w, seconds: 1}}]
        arms: [{name: good}, {name: bad, workload: {client: own, own: {command: [no-such-program-of-mine]}}}]
        """,
        "x",
    )
    good, bad = experiment.arms
    check_settings_of(experiment, good)
    with pytest.raises(BadInput, match="the program cannot be started"):
        check_settings_of(experiment, bad)
