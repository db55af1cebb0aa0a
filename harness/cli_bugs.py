"""`kafka-chaos bugs`: known bugs of Kafka, reproduced."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

_LOG_WIDTH = 160
"""Columns of the table in a file or a CI log: it has seven columns."""


def bugs(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Bugs by their ids, as KIP-903; default: all.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the bugs and run nothing.")] = False,
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="Run all of them this often.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Seed of all choices; default: by the clock.")] = None,
    results: Annotated[Path, typer.Option(help="Folder for what runs leave.")] = Path("results"),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress lines.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for machines instead of tables.")
    ] = False,
) -> None:
    """Reproduce known bugs of Kafka: each on a version or setting that has it, and on one that has not.

    A row a bug: the verdict expected and seen of its affected arms and of its fixed ones, and whether it was
    reproduced; unknown where an arm shows nothing, since the dangerous state was not reached in it. Exit
    codes are those of `claims`: 0 all reproduced, 1 one was not, 3 something could not be told.
    """
    from harness.bugs import registry, showing
    from harness.bugs.frame import exit_code, result_of
    from harness.claims.commanding import as_text, carried_out

    out = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _LOG_WIDTH)
    chosen = registry.chosen(ids or ())
    if listed:
        if as_json:
            typer.echo(json.dumps([_told(one) for one in chosen], indent=2))
        else:
            out.print(showing.listing(chosen))
        return
    folder = results / f"bugs-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}"
    chosen_seed = int(time.time()) if seed is None else seed
    claims = [bug.claim for bug in chosen]
    done = []
    for turn in range(repeat):
        place = folder if repeat == 1 else folder / f"{turn + 1:03d}"
        ran = carried_out(claims, place, chosen_seed + turn, quiet=quiet, what="bugs", kept=result_of)
        done += [result_of(one) for one in ran]
    if as_json:
        typer.echo(as_text(done))
    else:
        out.print(showing.table(done))
        for line in (*showing.reasons(done), f"results: {folder}"):
            out.print(line, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(exit_code(done))


def _told(one: Any) -> dict[str, Any]:
    from harness.bugs.frame import side_of

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
