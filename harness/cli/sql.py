"""`kafka-chaos sql`: the user's own questions to a saved run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import (
    ERRORS,
    WIDE,
    EngineOption,
    QuietOption,
    console,
    interruptible,
    print_json,
    print_text,
)
from harness.model.errors import BadInput

if TYPE_CHECKING:
    from checkers import RunViews

SHOWN = 100
"""Rows that a table shows if nothing else is said."""

_out = console(WIDE)


def sql(
    run: Annotated[str, typer.Argument(help="Folder of a run (of one arm): a path or a URL.")],
    query: Annotated[
        str | None, typer.Argument(help="A query in Spark's SQL; - reads it from standard input.")
    ] = None,
    list_views: Annotated[
        bool, typer.Option("--views", help="List the views of the run with their columns.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=0, help=f"Rows to show; 0: all. Default: {SHOWN} in a table, all in other formats."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the rows as CSV.")] = False,
    parquet: Annotated[Path | None, typer.Option(help="Write the rows to this Parquet file.")] = None,
    engine: EngineOption = "auto",
    quiet: QuietOption = False,
) -> None:
    """Ask your own questions about a saved run, in SQL.

    The views: `records` (what was sent beside what was read, one row per record), `findings` of the check,
    `faults`, `steps`, and each journal, as `sends`, `reads` and `samples`. The engine is that of `check`. See
    docs/how-to/ask-your-own-questions.md.

    Exit codes: 0 the query was answered, 2 bad input, such as a wrong query, 3 the run cannot be read, or
    the engine failed.
    """
    from checkers import ask, query_words
    from harness.check_jobs.saved_run_queries import open_views
    from harness.cli.progress import show_progress
    from harness.page.terminal import print_table
    from harness.report import answer_table

    _refuse_contradictions(query, list_views, as_json, as_csv, parquet)
    text = sys.stdin.read() if query == "-" else query or ""
    with interruptible("nothing was changed"), show_progress(ERRORS, quiet):
        if not list_views:
            query_words(text)  # refuses what is no query before an engine starts
        views = open_views(run, engine)
        if not list_views:
            usual = None if as_json or as_csv or parquet is not None else SHOWN
            most = usual if limit is None else (limit or None)
            answer = ask(views, text, limit=most)
    for problem in views.problems:
        print_text(ERRORS, f"kafka-chaos: warning: {problem}")
    if list_views:
        _print_views(views, as_json)
        return
    if parquet is not None:
        _write(answer.table, parquet)
        print_text(ERRORS, f"{answer.table.num_rows:,} rows: {parquet}")
    elif as_json:
        print_json(answer_table.rows(answer.table))
    elif as_csv:
        typer.echo(answer_table.csv_text(answer.table), nl=False)
    else:
        print_table(_out, answer_table.shown(answer.table, _out.width))
    if answer.more:
        print_text(ERRORS, f"there are more rows: the first {most:,} are here; --limit 0 gives all")


def _refuse_contradictions(
    query: str | None, list_views: bool, as_json: bool, as_csv: bool, parquet: Path | None
) -> None:
    if (query is None) != list_views:
        raise BadInput(
            "a query is missing" if query is None else "--views takes no query",
            where="kafka-chaos sql",
            expected="a query, or --views, which lists what can be asked",
            next_step='for example: kafka-chaos sql RUN "select count(*) from sends"',
        )
    formats = {"--json": as_json, "--csv": as_csv, "--parquet": parquet is not None}
    chosen = [name for name, wanted in formats.items() if wanted]
    if len(chosen) > 1 or (list_views and (as_csv or parquet is not None)):
        raise BadInput(
            "these options contradict each other",
            where=", ".join([*(["--views"] if list_views else []), *chosen]),
            expected="one format; --views has --json only",
            next_step="leave out all but one",
        )


def _print_views(views: RunViews, as_json: bool) -> None:
    """Each view: what a row is, and its columns with their types."""
    from checkers import VIEW_DESCRIPTIONS

    described = {name: views[name].dtypes for name in views}
    if as_json:
        print_json(
            [
                {
                    "view": name,
                    "rows": VIEW_DESCRIPTIONS[name],
                    "columns": [{"name": column, "type": kind} for column, kind in columns],
                }
                for name, columns in described.items()
            ]
        )
        return
    for name, columns in described.items():
        print_text(_out, f"{name}: {VIEW_DESCRIPTIONS[name]}")
        _out.print(
            "  " + ", ".join(f"{column} {kind}" for column, kind in columns), markup=False, highlight=False
        )
    if not views.checked:
        print_text(_out, f"findings: none, since the run was not checked: kafka-chaos check {views.folder}")


def _write(table: object, target: Path) -> None:
    import pyarrow.parquet as pq

    try:
        pq.write_table(table, target)
    except OSError as error:
        raise BadInput(
            "the file cannot be written", where=str(target), found=error.strerror or str(error)
        ) from error
