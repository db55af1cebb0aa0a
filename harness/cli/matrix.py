"""Commands over many runs: matrix, compare, rates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.commands import complete_matrix
from harness.cli.options import (
    ERRORS,
    EngineOption,
    JsonOption,
    ProfileOption,
    QuietOption,
    ResultsOption,
    SeedOption,
    console,
    interruptible,
    print_json,
    print_text,
    seed_or_now,
)
from harness.model.errors import BadInput
from harness.model.progress import report_progress
from harness.model.secrets import this_command

_out = console(120)


def matrix(
    spec: Annotated[
        str | None,
        typer.Argument(
            help="A built-in matrix (see --list) or a YAML file (docs/how-to/matrix.md).",
            autocompletion=complete_matrix,
        ),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Resume the matrix in this folder; finished runs are not made again.")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="Runs of each arm; overrides the spec.")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0.1, help="Minutes in total, including resumed parts; no run is begun that would end later."
        ),
    ] = None,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    kafka_version: Annotated[str | None, typer.Option(help="Kafka version, for all arms.")] = None,
    image: Annotated[str | None, typer.Option(help="Broker image, for all arms.")] = None,
    profile: ProfileOption = None,
    clusters: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="Number of clusters in parallel; default: one per 4 cores and 6 GiB."
        ),
    ] = None,
    engine: EngineOption = "auto",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the arms and how long it would take.")
    ] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Allow a matrix that is estimated to take more than a day."),
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the built-in matrices.")] = False,
    show: Annotated[str | None, typer.Option(help="Print this built-in matrix, to start your own.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of matrix files.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run many configurations many times each, and report what each loses, with confidence intervals.

    `kafka-chaos matrix --list`, then `kafka-chaos matrix acks-idempotence --dry-run`.

    Arms are run in turns, in random order by the seed. Prints a table, and writes a folder below results/
    with report.html, matrix.json (also .csv, .md, .junit.xml) and every run. An arm that the client refuses
    is reported with the client's message and is not an error.

    Exit codes: 0 as promised, 1 a run broke its arm's promise, 2 bad input, 3 an arm has no run
    with a known verdict.
    """
    from checkers import EngineChoice
    from harness.campaign.docker_backend import DockerBackend
    from harness.campaign.workers import clusters_at_once
    from harness.cli.progress import show_progress
    from harness.cli.results import indexed
    from harness.matrix.page import matrix_page, write_pages
    from harness.matrix.plan import MatrixOptions, plan_matrix
    from harness.matrix.result import MatrixStore
    from harness.matrix.runner import run_matrix
    from harness.matrix.spec import MATRIX
    from harness.page.terminal import print_page

    if list_:
        for name in MATRIX.builtin_names():
            print_text(_out, f"{name}: {MATRIX.builtin(name)[0].title}")
        return
    if show is not None:
        typer.echo(MATRIX.builtin_text(show), nl=False)
        return
    if schema:
        typer.echo(MATRIX.schema_text(), nl=False)
        return
    chosen_seed = seed_or_now(seed)
    options = MatrixOptions(repeat, budget, seed, kafka_version, image, profile)
    plan = plan_matrix(spec, resume, options, chosen_seed)
    if dry_run:
        if as_json:
            print_json(plan.as_json())
        else:
            for line in plan.lines():
                print_text(_out, line)
        return
    plan.refuse_days(yes)
    again = ("--seed", str(chosen_seed)) if seed is None and resume is None else ()
    store = MatrixStore(resume) if resume is not None else MatrixStore.created(results, plan.spec.name)
    if not quiet:
        print_text(ERRORS, f"results: {store.folder}")
    go_on = f"go on: kafka-chaos matrix --resume {store.folder}"
    with interruptible(go_on), store.locked(), show_progress(ERRORS, quiet):
        report_progress(plan.lines()[-1])
        result = run_matrix(
            plan,
            store,
            this_command(*again),
            DockerBackend(EngineChoice(engine)),
            clusters=clusters or clusters_at_once(),
        )
    with indexed(store.folder.resolve().parent):
        file = write_pages(result, store.folder)
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        print_page(_out, matrix_page(result))
        print_text(_out, f"result: {store.folder / 'matrix.json'}, report: {file}")
    raise typer.Exit(result.exit_code())


def compare(
    base: Annotated[Path, typer.Argument(help="The result to compare with: a folder with matrix.json.")],
    new: Annotated[Path, typer.Argument(help="The result to judge.")],
    alpha: Annotated[
        float,
        typer.Option(
            min=0.0001, max=0.5, help="Largest probability that two equal results are called worse."
        ),
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
    from harness.matrix.compare import compare as compared
    from harness.matrix.result import load_result
    from harness.matrix.table import comparison
    from harness.page.terminal import print_blocks

    results = [load_result(folder) for folder in (base, new)]
    found = compared(results[0], results[1], alpha=alpha, names=(str(base), str(new)))
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        print_blocks(_out, comparison(results[0], results[1], found))
    raise typer.Exit(found.exit_code())


def rates(
    results: Annotated[str, typer.Argument(help="A folder or URL below which run folders are.")],
    by: Annotated[
        str,
        typer.Option(
            help="What to group by, separated by commas: experiment, arm, acks, idempotent, client, version, "
            "profile, brokers, faults, seed, an axis of a matrix, or producer:NAME, topic:NAME, broker:NAME."
        ),
    ] = "experiment,arm",
    parquet: Annotated[
        str | None, typer.Option(help="File for the rows; default: rates.parquet in the folder.")
    ] = None,
    latency: Annotated[
        bool, typer.Option("--latency/--no-latency", help="Include latencies, which reads every send.")
    ] = True,
    engine: EngineOption = "auto",
    driver_memory: Annotated[str, typer.Option(help="Heap of the local Spark JVM.")] = "4g",
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Loss and duplication rates over all runs below a folder, as a Spark job, grouped by any axis.

    Prints a table and writes the same rows as Parquet. Runs that are not finished, not checked or of verdict
    `unknown` are left out and listed. Runs of another schema version are refused.

    Exit codes: 0, 2 bad input, 3 there is no run, or one that cannot be combined with the others.
    """
    from checkers import EngineChoice
    from harness.check_jobs.saved_run_queries import run_rates
    from harness.cli.progress import show_progress
    from harness.page.terminal import print_table
    from harness.report import rates_table

    axes = tuple(one.strip() for one in by.split(",") if one.strip())
    if not axes or len(set(axes)) < len(axes):
        raise BadInput(
            "the axes to group by are not valid",
            where="--by",
            expected="names with commas between, each once: experiment,arm",
            found=by,
        )
    with show_progress(ERRORS, quiet):
        found, target = run_rates(
            results,
            axes,
            latencies=latency,
            parquet=parquet,
            engine=EngineChoice(engine, driver_memory=driver_memory),
        )
    if as_json:
        print_json({"by": axes, "rows": found.rows, "left_out": found.left_out})
        return
    print_table(_out, rates_table.table(found))
    for line in found.left_out:
        print_text(_out, f"left out: {line}")
    print_text(_out, f"rows: {target}")
