"""Commands that make many runs: matrix, explore, nightly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from harness.cli.options import (
    ERRORS,
    ClustersOption,
    EngineOption,
    ExperimentsArgument,
    ImageOption,
    JsonOption,
    ProfileOption,
    QuietOption,
    ResultsOption,
    SeedOption,
    VersionOption,
    complete_matrix,
    console,
    interruptible,
    print_json,
    print_text,
    seed_and_command,
    seed_or_now,
    working,
)
from harness.model.defaults import DEFAULT_VERSION
from harness.model.progress import progress_on_stdout, report_progress

if TYPE_CHECKING:
    from harness.many.run_store import RunStore

_out, _wide = console(120), console(140)


@contextmanager
def kept_runs(command: str, plan: str, quiet: bool, store: RunStore[Any]) -> Iterator[None]:
    """The block makes runs in this folder, which is locked. Says where it is, what is planned and done, and
    how to go on after an interruption."""
    if not quiet:
        print_text(ERRORS, f"results: {store.folder}")
    go_on = f"go on: kafka-chaos {command} --resume {store.folder}"
    with working(quiet, go_on), store.locked():
        report_progress(plan)
        yield


def matrix(
    spec: Annotated[
        str | None,
        Argument(
            help="A built-in matrix (see --list) or a YAML file (docs/how-to/matrix.md).",
            autocompletion=complete_matrix,
        ),
    ] = None,
    resume: Annotated[
        Path | None, Option(help="Resume the matrix in this folder; finished runs are not made again.")
    ] = None,
    repeat: Annotated[
        int | None, Option(min=1, max=100_000, help="Runs of each arm; overrides the spec.")
    ] = None,
    budget: Annotated[
        float | None,
        Option(
            min=0.1, help="Minutes in total, including resumed parts; no run is begun that would end later."
        ),
    ] = None,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    kafka_version: VersionOption = None,
    image: ImageOption = None,
    profile: ProfileOption = None,
    clusters: ClustersOption = None,
    engine: EngineOption = "auto",
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only show the arms and how long it would take.")
    ] = False,
    yes: Annotated[
        bool, Option("--yes", help="Allow a matrix that is estimated to take more than a day.")
    ] = False,
    list_: Annotated[bool, Option("--list", help="List the built-in matrices.")] = False,
    show: Annotated[str | None, Option(help="Print this built-in matrix, to start your own.")] = None,
    schema: Annotated[bool, Option("--schema", help="Print the JSON schema of matrix files.")] = False,
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
    from harness.cli.results import indexed
    from harness.many.docker_backend import DockerBackend
    from harness.many.matrix.page import matrix_page, write_pages
    from harness.many.matrix.plan import MatrixOptions, plan_matrix
    from harness.many.matrix.result import MatrixStore
    from harness.many.matrix.runner import MatrixRun
    from harness.many.matrix.spec import MATRIX
    from harness.many.workers import clusters_at_once
    from harness.report.page.terminal import print_page
    from harness.spec.overrides import ClusterOptions

    if list_:
        print_text(_out, *(f"{name}: {MATRIX.builtin(name)[0].title}" for name in MATRIX.builtin_names()))
        return
    if show is not None or schema:
        typer.echo(MATRIX.schema_text() if show is None else MATRIX.builtin_text(show), nl=False)
        return
    chosen_seed, command = seed_and_command(seed, resumed=resume is not None)
    options = MatrixOptions(repeat, budget, seed, ClusterOptions(kafka_version, image, profile))
    plan = plan_matrix(spec, resume, options, chosen_seed)
    if dry_run:
        if as_json:
            print_json(plan.as_json())
        else:
            print_text(_out, *plan.lines())
        return
    plan.refuse_days(yes)
    backend = DockerBackend(EngineChoice(engine))
    at_once = clusters or clusters_at_once()
    store = MatrixStore(resume) if resume is not None else MatrixStore.created(results, plan.spec.name)
    with kept_runs("matrix", plan.lines()[-1], quiet, store):
        result = MatrixRun(plan, store, command, backend, clusters=at_once).execute()
    with indexed(store.folder.resolve().parent):
        file = write_pages(result, store.folder)
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        print_page(_out, matrix_page(result))
        print_text(_out, f"result: {store.folder / 'matrix.json'}, report: {file}")
    raise typer.Exit(result.exit_code())


def explore(
    menu: Annotated[
        Path | None, Option(help="ordinary, groups, share-groups, safe, quorum, machines, or a file.")
    ] = None,
    budget: Annotated[str | None, Option(help="Time in total: 20m (default), 1h, ...")] = None,
    runs: Annotated[int | None, Option(min=1, help="Number of runs in total, instead of a time.")] = None,
    seed: SeedOption = None,
    confirm: Annotated[
        str | None, Option(help="K/N: a schedule fails when K of N runs of it do; default 2/3.")
    ] = None,
    shrink_share: Annotated[
        float | None, Option(min=0, max=1, help="Share of the budget for shrinking; default 0.6.")
    ] = None,
    resume: Annotated[
        Path | None, Option(help="Resume the exploration in this folder; finished runs are not made again.")
    ] = None,
    results: ResultsOption = Path("results"),
    kafka_version: VersionOption = None,
    image: ImageOption = None,
    profile: ProfileOption = None,
    clusters: Annotated[
        int | None,
        Option(min=1, max=64, help="Number of clusters in parallel; default: 1, or as before with --resume."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what can be explored.")] = False,
    show: Annotated[bool, Option("--show", help="Print the built-in menu, to start your own.")] = False,
    schema: Annotated[bool, Option("--schema", help="Print the JSON schema of menu files.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search for failures: draw schedules of ordinary faults and settings, and shrink what breaks.

    Schedules are drawn by weight and by what has not been
    covered yet. Every violation is shrunk by running smaller schedules, and saved as an experiment file and
    a pytest test. Prints tables, and writes result.json, report.html and report.md below results/.

    Exit codes: 0 no violation, 1 a violation was found, 2 bad input, 3 no run has a known verdict,
    130 interrupted (results are kept; --resume goes on).
    """
    from harness.cli.results import indexed
    from harness.lab.explore.explorer import Exploration
    from harness.lab.explore.menu import BUILT_IN, MENU
    from harness.lab.explore.page import explore_page, lines, write_pages
    from harness.lab.explore.plan import ExploreOptions, plan_exploration
    from harness.lab.explore.result import ExploreStore, load_result
    from harness.report.page.terminal import print_page
    from harness.spec.overrides import ClusterOptions

    if show or schema:
        typer.echo(MENU.builtin_text(BUILT_IN) if show else MENU.schema_text(), nl=False)
        return
    chosen_seed, command = seed_and_command(seed, resumed=resume is not None)
    cluster = ClusterOptions(kafka_version, image, profile)
    options = ExploreOptions(menu, budget, runs, seed, confirm, shrink_share, cluster, clusters)
    plan = plan_exploration(options, resume, chosen_seed)
    if dry_run:
        print_text(_wide, *plan.lines())
        return
    store = ExploreStore(resume) if resume is not None else ExploreStore.created(results, plan.menu.name)
    with kept_runs("explore", plan.lines()[-1], quiet, store):
        try:
            result = Exploration(plan, store, command).execute()
        except KeyboardInterrupt:
            kept = load_result(store.folder)
            write_pages(kept, store.folder)
            print_text(ERRORS, *lines(kept))
            raise
    with indexed(store.folder.resolve().parent):
        file = write_pages(result, store.folder)
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        print_page(_wide, explore_page(result))
        print_text(_wide, f"result: {store.folder / 'result.json'}, report: {file}")
    raise typer.Exit(result.exit_code())


