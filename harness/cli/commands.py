"""What all commands have in common: how their help shows options, and how a shell completes arguments."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command whose help shows no type beside an option that takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_of_flags(super().get_params(ctx))


class Group(TyperGroup):
    """All commands; options as in `Command`."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_of_flags(super().get_params(ctx))


def _without_types_of_flags(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


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
