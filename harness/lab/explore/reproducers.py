"""Writes a violation as files: an experiment that `kafka-chaos run` replays, and a pytest test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from faults.schedules.entries import TimedFault
from harness.lab.explore.menu import ExploreMenu, experiment_of
from harness.lab.explore.result import Violation
from harness.lab.explore.shrinking import Confirm
from harness.lab.explore.trial import describe_settings
from harness.model.errors import KafkaChaosError
from harness.model.secrets import redact
from harness.model.storage import write_whole
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import parse

FOUND, DEFAULTS = "found", "defaults"


def write_violation(folder: Path, menu: ExploreMenu, violation: Violation, confirm: Confirm) -> Violation:
    """Write both files; returns the violation with their names.

    Raises:
        KafkaChaosError: they cannot be written.
    """
    name = f"violation-{violation.number}"
    files = {"experiment": f"{name}.yaml", "test": f"test_{name.replace('-', '_')}.py"}
    with KafkaChaosError.for_os_errors(
        "what was found cannot be written",
        where=folder,
        next_step="free space or correct its permissions, then resume",
    ):
        write_whole(folder / files["experiment"], redact(experiment_text(menu, violation)))
        write_whole(folder / files["test"], test_text(violation, files["experiment"], confirm))
    return violation.model_copy(update=files)


def experiment_text(menu: ExploreMenu, violation: Violation) -> str:
    """The minimal schedule as an experiment file; it was read back and is the same experiment."""
    name = f"{menu.name}-violation-{violation.number}"
    experiment = experiment_of(menu, violation.minimal, name=name, arm=FOUND, control=True)
    head = [
        f"# Found by kafka-chaos explore in run {violation.found_in}: {describe_violation(violation)}.",
        f"# {violation.failed} of {violation.minimal_runs} runs of this schedule failed.",
        f"# Replay: kafka-chaos run FILE --arm {FOUND} --seed {violation.seed} --repeat 3",
        f"# Arm {FOUND} breaks its promise (exit code 1) for as long as the violation can be reproduced.",
    ]
    if violation.minimal.settings:
        head.append(f"# Arm {DEFAULTS} is the same under the menu's default settings.")
    text = "\n".join([*head, yaml.safe_dump(as_data(experiment), sort_keys=False, width=100)])
    if parse(text, name) != experiment:
        raise AssertionError(f"the file of {name} would be another experiment")
    return text


def test_text(violation: Violation, experiment: str, confirm: Confirm) -> str:
    """A test that fails for as long as the violation can be reproduced, and its control."""
    slug = re.sub(r"[^a-z0-9]+", "_", describe_violation(violation).lower()).strip("_")[:60]
    control = f'''

@pytest.mark.chaos("{experiment}", arms=["{DEFAULTS}"], seed={violation.seed})
def test_the_default_settings_keep_their_promise(chaos: Any) -> None:
    chaos().assert_valid()
'''
    return f'''"""{describe_violation(violation)}.

Found by kafka-chaos explore, and shrunk: {violation.minimal}.
Fails for as long as it can be reproduced; {violation.failed} of {violation.minimal_runs} runs did.
"""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.chaos("{experiment}", arms=["{FOUND}"], seed={violation.seed})
def test_no_{slug}(chaos: Any) -> None:
    chaos(repeat={confirm.n}).assert_valid()
{control if violation.minimal.settings else ""}'''


def describe_violation(violation: Violation) -> str:
    """What broke, under which settings and faults."""
    what = ", ".join(violation.classes) or "a broken promise"
    faults = ", ".join(fault.name for fault in violation.minimal.faults) or "no fault"
    settings = violation.minimal.settings
    return f"{what} under {faults}" + (f" with {describe_settings(settings)}" if settings else "")


def as_data(experiment: Experiment) -> dict[str, Any]:
    """An experiment as a person would write it: only what was set, each fault by its one key. The version of
    Kafka is always there, since a later default would replay something else."""
    data = _as_written(experiment)
    if experiment.cluster.image is None:
        data["cluster"] = {"version": experiment.cluster.version, **data.get("cluster", {})}
    (step,) = experiment.steps
    assert step.write is not None, "a schedule is one write step"
    faults = [
        {"fault": {fault.fault.name(): _as_written(fault.fault)}, "at": fault.at, "for": fault.lasting}
        for fault in step.write.faults
        if isinstance(fault, TimedFault)
    ]
    data["steps"] = [{"write": {**data["steps"][0]["write"], "faults": faults}}]
    return data


def _as_written(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_defaults=True)
