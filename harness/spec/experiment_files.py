"""Experiment files, and the experiments that come with kafka-chaos."""

from __future__ import annotations

import json
from dataclasses import replace

import yaml

from harness.model.config.yaml_files import FileKind
from harness.spec.cluster import MOST_EXISTING
from harness.spec.experiment import Experiment

EXPERIMENT = FileKind(
    Experiment,
    one="an experiment",
    expected="a mapping with name, title, steps and arms",
    example="`kafka-chaos init` writes an example file",
    schema="kafka-chaos schema",
    folder="harness/experiments",
)


def load(name_or_path: str, *, elsewhere: bool = False) -> Experiment:
    """A built-in experiment by its name, or an experiment file by its path.

    `elsewhere`: an existing cluster takes the place of the file's own. Its size and ids are not known here,
    so the file may name any broker; `harness.run.preflight.feasibility.on_external_cluster` then puts it in.

    Raises:
        BadInput: no such experiment, not YAML, or not an experiment: names the path in the file.
    """
    kind = replace(EXPERIMENT, complete=_moved) if elsewhere else EXPERIMENT
    return kind.load(name_or_path)[0]


def _moved(root: yaml.Node | None, _: str) -> yaml.Node | None:
    """The nodes of a file with an existing cluster of any size in place of its own."""
    if isinstance(root, yaml.MappingNode):
        cluster = {"brokers": MOST_EXISTING, "existing": {"bootstrap_servers": "127.0.0.1:9092"}}
        root.value = [pair for pair in root.value if pair[0].value != "cluster"]
        root.value.append((yaml.compose("cluster"), yaml.compose(json.dumps(cluster))))
    return root


def parse(text: str, origin: str) -> Experiment:
    """An experiment from YAML text; `origin` names the file in messages.

    Raises:
        BadInput: not YAML, or not an experiment.
    """
    return EXPERIMENT.parse(text, origin)
