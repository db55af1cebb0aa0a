"""What the pages of claims and of known bugs share: saved runs, and what was expected and seen of an arm."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Generic, Self, TypeVar

from harness.claims.html import MARKS
from harness.model.frozen import Frozen
from harness.report.markdown import cell
from harness.suite.model import ArmNarrative, SuiteResult

Told = TypeVar("Told", bound=SuiteResult)
AnArm = TypeVar("AnArm", bound=ArmNarrative)


class Runs(Frozen, Generic[Told]):
    """Runs of claims or bugs: one list of results a run, the latest last."""

    machine: str = ""
    runs: tuple[tuple[Told, ...], ...] = ()

    def of(self, name: str) -> list[Told]:
        """The results of one claim or bug by its id, run by run."""
        return [result for run in self.runs for result in run if result.id == name]

    @classmethod
    def saved(cls, file: Path) -> Self:
        """What runs have shown so far; nothing, where there is no such file."""
        return cls.model_validate_json(file.read_text()) if file.exists() else cls()

    def save(self, file: Path) -> None:
        """Write the file that `saved` reads."""
        file.write_text(self.model_dump_json(indent=1) + "\n")

    @classmethod
    def taken(cls, files: Sequence[Path], shortened: Callable[[Told], Told]) -> Self:
        """The runs in the files that a command leaves. Pages tell the latest run of each claim or bug only;
        of those before it what was seen is enough: they are kept `shortened`."""
        runs = cls.model_validate({"runs": [json.loads(file.read_text()) for file in files]}).runs
        latest = {result.id: result for run in runs for result in run}
        kernel = ".".join(platform.release().split(".")[:2])
        return cls(
            machine=f"{os.cpu_count()} cores, Linux {kernel}",
            runs=tuple(
                tuple(one if one is latest[one.id] else shortened(one) for one in run) for run in runs
            ),
        )


def without_stories(arms: Iterable[AnArm]) -> tuple[AnArm, ...]:
    return tuple(arm.model_copy(update={"story": ()}) for arm in arms)


def expected_and_seen(arm: ArmNarrative) -> Iterable[str]:
    """A table of what was expected and seen of an arm, and why it proves nothing, as lines of Markdown."""
    yield "| | expected | seen | |"
    yield "|---|---|---|---|"
    for row in arm.rows:
        mark = f"**{MARKS[row.ok]}**" if row.ok is False else MARKS[row.ok]
        what = f"given: {row.what}" if row.given else row.what
        yield f"| {cell(what)} | {cell(row.expected)} | {cell(row.seen)} | {mark} |"
    yield ""
    for doubt in arm.doubts:
        yield f"The run proves nothing: {cell(' '.join(doubt.split()))}"
        yield ""


def text_block(lines: Iterable[str]) -> Iterable[str]:
    """Lines as they are, in Markdown: none of them ends the block."""
    yield "```text"
    yield from (line.replace("```", "'''") for line in lines)
    yield "```"
    yield ""
