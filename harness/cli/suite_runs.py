"""What `kafka-chaos claims` and `kafka-chaos bugs` do: list the items of a suite, or run them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import typer
from rich.console import Console

from harness.check_jobs.recheck import check_commands
from harness.cli.options import (
    ERRORS,
    WIDE,
    console,
    kept,
    print_json,
    print_text,
    seed_or_now,
    show_progress,
)
from harness.cli.results import indexed
from harness.lab.suite.judge import exit_code
from harness.lab.suite.model import Item, SuiteItem, SuiteResult, choose
from harness.lab.suite.page import listing, outcome, write_page
from harness.lab.suite.runner import run_items
from harness.lab.suite.versions import VersionTable, in_order, items_for
from harness.model.config.yaml_files import SUFFIXES, FileKind
from harness.model.errors import BadInput
from harness.model.host.fetched import NotInRepository
from harness.model.journal import RUN_FILE
from harness.model.secrets import this_command
from harness.report.page.terminal import print_blocks, print_table
from harness.run.executor import Options
from workloads.applications.launch import prepare

Adapted = TypeVar("Adapted", bound=SuiteItem)


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """The options that both commands have."""

    listed: bool
    repeat: int
    seed: int | None
    results: Path
    side_by_side: int
    quiet: bool
    as_json: bool
    versions: str | None = None


def suite_command(
    kind: FileKind[Item],
    items: Sequence[Item],
    names: Sequence[str],
    options: SuiteOptions,
    adapt: Callable[[Item], Adapted],
    move: Callable[[Adapted, str], Adapted],
) -> None:
    """List the chosen items, or run them `repeat` times and print the results; each run leaves a page.

    `items` are the built-in ones, `names` the ids of some of them and files of `kind` (empty: all built-in
    ones). `adapt` changes each item before it is run, and `move` changes that to one of `options.versions`
    (`harness.lab.suite.versions.items_for`).

    Raises:
        BadInput: there is no such item, or a file cannot be used.
        typer.Exit: always after runs, with the exit code.
    """
    out = console(WIDE)
    suite = items[0].suite
    chosen = _chosen(kind, items, names)
    if options.listed:
        if options.as_json:
            print_json([item.to_json() for item in chosen])
        else:
            print_table(out, listing(chosen))
        return
    adapted = [adapt(item) for item in chosen]
    folder = options.results / f"{suite.name}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}"
    first_seed = seed_or_now(options.seed)
    if options.versions is not None:
        versions = in_order(options.versions)
        wanted = {version: items_for(version, adapted, move) for version in versions}
        raise typer.Exit(_on_versions(wanted, adapted, folder, first_seed, options, out))
    done, page = _repeated(adapted, folder, first_seed, options)
    if options.as_json:
        print_json([result.model_dump(mode="json") for result in done])
    else:
        print_blocks(out, outcome(suite, done))
        print_text(out, f"results: {folder}, a page of them: {page.name}")
    raise typer.Exit(exit_code(done))


def _repeated(
    items: Sequence[SuiteItem], folder: Path, seed: int, options: SuiteOptions
) -> tuple[list[SuiteResult], Path]:
    """Run the items as often as asked for; returns all results, and the page of the last run."""
    done: list[SuiteResult] = []
    for turn in range(options.repeat):
        own = folder if options.repeat == 1 else folder / f"{turn + 1:03d}"
        ran = _run(items, own, seed + turn, options)
        with indexed(options.results):
            page = write_page(items, ran, own)
        done += ran
    return done, page


def _on_versions(
    wanted: Mapping[str, tuple[list[Adapted], dict[str, str]]],
    items: Sequence[Adapted],
    folder: Path,
    seed: int,
    options: SuiteOptions,
    out: Console,
) -> int:
    """Run the items on one version after the other, and print the table, which is in versions.json too.

    `wanted` has the items by version, and why others are left out. Returns the exit code over all of them.
    """
    results: dict[str, Sequence[SuiteResult]] = {}
    left_out: dict[tuple[str, str], str] = {}
    for version, (tried, why) in wanted.items():
        released, missing = _released(tried)
        left_out |= {(version, item): reason for item, reason in (why | missing).items()}
        results[version] = _repeated(released, folder / version, seed, options)[0] if released else []
        table = VersionTable(items, results, left_out)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "versions.json").write_text(json.dumps(table.to_json(), indent=2) + "\n")
    if options.as_json:
        print_json(table.to_json())
    else:
        print_blocks(out, table.blocks())
        print_text(out, f"results: {folder}, a folder and a page of each version, and versions.json")
    return exit_code([result for of_version in results.values() for result in of_version])


def _released(items: Sequence[Adapted]) -> tuple[list[Adapted], dict[str, str]]:
    """The items whose applications are in Maven's repository, and what is missing of the others, by id."""
    released, missing = [], {}
    for item in items:
        named = [
            (arm.experiment, own) for arm in item.arms for own in arm.experiment.arms if own.name == arm.arm
        ]
        try:
            for experiment, arm in named:
                if (application := experiment.application_of(arm)) is not None:
                    prepare(application)
        except NotInRepository as error:
            missing[item.id] = error.what
        else:
            released.append(item)
    return released, missing


