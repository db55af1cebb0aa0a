"""The experiment that a test names, or that it describes by an application under test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.model.config.yaml_problems import FileText, as_bad_input
from harness.model.errors import BadInput
from harness.spec import experiment_files
from harness.spec.experiment import Experiment

RunCommand = Sequence[str] | Mapping[str, Any]
"""A command with its arguments, or `run` as an experiment file has it."""


def load_experiment(named: str | Path | dict[str, Any] | Experiment, beside: Path) -> Experiment:
    """The experiment that a test names. A file is searched for where pytest was started, then `beside` the
    test.

    Raises:
        BadInput: there is no such experiment, or it is not valid.
    """
    if isinstance(named, Experiment):
        return named
    if isinstance(named, dict):
        with BadInput.for_errors(
            TypeError,
            "the experiment is not valid",
            where="the dict given to chaos",
            expected="text, numbers, lists and dicts only, as in an experiment file",
        ):
            text = json.dumps(named)
        return experiment_files.parse(text, "the dict given to chaos")
    near = beside / named
    return experiment_files.load(str(near if near.is_file() and not Path(named).is_file() else named))


def experiment_around(
    run: RunCommand,
    faults: Sequence[Mapping[str, Any]],
    seconds: float,
    rate: float,
    cluster: Mapping[str, Any] | None,
    topic: Mapping[str, Any] | None,
    fields: Mapping[str, Any],
) -> Experiment:
    """The experiment of `chaos.application(...)`, of one arm and one write step: an application under test,
    records, and faults meanwhile.

    Raises:
        BadInput: it is not valid.
    """
    what = dict(run) if isinstance(run, Mapping) else {"process": list(run)}
    write = {"name": "input", "seconds": seconds, "rate": rate, "faults": list(faults)}
    experiment = {
        "name": "application",
        "title": "an application of a test",
        "cluster": dict(cluster or {}),
        "topic": dict(topic or {}),
        "application": {"run": what, **fields},
        "steps": [{"write": write}],
        "arms": [{"name": "application"}],
    }
    try:
        return Experiment.model_validate(experiment)
    except ValidationError as error:
        raise as_bad_input(
            error,
            FileText(
                "chaos.application(...)", "experiment", None, experiment, Experiment.model_json_schema()
            ),
            "docs/how-to/applications.md shows each of them",
        ) from error
