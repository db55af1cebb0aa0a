"""Loads what a test names as an experiment: a built-in, a file, a dict, or an `Experiment`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.model.errors import BadInput
from harness.spec import experiment_files
from harness.spec.experiment import Experiment


def load_experiment(named: str | Path | dict[str, Any] | Experiment, beside: Path) -> Experiment:
    """The experiment that a test names. A file is searched for where pytest was started, then `beside` the
    test.

    Raises:
        BadInput: there is no such experiment, or it is not valid.
    """
    if isinstance(named, Experiment):
        return named
    if isinstance(named, dict):
        try:
            text = json.dumps(named)
        except TypeError as error:
            raise BadInput(
                "the experiment is not valid",
                where="the dict given to chaos",
                expected="text, numbers, lists and dicts only, as in an experiment file",
                found=str(error),
            ) from error
        return experiment_files.parse(text, "the dict given to chaos")
    near = beside / named
    return experiment_files.load(str(near if near.is_file() and not Path(named).is_file() else named))
