"""`kafka-chaos compare-configs`: a user's own configurations of a producer under the same faults."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from harness.cli.many_runs import kept_runs
from harness.cli.options import (
    ERRORS,
    ClustersOption,
    EngineOption,
    ImageOption,
    JsonOption,
    ProfileOption,
    QuietOption,
    ResultsOption,
    SeedOption,
    VersionOption,
    console,
    print_json,
    print_text,
    seed_and_command,
)
from harness.model.errors import BadInput

if TYPE_CHECKING:
    from harness.lab.configs.config_result import ConfigComparison
    from harness.many.matrix.plan import MatrixPlan

_out = console(150)


def compare_configs(
    files: Annotated[
        list[Path] | None,
        Argument(
            help="Two or more files with settings of a producer, in any format that `audit` reads "
            "(Java's or librdkafka's names)."
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        Option(
            help="A fault (`kafka-chaos clients --list`), or all; may be repeated. Default: kill, pause, "
            "cut-then-kill, planned-move."
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        Option(min=1, max=100_000, help="Runs of each file under each fault; default: 5, or as before."),
    ] = None,
    rate: Annotated[
        int | None, Option(min=1, max=1_000_000, help="Records per second; default: 1000.")
    ] = None,
    resume: Annotated[
        Path | None, Option(help="Resume the comparison in this folder; finished runs are not made again.")
    ] = None,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    kafka_version: VersionOption = None,
    image: ImageOption = None,
    profile: ProfileOption = None,
    clusters: ClustersOption = None,
    engine: EngineOption = "auto",
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only show in what the files differ, and how long it would take.")
    ] = False,
    yes: Annotated[
        bool, Option("--yes", help="Allow a comparison that is estimated to take more than a day.")
    ] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare your own configurations of a producer: which loses what, and which costs how much waiting.

    Each file is run under each fault, several times, as a matrix: a leader is killed, paused, cut off from
    its followers and killed, and moved as planned. The topic has three replicas and min.insync.replicas=2.
    One table says what was lost, written twice, reordered and given up, how long nothing was acknowledged,
    and the latencies, with intervals; below it stands what is more than chance, and in what the files differ.
    What librdkafka has no equivalent for is left out, and said to be.

    Leaves report.html, configs.json and what `matrix` leaves.

    Exit codes: 0 every file did what is expected of all (nothing is lost, and nothing written twice if it is
    idempotent), 1 one did not, 2 bad input, such as files that do not differ in anything that matters, 3 a
    file under some fault has no run with a known verdict.
    """
    from checkers import EngineChoice
    from harness.cli.results import indexed
    from harness.lab.configs import config_plan
    from harness.lab.configs.config_page import configs_page, write_configs_pages
    from harness.lab.configs.config_result import CONFIGS_FILE
    from harness.many.docker_backend import DockerBackend
    from harness.many.matrix.plan import MatrixOptions
    from harness.many.matrix.runner import MatrixRun
    from harness.many.workers import clusters_at_once
    from harness.report.page.terminal import print_page
    from harness.spec.overrides import ClusterOptions

    chosen_seed, command = seed_and_command(seed, resumed=resume is not None)
    options = MatrixOptions(repeat, seed=seed, cluster=ClusterOptions(kafka_version, image, profile))
    if resume is None:
        chosen = config_plan.planned_comparison(files or (), fault or (), rate, options, chosen_seed, command)
    elif files or fault or rate is not None:
        raise BadInput(
            "files, faults and the rate cannot change with --resume",
            where=str(resume),
            next_step="leave them out, or begin a new comparison without --resume",
        )
    else:
        chosen = config_plan.resumed_comparison(resume, options)
    comparison, plan = chosen
    print_text(ERRORS, *(f"not used: {line}" for line in comparison.unused))
    if dry_run:
        _print_plan(comparison, plan, as_json)
        return
    plan.refuse_days(yes)
    store = config_plan.comparison_store(comparison, resume, results)
    with kept_runs("compare-configs", plan.lines()[-1], quiet, store):
        result = MatrixRun(
            plan,
            store,
            command,
            DockerBackend(EngineChoice(engine)),
            clusters or clusters_at_once(),
            resumed_by="compare-configs",
        ).execute()
    finished = config_plan.finished_comparison(comparison, result, store)
    with indexed(store.folder.resolve().parent):
        file = write_configs_pages(finished, result, store.folder)
    if as_json:
        typer.echo(finished.model_dump_json(indent=2))
    else:
        print_page(_out, configs_page(finished, result))
        print_text(_out, f"result: {store.folder / CONFIGS_FILE}, report: {file}")
    raise typer.Exit(result.exit_code())


def _print_plan(comparison: ConfigComparison, plan: MatrixPlan, as_json: bool) -> None:
    """In what the files differ, what would be run, and how long it would take."""
    from harness.lab.configs.config_page import differences_table
    from harness.report.page.terminal import print_table

    if as_json:
        print_json(plan.as_json() | {"differences": comparison.differences, "unused": comparison.unused})
        return
    print_table(_out, differences_table(comparison))
    print_text(_out, *plan.lines())
