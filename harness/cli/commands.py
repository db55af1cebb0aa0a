"""The commands in groups, each with an example, and how they are added to the application."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """The group of a command in `kafka-chaos --help`, and an example for its own help."""

    group: str
    example: str


_BY_GROUP = {
    "Run": {
        "run": "kafka-chaos run cut-then-kill",
        "plan": "kafka-chaos plan storm --seed 7",
        "init": "kafka-chaos init my.yaml",
        "matrix": "kafka-chaos matrix acks-idempotence --repeat 5 --dry-run",
        "explore": "kafka-chaos explore --budget 20m",
        "nightly": "kafka-chaos nightly kill-leader --kafka-version 4.3.1 --kafka-version 3.9.2",
    },
    "Analyse": {
        "check": "kafka-chaos check results/kill-leader-20260101T000000000000Z",
        "sql": 'kafka-chaos sql results/mine/acks=1 "select outcome, count(*) from sends group by outcome"',
        "audit": "kafka-chaos audit producer.properties topic.properties --prove",
        "compare": "kafka-chaos compare results/acks-idempotence-1 results/acks-idempotence-2",
        "rates": "kafka-chaos rates results/ --by acks,faults",
    },
    "Suites": {
        "claims": "kafka-chaos claims R12 mine.yaml --seed 7",
        "bugs": "kafka-chaos bugs KIP-903",
    },
    "Data": {
        "experiments": "kafka-chaos experiments",
        "faults": "kafka-chaos faults partition",
        "findings": "kafka-chaos findings",
        "schema": "kafka-chaos schema > schema.json",
        "import": "kafka-chaos import results/mine --producer producer.jsonl --consumer consumer.jsonl",
        "import-sends": "kafka-chaos import-sends results/mine --journal sent --bootstrap-servers kafka:9092",
        "export": "kafka-chaos export results/mine history.edn --to jepsen",
        "chaos-mesh": "kafka-chaos chaos-mesh kill-leader --namespace kafka > mesh.yaml",
    },
    "Machine": {
        "doctor": "kafka-chaos doctor",
        "heal": "kafka-chaos heal",
        "clean": "kafka-chaos clean --all",
        "compose": "kafka-chaos compose --write",
        "images": "kafka-chaos images --version 4.3.1",
    },
}
COMMANDS = {
    name: CommandHelp(group, example)
    for group, examples in _BY_GROUP.items()
    for name, example in examples.items()
}
"""Every command, in the order of `kafka-chaos --help`."""


class Command(TyperCommand):
    """A command whose help shows no type beside an option that takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_of_flags(super().get_params(ctx))


class Group(TyperGroup):
    """All commands, in the order of `COMMANDS`; options as in `Command`."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=list(COMMANDS).index)

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_of_flags(super().get_params(ctx))


def _without_types_of_flags(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def add_command(app: typer.Typer, name: str, function: Callable[..., None]) -> None:
    """Add a command to the application, with its group and its example."""
    about = COMMANDS[name]
    app.command(
        name,
        cls=Command,
        rich_help_panel=about.group,
        epilog=f"Example: {about.example}",
        hidden=name == "images",
    )(function)


def complete_experiment(incomplete: str) -> list[str]:
    """Names of built-in experiments, and YAML files, that begin like this."""
    return _complete("experiments", incomplete)


def complete_matrix(incomplete: str) -> list[str]:
    """Names of built-in matrices, and YAML files, that begin like this."""
    return _complete("matrices", incomplete)


def complete_fault(incomplete: str) -> list[str]:
    """Names of faults that begin like this."""
    from harness.spec.fault_index import fault_specs

    return sorted(name for name in fault_specs() if name.startswith(incomplete))


def _complete(folder: str, incomplete: str) -> list[str]:
    """From file names alone, because a shell waits for it."""
    files = (Path(entry.name) for entry in (resources.files("harness") / folder).iterdir())
    names = [file.stem for file in files if file.suffix == ".yaml" and file.stem.startswith(incomplete)]
    typed = Path(incomplete)
    below = typed if incomplete.endswith("/") else typed.parent
    local = below.glob("*.y*ml") if below.is_dir() else ()
    return sorted(names) + sorted(str(path) for path in local if str(path).startswith(incomplete))
