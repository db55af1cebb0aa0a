"""What commands share: options, completion of arguments, and the printing of lines, progress and examples."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.text import Text
from typer import Argument, Option

from harness.model.config.built_in_files import built_in_files
from harness.model.errors import BadInput
from harness.model.progress import MessagesTo, NewActivity, notices_to, progress_to
from harness.model.secrets import this_command

EngineWord = Literal["auto", "spark", "sail"]
"""Values of --engine, as in `checkers.engine.choice.EngineWord`, which is not imported for the help."""
SeedOption = Annotated[int | None, Option(help="Seed of all choices; default: the current time.")]
ResultsOption = Annotated[Path, Option(help="Folder for journals, results and reports.")]
ProfileOption = Annotated[str | None, Option(help="Timing profile: kafka (as shipped) or fast.")]
VersionOption = Annotated[str | None, Option(help="Kafka version, for all that is run.")]
ImageOption = Annotated[str | None, Option(help="Broker image, for all that is run.")]
QuietOption = Annotated[bool, Option("--quiet", "-q", help="Show no progress.")]
ClientConfigOption = Annotated[
    Path | None, Option(help="Properties file with that cluster's TLS and SASL settings.")
]
JsonOption = Annotated[bool, Option("--json", help="Print JSON instead of tables.")]
EngineOption = Annotated[
    EngineWord,
    Option(
        help="What checks: spark (Apache Spark), sail (embedded, without a JVM), or auto. Default of auto: "
        "the environment variable KAFKA_CHAOS_ENGINE."
    ),
]
SparkMasterOption = Annotated[
    str, Option(help="Spark master: local[N], spark://host:port, sc://host:port, yarn, ...")
]
SparkConfOption = Annotated[list[str] | None, Option(help="A Spark setting, spark.name=value; repeatable.")]
DriverMemoryOption = Annotated[str, Option(help="Heap size of the local Spark driver.")]
ClustersOption = Annotated[
    int | None,
    Option(min=1, max=64, help="Number of clusters in parallel; default: one per 4 cores and 6 GiB."),
]
SideBySideOption = Annotated[
    int,
    Option(
        min=1,
        max=16,
        help="Number of experiments to run in parallel, each on its own cluster; timing experiments always "
        "run alone.",
    ),
]

WIDE = 160
"""Characters per line, for a table of seven columns."""
_EVERY_SECONDS = 5.0
ERRORS = Console(stderr=True)
"""Standard error."""


def console(columns: int) -> Console:
    """Standard output. In a file or a CI log, lines have `columns` characters; on a terminal, its width."""
    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else columns)


def seed_or_now(seed: int | None) -> int:
    """The seed that was given, else the current time."""
    return int(time.time()) if seed is None else seed


def seed_and_command(seed: int | None, *, resumed: bool = False) -> tuple[int, str]:
    """`seed_or_now`, and the command that makes the same choices again: what was typed, with this seed (what
    is resumed has its own)."""
    chosen = seed_or_now(seed)
    return chosen, this_command(*(("--seed", str(chosen)) if seed is None and not resumed else ()))


def print_text(out: Console, *texts: str) -> None:
    """Print each text as it is, without folding long lines."""
    for text in texts:
        out.print(text, markup=False, highlight=False, soft_wrap=True)


def print_json(value: object) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2))


@contextmanager
def interruptible(left: str) -> Iterator[None]:
    """Ctrl-C in this block ends the command with exit code 130, and says what to do next: the commands in the
    interruption's notes, which read the journals that are kept, or without any `left`."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        words = kept(getattr(interruption, "__notes__", ())) or left
        print_text(ERRORS, f"kafka-chaos: interrupted; {words}")
        raise typer.Exit(130) from None


@contextmanager
def working(quiet: bool, left: str = "nothing was run yet") -> Iterator[None]:
    """The block shows its progress unless `quiet`, and is `interruptible`."""
    with interruptible(left), show_progress(ERRORS, quiet):
        yield


def kept(commands: Sequence[str]) -> str:
    """That journals are kept, and the commands that read them; empty without any command."""
    return "\n  ".join(("journals are kept; to read them:", *commands)) if commands else ""


def write_example(path: Path, package: str, command: str) -> None:
    """`write_new` with the example.yaml of a package."""
    write_new(path, (resources.files(package) / "example.yaml").read_text(), command)


def write_new(path: Path, text: str, command: str) -> None:
    """Write a file that does not exist yet, and print its name with the `command` that runs such files.

    Raises:
        BadInput: the file exists, or cannot be written.
    """
    if path.exists():
        raise BadInput("the file exists already", where=str(path), next_step="choose another file")
    try:
        path.write_text(text)
    except OSError as error:
        raise BadInput("the file cannot be written", where=str(path), found=str(error)) from error
    print_text(console(80), f"wrote {path}; run it with: {command} {path}")


@contextmanager
def show_progress(console: Console, quiet: bool = False) -> Iterator[None]:
    """Show the progress that is reported in the block on `console`: one line that changes on a terminal, a
    line now and then elsewhere; `quiet` shows none. Notices are shown in any case."""

    def show(text: str) -> None:
        console.print(text, soft_wrap=True, highlight=False, markup=False)

    with notices_to(MessagesTo(show)):
        if quiet:
            yield
        elif console.is_terminal:
            # As plain text: "[0]" is a partition here, not markup.
            with (
                console.status("") as status,
                progress_to(MessagesTo(lambda text: status.update(Text(text)))),
            ):
                yield
        else:
            handler = MessagesTo(show)
            handler.addFilter(NewActivity(_EVERY_SECONDS))
            with progress_to(handler):
                yield


def complete_experiment(incomplete: str) -> list[str]:
    """Names of built-in experiments, and YAML files, that begin like this."""
    return _complete("harness/experiments", incomplete)


def complete_matrix(incomplete: str) -> list[str]:
    """Names of built-in matrices, and YAML files, that begin like this."""
    return _complete("harness/matrices", incomplete)


def complete_fault(incomplete: str) -> list[str]:
    """Names of faults that begin like this."""
    from harness.spec.fault_index import fault_specs

    return sorted(name for name in fault_specs() if name.startswith(incomplete))


def _complete(folder: str, incomplete: str) -> list[str]:
    """From file names alone, because a shell waits for it."""
    files = (Path(entry.name) for entry in built_in_files(folder).iterdir())
    names = [file.stem for file in files if file.suffix == ".yaml" and file.stem.startswith(incomplete)]
    typed = Path(incomplete)
    below = typed if incomplete.endswith("/") else typed.parent
    local = below.glob("*.y*ml") if below.is_dir() else ()
    return sorted(names) + sorted(str(path) for path in local if str(path).startswith(incomplete))


ExperimentArgument = Annotated[
    str, Argument(help="A built-in experiment or a YAML file.", autocompletion=complete_experiment)
]
ExperimentsArgument = Annotated[
    list[str] | None,
    Argument(
        help="Built-in experiments (see `experiments`) or YAML files.", autocompletion=complete_experiment
    ),
]
