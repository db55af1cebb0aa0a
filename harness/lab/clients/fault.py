"""What all clients go through: the steps of one comparison, as data."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from harness.model.config.yaml_files import FileKind
from harness.model.frozen import Frozen
from harness.spec.step import Step


class ClientFault(Frozen):
    """A fault that clients are compared under. `steps` are those of an experiment whose topic has one
    partition, with all arms together; one that names `{client}` is there for the client id of each arm.
    `cluster` are settings of the cluster beside those that all have."""

    title: str
    description: str
    cluster: dict[str, Any] = {}
    steps: tuple[Step, ...] = Field(min_length=1)


CLIENT_FAULT = FileKind(
    ClientFault,
    one="a fault",
    expected="a mapping with title, description and steps",
    example="`kafka-chaos clients --list` names the built-in ones",
    schema="kafka-chaos schema",
    folder="harness/lab/clients/faults",
)
USUAL = ("kill", "cut-then-kill", "pause")
"""Those that are run if none is named: they tell the clients apart most."""