def nightly(
    experiments: ExperimentsArgument = None,
    matrix: Annotated[
        list[str] | None,
        Option(help="A built-in matrix or a YAML file, compared run by run; may be repeated."),
    ] = None,
    matrix_repeat: Annotated[
        int | None, Option(min=1, help="Runs of each arm of a matrix, whatever the matrix says.")
    ] = None,
    kafka_version: Annotated[
        list[str] | None, Option(help=f"Kafka version; may be repeated. Default: {DEFAULT_VERSION}.")
    ] = None,
    results: Annotated[Path, Option(help="Folder for results, summary.md and junit.xml.")] = Path(
        "results/nightly"
    ),
    last: Annotated[
        Path | None, Option(help="Results of the last good night; a good night replaces them.")
    ] = None,
    seed: SeedOption = None,
    repeat: Annotated[int, Option(min=1, help="Runs of each arm of an experiment.")] = 1,
    engine: Annotated[
        Literal["both", "spark", "sail"],
        Option(
            help="What checks the runs: both (Apache Spark and Sail, whose counts must agree), or one of "
            "them. Sail alone needs no Java."
        ),
    ] = "both",
) -> None:
    """Run experiments and matrices on several Kafka versions, and compare them with the last good night.

    Leaves summary.md (Markdown) and junit.xml beside the results. docs/how-to/nightly.md says what counts as
    worse.

    Exit codes: 0 good, 1 a promise was broken or an arm is worse than the last time, 2 bad input,
    3 something could not be run or has no verdict, 130 interrupted.
    """
    from harness.many.nightly.series import NightlyOptions, run_night

    options = NightlyOptions(
        experiments=experiments or [],
        matrices=matrix or [],
        versions=kafka_version or [DEFAULT_VERSION],
        results=results,
        seed=seed_or_now(seed),
        last=last,
        repeat=repeat,
        matrix_repeat=matrix_repeat,
        engine=engine,
    )
    with interruptible(f"what is finished is in {results}"), progress_on_stdout():
        code, lines = run_night(options)
    print_text(_wide, *lines)
    raise typer.Exit(code)
