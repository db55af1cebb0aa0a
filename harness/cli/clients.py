"""`kafka-chaos clients`: client libraries under the same faults, side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

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
    from pydantic import BaseModel

    from harness.lab.clients.comparison_result import ClientsResult
    from harness.lab.consumers.consumer_result import ConsumersResult
    from harness.report.page.blocks import Page
    from harness.run.executor import Options

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
            "filled in. It journals what it sends (docs/how-to/own-producer.md), or with --consumers what it "
            "handles (docs/how-to/your-client.md)."
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
    consumers: Annotated[
        bool,
        Option(
            "--consumers",
            help="Compare consumers in place of producers: what each skips or repeats; --fault names a "
            "situation (see --list). Default: killed-early, stopped, error-closed.",
        ),
    ] = False,
    list_: Annotated[
        bool, Option("--list", help="List clients with their modes, faults, and situations of consumers.")
    ] = False,
    show: Annotated[str | None, Option(help="Print the file of this built-in client.")] = None,
    schema: Annotated[bool, Option("--schema", help="Print the JSON schema of such files.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare Kafka's client libraries: what each loses, doubles, reorders or gives up under a fault.

    Each client is a small program with the library's defaults, installed from its registry with a pinned
    version. All programs write side by side, so all meet the same fault. `--command` puts a program of
    yours beside them. A client whose toolchain is missing runs in a container, or is left out, and said to
    be, where its image cannot be pulled.

    With `--consumers` the programs consume: they are killed, stopped or fail in the midst of what they were
    given, and the table says what each has skipped for good or handled twice, and whose doing it was.

    Exit codes: 0 every cell has a run that proves something, 1 a run of `--command` was invalid (of a
    consumer: it skipped records, or handled aborted ones), 2 bad input, 3 a client was left out or a cell
    proves nothing.
    """
    from harness.lab.clients.client import CLIENT

    if schema or show is not None:
        typer.echo(CLIENT.schema_text() if show is None else CLIENT.builtin_text(show), nl=False)
        return
    if list_:
        _print_list(as_json)
        return
    if from_ is not None:
        _finish_saved(from_, consumers, as_json)
    from checkers import EngineChoice
    from harness.run.executor import Options

    chosen_seed, typed = seed_and_command(seed)
    options = Options(
        results=results, seed=chosen_seed, repeat=repeat, command=typed, engine=EngineChoice(engine)
    )
    most = at_once or _PER_PROCESSOR * (os.cpu_count() or 1)
    names, modes = client or (), mode or ()
    if consumers:
        _compare_consumers(names, modes, command, fault or (), options, kafka_version, most, quiet, as_json)
    from harness.lab.clients.comparison import Load
    from harness.lab.clients.participants import chosen_faults, participants
    from harness.lab.clients.runner import compare_clients, new_comparison

    faults = chosen_faults(fault or ())
    with show_progress(ERRORS, quiet), interruptible("nothing was run yet"):
        arms, left_out = participants(names, modes, command, OWN)
    folder, begun = new_comparison(faults, arms, left_out, options)
    load = Load(kafka_version, rate, at_once=most)
    with interruptible(f"what is over: kafka-chaos clients --from {folder}"), show_progress(ERRORS, quiet):
        result = compare_clients(faults, arms, load, options, begun, folder)
    _finish(result, folder, as_json)


def _compare_consumers(
    clients: Sequence[str],
    modes: Sequence[str],
    command: str | None,
    situations: Sequence[str],
    options: Options,
    version: str,
    at_once: int,
    quiet: bool,
    as_json: bool,
) -> NoReturn:
    """Compare consumers, and end with the exit code."""
    from harness.lab.consumers.consumer_participants import chosen_situations, consuming_participants
    from harness.lab.consumers.consumer_runner import compare_consumers, new_consumers

    chosen = chosen_situations(situations)
    with show_progress(ERRORS, quiet), interruptible("nothing was run yet"):
        arms, left_out = consuming_participants(clients, modes, command, OWN)
    folder, begun = new_consumers(chosen, arms, left_out, options)
    over = f"what is over: kafka-chaos clients --consumers --from {folder}"
    with interruptible(over), show_progress(ERRORS, quiet):
        result = compare_consumers(chosen, arms, options, version, at_once, begun, folder)
    _finish_consumers(result, folder, as_json)


def _finish_saved(path: Path, consumers: bool, as_json: bool) -> NoReturn:
    """Print what an earlier comparison has found, and end with its exit code."""
    folder = path if path.is_dir() else path.parent
    if consumers:
        from harness.lab.consumers.consumer_result import load_consumers

        _finish_consumers(load_consumers(path), folder, as_json)
    from harness.lab.clients.comparison_result import load_comparison

    _finish(load_comparison(path), folder, as_json)


def _finish_consumers(result: ConsumersResult, folder: Path, as_json: bool) -> NoReturn:
    """As `_finish`, of a comparison of consumers."""
    from harness.lab.consumers.consumer_page import consumers_page, write_consumer_pages

    _show(result, consumers_page(result), folder, as_json, lambda: write_consumer_pages(result, folder))
    raise typer.Exit(result.exit_code((OWN,)))


def _finish(result: ClientsResult, folder: Path, as_json: bool) -> NoReturn:
    """Write the pages, print the tables, and end with the exit code."""
    from harness.lab.clients.page import comparison_page, write_pages

    _show(result, comparison_page(result), folder, as_json, lambda: write_pages(result, folder))
    raise typer.Exit(result.exit_code((OWN,)))


def _show(result: BaseModel, page: Page, folder: Path, as_json: bool, write: Callable[[], Path]) -> None:
    """Write the pages of a result, and print its tables, or its JSON."""
    from harness.cli.results import indexed
    from harness.report.page.terminal import print_page

    with indexed(folder.resolve().parent):
        file = write()
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
        return
    out = console(140)
    print_page(out, page)
    print_text(out, f"result: {folder}, report: {file}")


def _print_list(as_json: bool) -> None:
    from harness.lab.clients.participants import client_rows, fault_rows
    from harness.lab.consumers.consumer_participants import situation_rows
    from harness.report.page.blocks import Table, grid
    from harness.report.page.terminal import print_table

    if as_json:
        print_json({"clients": client_rows(), "faults": fault_rows(), "situations": situation_rows()})
        return
    for rows in (client_rows(), fault_rows(), situation_rows()):
        print_table(console(140), Table(*grid(rows), cards=True))
