"""The command for programs with producers of their own: a journal to copy, and a check of journals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from harness.model.errors import BadInput


def own(
    language: Annotated[
        str | None,
        Option(
            help="Print the journal for programs in this language: go, javascript (also for TypeScript), "
            "java (also for Kotlin), rust or csharp."
        ),
    ] = None,
    check: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="Read the journals of this folder, or one file, and name what a run would refuse.",
        ),
    ] = None,
) -> None:
    """Help a program of your own to journal what it sends, whatever its language and its client are.

    `--language` prints one file to copy into the program: it needs nothing but the standard library.
    `--check` reads journals as a run does at its end, without a cluster, counts what each producer sent, and
    exits with 2 if a run would not know what was sent. docs/how-to/own-producer.md shows whole programs.
    """
    if (language is None) == (check is None):
        raise BadInput(
            "say what to do",
            where="kafka-chaos own",
            expected="either --language LANGUAGE or --check FOLDER",
            found="neither" if language is None else "both",
            next_step="docs/how-to/own-producer.md shows both",
        )
    if language is not None:
        from workloads.own.language_files import language_file

        typer.echo(language_file(language), nl=False)
    if check is not None:
        _check(check)


def _check(folder: Path) -> None:
    from workloads.own.journal_check import check_journals, refuse_unusable

    target, checked = check_journals(folder)
    typer.echo(f"topic {target.topic}, run {target.run_id}")
    for one in checked:
        typer.echo(str(one))
    refuse_unusable(checked)
    typer.echo("a run would take over all of it")