def print_file(kind: FileKind[Item], name: str | None) -> None:
    """Print the file of the built-in item with this id, or the JSON schema of such files (None).

    Raises:
        BadInput: there is no such item.
    """
    if name is not None and Path(name).suffix in SUFFIXES:
        command = f"kafka-chaos {kind.word}s"
        raise BadInput(
            f"--show prints the file of a built-in {kind.word}",
            expected=f"an id that `{command} --list` shows",
            found=name,
            next_step=f"`{command} {name} --list` says whether a file of your own is valid",
        )
    typer.echo(kind.schema_text() if name is None else kind.builtin_text(name.lower()), nl=False)


def _chosen(kind: FileKind[Item], items: Sequence[Item], names: Sequence[str]) -> Sequence[Item]:
    """The items with these names, ids or files, in order."""
    if not names:
        return items
    chosen: dict[str, Item] = {}
    for name in names:
        path = Path(name)
        if path.suffix not in SUFFIXES and not path.is_file():
            (item,) = choose(items, [name])
        else:
            item = kind.read(path)
            if item.id.lower() in {*kind.builtin_names(), *map(str.lower, chosen)}:
                raise BadInput(
                    f"another {kind.word} has the id {item.id!r}",
                    where=name,
                    expected=f"an id that no built-in {kind.word} and no other file has: it names a folder",
                    next_step="choose another `id`",
                )
        chosen[item.id] = item
    return tuple(chosen.values())


def _run(items: Sequence[SuiteItem], folder: Path, seed: int, options: SuiteOptions) -> list[SuiteResult]:
    """Run items with their files in `folder`; SUITE.json there holds the results so far.

    Raises:
        typer.Exit: interrupted; the results so far are kept.
    """
    name = items[0].suite.name
    file = folder / f"{name}.json"
    done: list[SuiteResult] = []

    def keep(result: SuiteResult) -> None:
        # At once: an interruption loses no result that is complete.
        done.append(result)
        _save(done, file)

    try:
        with show_progress(ERRORS, options.quiet):
            how = Options(results=folder, seed=seed, command=this_command())
            results = run_items(items, how, keep, parallel=options.side_by_side)
    except KeyboardInterrupt:
        there = f"kafka-chaos: interrupted; {len(done)} of {len(items)} {name} are in {file}"
        folders = (path.parent.parent for path in sorted(folder.rglob(RUN_FILE)))
        read = kept(check_commands(dict.fromkeys(folders)))
        print_text(ERRORS, f"{there}; {read}" if read else there)
        raise typer.Exit(130) from None
    _save(results, file)
    return results


def _save(results: Sequence[SuiteResult], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps([result.model_dump(mode="json") for result in results], indent=2)
    file.write_text(text + "\n")
