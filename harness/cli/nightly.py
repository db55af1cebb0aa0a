"""The command of the nightly series."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.commands import complete_experiment
from harness.cli.options import SeedOption, console, interruptible, print_text, seed_or_now
from harness.model.defaults import DEFAULT_VERSION

_out = console(140)


def nightly(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help="Built-in experiments or YAML files.", autocompletion=complete_experiment),
    ] = None,
    matrix: Annotated[
        list[str] | None,
        typer.Option(help="A built-in matrix or a YAML file, compared run by run; may be repeated."),
    ] = None,
    matrix_repeat: Annotated[
        int | None, typer.Option(min=1, help="Runs of each arm of a matrix, whatever the matrix says.")
    ] = None,
    kafka_version: Annotated[
        list[str] | None,
        typer.Option(help=f"Kafka version; may be repeated. Default: {DEFAULT_VERSION}."),
    ] = None,
    results: Annotated[Path, typer.Option(help="Folder for results, summary.md and junit.xml.")] = Path(
        "results/nightly"
    ),
    last: Annotated[
        Path | None, typer.Option(help="Results of the last good night; a good night replaces them.")
    ] = None,
    seed: SeedOption = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each arm of an experiment.")] = 1,
) -> None:
    """Run experiments and matrices on several Kafka versions, and compare them with the last good night.

    Leaves summary.md (Markdown) and junit.xml beside the results. docs/how-to/nightly.md says what counts as
    worse.

    Exit codes: 0 good, 1 a promise was broken or an arm is worse than the last time, 2 bad input,
    3 something could not be run or has no verdict, 130 interrupted.
    """
    from harness.model.progress import progress_on_stdout
    from harness.nightly.series import NightlyOptions, run_night

    options = NightlyOptions(
        experiments=experiments or [],
        matrices=matrix or [],
        versions=kafka_version or [DEFAULT_VERSION],
        results=results,
        seed=seed_or_now(seed),
        last=last,
        repeat=repeat,
        matrix_repeat=matrix_repeat,
    )
    with interruptible(f"what is finished is in {results}"), progress_on_stdout():
        code, lines = run_night(options)
    for line in lines:
        print_text(_out, line)
    raise typer.Exit(code)
