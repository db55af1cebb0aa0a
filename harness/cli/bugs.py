"""`kafka-chaos bugs`: known bugs of Kafka, reproduced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.commands import add_command
from harness.cli.options import JsonOption, QuietOption, ResultsOption, SeedOption, SideBySideOption


def bugs(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Bugs by their ids, such as KIP-903; default: all.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the bugs and run nothing.")] = False,
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="Number of times to run all of them.")] = 1,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    side_by_side: SideBySideOption = 2,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Reproduce known bugs of Kafka: each on a version or setting that has it, and on one that has not.

    Prints one row per bug: the verdict expected and seen of its affected and of its fixed arms, and whether
    the bug was reproduced; unknown if an arm shows nothing because the dangerous state was not reached in it.
    Exit codes are those of `claims`: 0 all reproduced, 1 at least one was not, 3 otherwise.
    """
    from harness.bugs.catalog.registry import BUGS
    from harness.bugs.html import write_page
    from harness.cli.suite_runs import suite_command

    suite_command(
        BUGS,
        ids or (),
        listed=listed,
        repeat=repeat,
        seed=seed,
        results=results,
        side_by_side=side_by_side,
        quiet=quiet,
        as_json=as_json,
        write_page=write_page,
    )


def add(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(app, bugs)
