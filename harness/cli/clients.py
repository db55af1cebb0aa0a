"""`kafka-chaos clients`: client libraries under the same faults, side by side."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from harness.cli.options import (
    ERRORS,
    EngineOption,
    JsonOption,
    QuietOption,
    ResultsOption,
    SeedOption,
    console,
    interruptible,
    print_json,
    print_text,
    seed_and_command,
    show_progress,
)
from harness.model.defaults import DEFAULT_VERSION

if TYPE_CHECKING:
    from harness.lab.clients.comparison_result import ClientsResult

_PER_PROCESSOR = 4
"""More programs beside each other measure how long each waits for a processor."""
OWN = "own"
"""The name of the program of `--command`."""


def clients(
    client: Annotated[
        list[str] | None,
        Option(help="A built-in client (see --list), NAME or NAME@VERSION, or a file; may be repeated."),
    ] = None,
    command: Annotated[
        str | None,
        Option(
            help="A program of yours, as a shell splits it; {bootstrap}, {topic}, {journal} and {run} are "
            "filled in. It journals what it sends: docs/how-to/own-producer.md."
        ),
    ] = None,
    mode: Annotated[
        list[str] | None, Option(help="Only this mode of each client, such as default; may be repeated.")
    ] = None,
    fault: Annotated[
        list[str] | None,
        Option(help="A fault (see --list), or all; may be repeated. Default: kill, cut-then-kill, pause."),
    ] = None,
    repeat: Annotated[int, Option(min=1, max=1000, help="Runs of each cell.")] = 5,
    rate: Annotated[int, Option(min=1, max=100_000, help="Records per second of each program.")] = 100,
    at_once: Annotated[
        int | None,
        Option(
            min=1,
            max=100,
            help="The most programs side by side; more are run in parts. Default: four per processor.",
        ),
    ] = None,
    kafka_version: Annotated[str, Option(help="Kafka version.")] = DEFAULT_VERSION,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    engine: EngineOption = "auto",
    from_: Annotated[
        Path | None, Option("--from", help="Print what this earlier comparison has found; nothing is run.")
    ] = None,
    list_: Annotated[bool, Option("--list", help="List clients with their modes, and faults.")] = False,
    show: Annotated[str | None, Option(help="Print the file of this built-in client.")] = None,
    schema: Annotated[bool, Option("--schema", help="Print the JSON schema of such files.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare Kafka's client libraries: what each loses, doubles, reorders or gives up under a fault.

    Each client is a small program with the library's defaults, installed from its registry with a pinned
    version. All programs write side by side, so all meet the same fault. `--command` puts a program of
    yours beside them. A client whose toolchain is missing is left out, and said to be.

    Exit codes: 0 every cell has a run that proves something, 1 a run of `--command` was invalid, 2 bad
    input, 3 a client was left out or a cell proves nothing.
    """
    from harness.lab.clients.client import CLIENT

    if schema or show is not None:
        typer.echo(CLIENT.schema_text() if show is None else CLIENT.builtin_text(show), nl=False)
        return
    if list_:
        _print_list(as_json)
        return
    if from_ is not None:
        from harness.lab.clients.comparison_result import load_comparison

        result = load_comparison(from_)
        _finish(result, from_ if from_.is_dir() else from_.parent, as_json)
    from checkers import EngineChoice
    from harness.lab.clients.comparison import Load
    from harness.lab.clients.participants import chosen_faults, participants
    from harness.lab.clients.runner import compare_clients, new_comparison
    from harness.run.executor import Options

    chosen_seed, typed = seed_and_command(seed)
    faults = chosen_faults(fault or ())
    with show_progress(ERRORS, quiet), interruptible("nothing was run yet"):
        arms, left_out = participants(client or (), mode or (), command, OWN)
    options = Options(
        results=results, seed=chosen_seed, repeat=repeat, command=typed, engine=EngineChoice(engine)
    )
    folder, begun = new_comparison(faults, arms, left_out, options)
    load = Load(kafka_version, rate, at_once=at_once or _PER_PROCESSOR * (os.cpu_count() or 1))
    with interruptible(f"what is over: kafka-chaos clients --from {folder}"), show_progress(ERRORS, quiet):
        result = compare_clients(faults, arms, load, options, begun, folder)
    _finish(result, folder, as_json)


def _finish(result: ClientsResult, folder: Path, as_json: bool) -> None:
    """Write the pages, print the tables, and end with the exit code."""
    from harness.cli.results import indexed
    from harness.lab.clients.page import comparison_page, write_pages
    from harness.report.page.terminal import print_page

    with indexed(folder.resolve().parent):
        file = write_pages(result, folder)
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        out = console(140)
        print_page(out, comparison_page(result))
        print_text(out, f"result: {folder / 'clients.json'}, report: {file}")
    raise typer.Exit(result.exit_code((OWN,)))


def _print_list(as_json: bool) -> None:
    from harness.lab.clients.participants import client_rows, fault_rows
    from harness.report.page.blocks import Table, grid
    from harness.report.page.terminal import print_table

    if as_json:
        print_json({"clients": client_rows(), "faults": fault_rows()})
        return
    for rows in (client_rows(), fault_rows()):
        print_table(console(140), Table(*grid(rows), cards=True))
