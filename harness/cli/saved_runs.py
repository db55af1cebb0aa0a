"""Commands about saved runs: sql, the user's own questions; rates; compare, of two results of a matrix."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from harness.cli.options import (
    ERRORS,
    WIDE,
    DriverMemoryOption,
    EngineOption,
    JsonOption,
    QuietOption,
    SparkConfOption,
    SparkMasterOption,
    console,
    print_json,
    print_text,
    working,
)
from harness.model.errors import BadInput

if TYPE_CHECKING:
    from checkers import RunViews

SHOWN = 100
"""Rows that a table shows if nothing else is said."""

_out, _wide = console(120), console(WIDE)


def sql(
    run: Annotated[str, Argument(help="Folder of a run (of one arm): a path or a URL.")],
    query: Annotated[
        str | None, Argument(help="A query in Spark's SQL; - reads it from standard input.")
    ] = None,
    list_views: Annotated[
        bool, Option("--views", help="List the views of the run with their columns.")
    ] = False,
    limit: Annotated[
        int | None,
        Option(min=0, help=f"Rows to show; 0: all. Default: {SHOWN} in a table, all in other formats."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print the rows as JSON.")] = False,
    as_csv: Annotated[bool, Option("--csv", help="Print the rows as CSV.")] = False,
    parquet: Annotated[Path | None, Option(help="Write the rows to this Parquet file.")] = None,
    engine: EngineOption = "auto",
    both_engines: Annotated[
        bool,
        Option(
            "--both-engines",
            help="Ask Apache Spark and Sail, compare all of their rows, and print those of Apache Spark.",
        ),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Ask your own questions about a saved run, in SQL.

    The views: `records` (what was sent beside what was read, one row per record), `findings` of the check,
    `faults`, `steps`, and each journal, as `sends`, `reads` and `samples`. The engine is Apache Spark, or
    Sail where there is no Java or too little memory; what Sail may answer otherwise is told. See
    docs/how-to/ask-your-own-questions.md and docs/explanation/engines.md.

    Exit codes: 0 the query was answered, 1 with --both-engines: the engines answer differently, 2 bad input,
    such as a wrong query, 3 the run cannot be read, or the engine failed.
    """
    from checkers import Answer, ask, query_words
    from harness.check_jobs import saved_run_queries
    from harness.report import answer_table
    from harness.report.page.terminal import print_table

    _refuse_contradictions(query, list_views, as_json, as_csv, parquet)
    if both_engines and (list_views or engine != "auto"):
        raise BadInput(
            "these options contradict each other",
            where=f"--both-engines, {'--views' if list_views else '--engine'}",
            expected="a query, which both engines are asked",
            next_step="leave out one of them",
        )
    text = sys.stdin.read() if query == "-" else query or ""
    with working(quiet, "nothing was changed"):
        if not list_views:
            query_words(text)  # refuses what is no query before an engine starts
        usual = None if as_json or as_csv or parquet is not None else SHOWN
        most = usual if limit is None else (limit or None)
        compared = None
        if both_engines:
            table, compared = saved_run_queries.answer_of_both(run, text)
            answer = Answer(table.slice(0, most), most is not None and table.num_rows > most)
            engine = "spark"
        views = saved_run_queries.views(run, engine)
        if not list_views and compared is None:
            answer = ask(views, text, limit=most)
    print_text(ERRORS, *(f"kafka-chaos: warning: {problem}" for problem in views.problems))
    for difference in views.differences(text):
        print_text(ERRORS, f"kafka-chaos: warning: Sail may answer otherwise than Apache Spark. {difference}")
    if list_views:
        _print_views(views, as_json)
        return
    if parquet is not None:
        import pyarrow.parquet as pq

        with BadInput.for_os_errors("the file cannot be written", where=parquet):
            pq.write_table(answer.table, parquet)
        print_text(ERRORS, f"{answer.table.num_rows:,} rows: {parquet}")
    elif as_json:
        print_json(answer_table.answer_rows(answer.table))
    elif as_csv:
        typer.echo(answer_table.csv_text(answer.table), nl=False)
    else:
        print_table(_wide, answer_table.shown(answer.table, _wide.width))
    if answer.more:
        print_text(ERRORS, f"there are more rows: the first {most:,} are here; --limit 0 gives all")
    if compared is not None:
        print_text(ERRORS, *compared.lines)
        raise typer.Exit(0 if compared.same else 1)


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
        rows = [
            {
                "view": name,
                "rows": VIEW_DESCRIPTIONS[name],
                "columns": [{"name": column, "type": kind} for column, kind in columns],
            }
            for name, columns in described.items()
        ]
        print_json(rows)
        return
    for name, columns in described.items():
        print_text(_wide, f"{name}: {VIEW_DESCRIPTIONS[name]}")
        shown = ", ".join(f"{column} {kind}" for column, kind in columns)
        _wide.print(f"  {shown}", markup=False, highlight=False)
    if not views.checked:
        print_text(_wide, f"findings: none, since the run was not checked: kafka-chaos check {views.folder}")


