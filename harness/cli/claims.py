"""`kafka-chaos claims`: the textbook's claims on real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.commands import add_command
from harness.cli.options import JsonOption, QuietOption, ResultsOption, SeedOption, SideBySideOption


def claims(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Claims by their ids, such as R12; default: all.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the claims and run nothing.")] = False,
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="Number of times to run all of them.")] = 1,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    kafka_version: Annotated[
        str | None,
        typer.Option(help="Kafka version, for all claims but those that name their own (R6, R7, R21)."),
    ] = None,
    image: Annotated[str | None, typer.Option(help="Broker image, for the same claims.")] = None,
    side_by_side: SideBySideOption = 2,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put the textbook's claims to the test on real brokers, each with a control arm.

    Prints one row per claim: what was expected and seen of it and of its control, and the verdict: yes, no,
    or unknown if nothing was shown. Exit codes are those of `run`: 0 all yes, 1 at least one no, 3 otherwise.
    """
    from harness.claims.catalog.registry import CLAIMS
    from harness.claims.html import write_page
    from harness.cli.suite_runs import suite_command
    from harness.suite.runner import on_version

    suite_command(
        CLAIMS,
        ids or (),
        listed=listed,
        repeat=repeat,
        seed=seed,
        results=results,
        side_by_side=side_by_side,
        quiet=quiet,
        as_json=as_json,
        adapt=lambda claim: on_version(claim, kafka_version, image),
        write_page=write_page,
    )


def add(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(app, claims)
