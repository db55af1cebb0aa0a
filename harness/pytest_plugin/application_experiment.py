"""The experiment of `chaos.application(...)`: an application under test, records, and faults meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from harness.model.errors import BadInput, located_words_of
from harness.spec.experiment import Experiment

Run = Sequence[str] | Mapping[str, Any]
"""A command with its arguments, or `run` as an experiment file has it."""


def experiment_around(
    run: Run,
    faults: Sequence[Mapping[str, Any]],
    seconds: float,
    rate: float,
    cluster: Mapping[str, Any] | None,
    topic: Mapping[str, Any] | None,
    fields: Mapping[str, Any],
) -> Experiment:
    """An experiment of one arm and one write step.

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
        raise BadInput(
            "chaos.application(...) is not valid",
            where="its arguments",
            found=located_words_of(error),
            next_step="docs/how-to/applications.md shows each of them",
        ) from error
