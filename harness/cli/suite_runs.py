"""Carries out claims for a command line: progress lines, results kept as they come."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel
from rich.console import Console

from harness.cli.progress import show_progress
from harness.model.secrets import this_command
from harness.run.executor import Options
from harness.suite.model import Claim, ClaimResult
from harness.suite.runner import run_claims


def turns(results: Path, what: str, repeat: int, seed: int | None) -> tuple[Path, list[tuple[Path, int]]]:
    """A new folder below `results` for runs of `what`, and for each run its own folder and seed."""
    folder = results / f"{what}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}"
    first = int(time.time()) if seed is None else seed
    places = [folder] if repeat == 1 else [folder / f"{turn + 1:03d}" for turn in range(repeat)]
    return folder, [(place, first + turn) for turn, place in enumerate(places)]


def carried_out(
    run: Sequence[Claim],
    place: Path,
    seed: int,
    *,
    quiet: bool,
    what: str,
    side_by_side: int,
    kept: Callable[[ClaimResult], BaseModel] = lambda result: result,
) -> list[ClaimResult]:
    """Run claims with what they leave below `place`; `what`.json there holds the results so far, each as
    `kept` makes it.

    Raises:
        typer.Exit: interrupted; what is there is kept.
    """
    error = Console(stderr=True)
    file = place / f"{what}.json"
    done: list[ClaimResult] = []

    def keep(result: ClaimResult) -> None:
        # At once: whoever interrupts the rest has what is there.
        done.append(result)
        save([kept(one) for one in done], file)

    try:
        with show_progress(error, quiet):
            command = this_command()
            options = Options(results=place, seed=seed, command=command)
            results = run_claims(run, options, keep, side_by_side=side_by_side)
    except KeyboardInterrupt:
        error.print(
            f"kafka-chaos: interrupted; {len(done)} of {len(run)} {what} are in {file}, "
            "journals are kept, `kafka-chaos check` reads them"
        )
        raise typer.Exit(130) from None
    save([kept(one) for one in results], file)
    return results


def as_text(results: Sequence[BaseModel]) -> str:
    """Results as JSON."""
    told: list[Any] = [one.model_dump(mode="json") for one in results]
    return json.dumps(told, indent=2)


def save(results: Sequence[BaseModel], file: Path) -> None:
    """Write results as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(as_text(results) + "\n")