def compare(
    base: Annotated[Path, Argument(help="The result to compare with: a folder with matrix.json.")],
    new: Annotated[Path, Argument(help="The result to judge.")],
    alpha: Annotated[
        float,
        Option(min=0.0001, max=0.5, help="Largest probability that two equal results are called worse."),
    ] = 0.05,
    as_json: JsonOption = False,
) -> None:
    """Judge whether a matrix's new result is worse than a base, arm by arm, over runs.

    Compares losses, duplicates and other findings per million records, and seconds without a successful
    write, by exact rank tests that share one probability of a false alarm. The SLOs of the new matrix
    (`slo:` in its file) are bounds that it must keep, whatever the base did. See docs/how-to/matrix.md.

    Exit codes: 0 no arm is worse, 1 an arm is worse or breaks an SLO, 2 bad input, 3 an arm could not be
    compared, or a result could not be read.
    """
    from harness.many.matrix.compare import compare as compared
    from harness.many.matrix.result import load_result
    from harness.many.matrix.table import comparison
    from harness.report.page.terminal import print_blocks

    results = [load_result(folder) for folder in (base, new)]
    judged = compared(results[0], results[1], alpha=alpha, names=(str(base), str(new)))
    if as_json:
        typer.echo(judged.model_dump_json(indent=2))
    else:
        print_blocks(_out, comparison(results[0], results[1], judged))
    raise typer.Exit(judged.exit_code())


def rates(
    results: Annotated[str, Argument(help="A folder or URL below which run folders are.")],
    by: Annotated[
        str,
        Option(
            help="What to group by, separated by commas: experiment, arm, acks, idempotent, client, version, "
            "profile, brokers, faults, seed, an axis of a matrix, or producer:NAME, topic:NAME, broker:NAME."
        ),
    ] = "experiment,arm",
    place: Annotated[
        str | None,
        Option(
            "--results",
            help="Folder or URL for rates.parquet, rates.csv and rates.html; default: that of the runs.",
        ),
    ] = None,
    parquet: Annotated[str | None, Option(help="Another file for the rows as Parquet.")] = None,
    csv: Annotated[str | None, Option(help="Another file for the rows as CSV.")] = None,
    page: Annotated[str | None, Option("--html", help="Another file for the page.")] = None,
    latency: Annotated[
        bool, Option("--latency/--no-latency", help="Include latencies, which reads every send.")
    ] = True,
    engine: EngineOption = "auto",
    spark_master: SparkMasterOption = "local[*]",
    spark_conf: SparkConfOption = None,
    driver_memory: DriverMemoryOption = "4g",
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Loss and duplication rates over all runs below a folder, as a Spark job, grouped by any axis.

    Prints a table (one block of lines per group where it is too wide, and in a file or a pipe), and writes
    the same rows as Parquet and CSV, a file each, and a page with a chart of each rate and its interval. Runs
    that are not finished, not checked or of verdict `unknown` are left out and listed. Runs of another schema
    version are refused. docs/how-to/rates.md says what can be concluded.

    Exit codes: 0, 2 bad input, 3 there is no run, or one that cannot be combined with the others.
    """
    from checkers import EngineChoice, parse_settings
    from harness.check_jobs.saved_run_queries import run_rates
    from harness.report.page.terminal import print_table
    from harness.report.rates import rates_table
    from harness.report.rates_files import RatesFiles

    axes = tuple(axis.strip() for axis in by.split(",") if axis.strip())
    if not axes or len(set(axes)) < len(axes):
        raise BadInput(
            "the axes to group by are not valid",
            where="--by",
            expected="names with commas between, each once: experiment,arm",
            found=by,
        )
    files = RatesFiles.below(place or results, parquet=parquet, csv=csv, page=page)
    choice = EngineChoice(engine, spark_master, driver_memory, parse_settings(spark_conf or []))
    with working(quiet, "nothing was written"):
        figures = run_rates(results, axes, latencies=latency, engine=choice.checked())
    files.write(figures, results)
    if as_json:
        print_json({"by": axes, "rows": figures.rows, "left_out": figures.left_out})
        return
    print_table(_out, rates_table(figures), as_cards=not sys.stdout.isatty())
    print_text(_out, *(f"left out: {line}" for line in figures.left_out), *files.lines)
