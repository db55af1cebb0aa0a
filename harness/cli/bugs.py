"""`kafka-chaos bugs`: known bugs of Kafka, reproduced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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


def bugs(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Bugs by their ids, as KIP-903; default: all.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the bugs and run nothing.")] = False,
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="Run all of them this often.")] = 1,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    side_by_side: SideBySideOption = 2,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Reproduce known bugs of Kafka: each on a version or setting that has it, and on one that has not.

    A row a bug: the verdict expected and seen of its affected arms and of its fixed ones, and whether it was
    reproduced; unknown where an arm shows nothing, since the dangerous state was not reached in it. Exit
    codes are those of `claims`: 0 all reproduced, 1 one was not, 3 something could not be told.
    """
    from harness.bugs import table
    from harness.bugs.catalog import registry
    from harness.bugs.model import exit_code, result_of
    from harness.cli.suite_runs import as_text, carried_out, turns

    out = console(WIDE)
    chosen = registry.chosen(ids or ())
    if listed:
        if as_json:
            print_json([_told(one) for one in chosen])
        else:
            out.print(table.listing(chosen))
        return
    folder, planned = turns(results, "bugs", repeat, seed)
    claims = [bug.claim for bug in chosen]
    done = []
    for place, own_seed in planned:
        ran = carried_out(
            claims,
            place,
            own_seed,
            quiet=quiet,
            what="bugs",
            side_by_side=side_by_side,
            kept=result_of,
        )
        done += [result_of(one) for one in ran]
    if as_json:
        typer.echo(as_text(done))
    else:
        out.print(table.table(done))
        for line in (*table.reasons(done), f"results: {folder}"):
            say(out, line)
    raise typer.Exit(exit_code(done))


def _told(one: Any) -> dict[str, Any]:
    from harness.bugs.model import side_of

    return {
        "id": one.id,
        "title": one.title,
        "link": one.link,
        "what": one.words,
        "affected": one.affected,
        "fixed": one.fixed,
        "set_up": one.set_up,
        "kafka": one.claim.kafka,
        "arms": [
            {"side": side_of(trial.role).value, "experiment": trial.experiment.name, "arm": trial.arm}
            for trial in one.trials
        ],
    }


def add(app: typer.Typer) -> None:
    """Make the command one of the application's."""
    app.command()(bugs)
