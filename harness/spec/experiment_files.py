"""Experiment files, and the experiments that come with kafka-chaos."""

from __future__ import annotations

from harness.config.yaml_files import FileKind
from harness.spec.experiment import Experiment

EXPERIMENT = FileKind(
    Experiment,
    one="an experiment",
    expected="a mapping with name, title, steps and arms",
    example="`kafka-chaos init` writes an example file",
    schema="kafka-chaos schema",
    folder="experiments",
)


def load(name_or_path: str) -> Experiment:
    """A built-in experiment by its name, or an experiment file by its path.

    Raises:
        BadInput: no such experiment, not YAML, or not an experiment: names the path in the file.
    """
    return EXPERIMENT.load(name_or_path)[0]


def parse(text: str, origin: str) -> Experiment:
    """An experiment from YAML text; `origin` names the file in messages.

    Raises:
        BadInput: not YAML, or not an experiment.
    """
    return EXPERIMENT.parse(text, origin)
