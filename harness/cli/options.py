"""Options that several commands share, and how lines are printed."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

EngineWord = Literal["auto", "spark", "sail"]
"""Values of --engine, as in `checkers.engine.choice.EngineWord`, which is not imported for the help."""
SeedOption = Annotated[int | None, typer.Option(help="Seed of all choices; default: the current time.")]
ResultsOption = Annotated[Path, typer.Option(help="Folder for journals, results and reports.")]
ProfileOption = Annotated[str | None, typer.Option(help="Timing profile: kafka (as shipped) or fast.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
EngineOption = Annotated[
    EngineWord,
    typer.Option(
        "--engine",
        help="What checks: spark (Apache Spark), sail (embedded, without a JVM), or auto. Default of auto: "
        "the environment variable KAFKA_CHAOS_ENGINE.",
    ),
]
SideBySideOption = Annotated[
    int,
    typer.Option(
        min=1,
        max=16,
        help="Number of experiments to run in parallel, each on its own cluster; timing experiments always "
        "run alone.",
    ),
]

WIDE = 160
"""Characters per line, for a table of seven columns."""


ERRORS = Console(stderr=True)
"""Standard error."""


def console(columns: int) -> Console:
    """Standard output. In a file or a CI log, lines have `columns` characters; on a terminal, its width."""
    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else columns)


def seed_or_now(seed: int | None) -> int:
    """The seed that was given, else the current time."""
    return int(time.time()) if seed is None else seed


def print_text(out: Console, text: str) -> None:
    """Print text as it is, without folding long lines."""
    out.print(text, markup=False, highlight=False, soft_wrap=True)


def print_json(value: object) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2))


@contextmanager
def interruptible(left: str = "nothing was run yet") -> Iterator[None]:
    """Ctrl-C in this block ends the command with exit code 130, and says what to do next: the commands in the
    interruption's notes, which read the journals that are kept, or without any `left`."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        print_text(
            ERRORS, f"kafka-chaos: interrupted; {kept(getattr(interruption, '__notes__', ())) or left}"
        )
        raise typer.Exit(130) from None


def kept(commands: Sequence[str]) -> str:
    """That journals are kept, and the commands that read them; empty without any command."""
    return (
        "".join(("journals are kept; to read them:", *(f"\n  {one}" for one in commands))) if commands else ""
    )
