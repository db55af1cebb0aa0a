"""Whether Apache Spark and Sail count the same in a run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from checkers import EngineChoice, check_run
from harness.check_jobs import engines
from harness.model.errors import KafkaChaosError
from harness.model.journal import SUMMARY_FILE
from harness.model.result import Summary
from harness.model.storage import StoragePath, write_whole

_OWN = {"engine", "check_seconds"}
"""Fields of a summary that are those of one check, not of the run."""
_SHOWN = 5


def compared(folder: StoragePath, first: Summary, results: StoragePath) -> Summary:
    """The summary of a run, whose folder for results is `results`, after a second check by the other engine.
    Each difference, or that the other engine did not answer, is one more problem, so that the verdict is
    unknown; `summary.json` is then written again."""
    other = EngineChoice("spark" if first.engine.startswith("Sail ") else "sail")

    def check() -> Summary:
        choice = engines.require_engine(other).choice
        with tempfile.TemporaryDirectory(prefix="kafka-chaos-second-") as scratch:
            return check_run(lambda: engines.engine(choice).session(), folder, results=Path(scratch))

    found = second_opinion(first, check)
    if found != first:
        write_whole(results / SUMMARY_FILE, found.model_dump_json(indent=2) + "\n")
    return found


def second_opinion(first: Summary, check: Callable[[], Summary]) -> Summary:
    """A summary, with a problem for everything in which that of a second check differs."""
    try:
        problems = differences(first, check())
    except KafkaChaosError as error:
        problems = [f"the counts were not compared with those of a second engine: {error}"]
    return first.model_copy(update={"problems": (*first.problems, *problems)}) if problems else first


def differences(first: Summary, second: Summary) -> list[str]:
    """A sentence for each field in which two summaries of one run differ."""
    ours, theirs = first.model_dump(mode="json"), second.model_dump(mode="json")
    return [
        f"the engines differ in {name}: {_told(ours[name], theirs[name])} by {first.engine}, "
        f"{_told(theirs[name], ours[name])} by {second.engine}"
        for name in ours
        if name not in _OWN and ours[name] != theirs[name]
    ]


def _told(value: Any, other: Any) -> str:
    """A field's value; for a table or list only the entries that the other summary lacks."""
    if isinstance(value, dict):
        other = other or {}
        names = [name for name in {**value, **other} if value.get(name) != other.get(name)]
        return _few([f"{name} {value.get(name, 0)}" for name in names])
    if isinstance(value, list):
        return _few([str(one) for one in value if one not in (other or ())])
    return str(value)


def _few(texts: list[str]) -> str:
    more = len(texts) - _SHOWN
    return "; ".join(texts[:_SHOWN]) + (f"; and {more} more" if more > 0 else "") or "nothing more"
