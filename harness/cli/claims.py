"""`kafka-chaos claims`: the textbook's claims on real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from harness.claims.html import PAGE_FILE
from harness.cli.options import (
    WIDE,
    JsonOption,
    QuietOption,
    ResultsOption,
    SeedOption,
    SideBySideOption,
    console,
    print_json,
    say,
)


def claims(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Claims by their numbers, as R12; default: all.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the claims and run nothing.")] = False,
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="Run all of them this often.")] = 1,
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

    A row a claim: what was expected and seen of it and of its control, and the verdict: yes, no, or unknown
    where nothing was shown. Exit codes are those of `run`: 0 all yes, 1 a no, 3 something could not be told.
    """
    from harness.claims.catalog import registry
    from harness.cli.suite_runs import as_text, turns
    from harness.suite import table
    from harness.suite.model import exit_code

    out = console(WIDE)
    chosen = registry.chosen(ids or ())
    if listed:
        if as_json:
            print_json([_told(one) for one in chosen])
        else:
            out.print(table.listing(chosen))
        return
    folder, planned = turns(results, "claims", repeat, seed)
    done = []
    for place, own_seed in planned:
        done += _run(chosen, place, own_seed, kafka_version, image, side_by_side, quiet)
    if as_json:
        typer.echo(as_text(done))
    else:
        out.print(table.table(done))
        for line in (*table.reasons(done), f"results: {folder}, a page of them: {PAGE_FILE}"):
            say(out, line)
    raise typer.Exit(exit_code(done))


def _run(
    chosen: tuple[Any, ...],
    folder: Path,
    seed: int,
    version: str | None,
    image: str | None,
    side_by_side: int,
    quiet: bool,
) -> list[Any]:
    from harness.claims.html import write_page
    from harness.cli.suite_runs import carried_out
    from harness.suite.runner import on_version

    run = [on_version(claim, version, image) for claim in chosen]
    results = carried_out(run, folder, seed, quiet=quiet, what="claims", side_by_side=side_by_side)
    write_page(run, results, folder)
    return results


def _told(one: Any) -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title,
        "claim": one.words,
        "set_up": one.set_up,
        "today": one.today,
        "kafka": one.kafka,
        "trials": [
            {"role": trial.role.value, "experiment": trial.experiment.name, "arm": trial.arm}
            for trial in one.trials
        ],
    }


def add(app: typer.Typer) -> None:
    """Make the command one of the application's."""
    app.command()(claims)
