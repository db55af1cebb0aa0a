"""The command that searches for failures by itself: explore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import (
    ERRORS,
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
from harness.model.progress import report_progress
from harness.model.secrets import this_command

_out = console(140)


def explore(
    menu: Annotated[Path | None, typer.Option(help="ordinary, groups, share-groups, or a file.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time in total: 20m (default), 1h, ...")] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Number of runs in total, instead of a time.")
    ] = None,
    seed: SeedOption = None,
    confirm: Annotated[
        str | None, typer.Option(help="K/N: a schedule fails when K of N runs of it do; default 2/3.")
    ] = None,
    shrink_share: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of the budget for shrinking; default 0.6.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Resume the exploration in this folder; finished runs are not made again."),
    ] = None,
    results: ResultsOption = Path("results"),
    kafka_version: Annotated[str | None, typer.Option(help="Kafka version.")] = None,
    image: Annotated[str | None, typer.Option(help="Broker image.")] = None,
    profile: ProfileOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what can be explored.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print the built-in menu, to start your own.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of menu files.")] = False,
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
    from harness.cli.progress import show_progress
    from harness.cli.results import indexed
    from harness.explore.explorer import run_exploration
    from harness.explore.menu import BUILT_IN, MENU
    from harness.explore.page import explore_page, lines, write_pages
    from harness.explore.plan import ExploreOptions, plan_exploration
    from harness.explore.result import ExploreStore, load_result
    from harness.page.terminal import print_page

    if show or schema:
        typer.echo(MENU.builtin_text(BUILT_IN) if show else MENU.schema_text(), nl=False)
        return
    chosen_seed = seed_or_now(seed)
    options = ExploreOptions(menu, budget, runs, seed, confirm, shrink_share, kafka_version, image, profile)
    plan = plan_exploration(options, resume, chosen_seed)
    if dry_run:
        for line in plan.lines():
            print_text(_out, line)
        return
    again = ("--seed", str(chosen_seed)) if seed is None and resume is None else ()
    store = ExploreStore(resume) if resume is not None else ExploreStore.created(results, plan.menu.name)
    if not quiet:
        print_text(ERRORS, f"results: {store.folder}")
    with interruptible(f"go on: kafka-chaos explore --resume {store.folder}"):
        try:
            with store.locked(), show_progress(ERRORS, quiet):
                report_progress(plan.lines()[-1])
                result = run_exploration(plan, store, this_command(*again))
        except KeyboardInterrupt:
            kept = load_result(store.folder)
            write_pages(kept, store.folder)
            for line in lines(kept):
                print_text(ERRORS, line)
            raise
    with indexed(store.folder.resolve().parent):
        file = write_pages(result, store.folder)
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        print_page(_out, explore_page(result))
        print_text(_out, f"result: {store.folder / 'result.json'}, report: {file}")
    raise typer.Exit(result.exit_code())
