"""What several commands share: options, and how lines are printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

SeedOption = Annotated[int | None, typer.Option(help="Seed of all choices; default: by the clock.")]
ResultsOption = Annotated[Path, typer.Option(help="Folder for what runs leave.")]
ProfileOption = Annotated[str | None, typer.Option(help="Timing profile: kafka (as shipped) or fast.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress lines.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
SideBySideOption = Annotated[
    int,
    typer.Option(
        min=1, max=16, help="So many experiments at once, a cluster each; what measures times runs alone."
    ),
]

WIDE = 160
"""Columns for a table of seven columns."""


def console(columns: int) -> Console:
    """Standard output; tables have so many columns in a file or a CI log, on a terminal what it has."""
    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else columns)


def say(out: Console, text: str) -> None:
    """Print text as it is, lines of whatever length."""
    out.print(text, markup=False, highlight=False, soft_wrap=True)


def print_json(value: object) -> None:
    """Print for machines."""
    typer.echo(json.dumps(value, indent=2))


@contextmanager
def interruptible(errors: Console) -> Iterator[None]:
    """Ctrl-C within ends the command with exit code 130 and a line of what to do next."""
    try:
        yield
    except KeyboardInterrupt:
        errors.print("kafka-chaos: interrupted; journals are kept, `kafka-chaos check` reads them")
        raise typer.Exit(130) from None
