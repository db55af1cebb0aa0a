"""Files of producers' settings, and comparisons of them whose runs are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.lab.configs.config_plan import finished_comparison, planned_comparison
from harness.lab.configs.config_result import ConfigComparison
from harness.many.matrix.plan import MatrixOptions
from harness.many.matrix.result import MatrixResult, MatrixStore
from tests.support.builders.matrix_results import Draw, drawn_result_of

ACKS = {"one.properties": "acks=1", "all.properties": "acks=all"}
"""Two files that differ in acks."""


def written_files(folder: Path, texts: dict[str, str]) -> list[Path]:
    """The files with these texts, in which `; ` ends a line, below a folder."""
    paths = [folder / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("; ", "\n") + "\n")
    return paths


def drawn_comparison(
    folder: Path,
    draw: Draw,
    *,
    runs: int = 5,
    unknown: int = 0,
    texts: dict[str, str] = ACKS,
    faults: Sequence[str] = ("kill", "pause"),
) -> tuple[ConfigComparison, MatrixResult]:
    """A comparison of files with these texts that is over; the runs are drawn."""
    paths = written_files(folder / "files", texts)
    begun, plan = planned_comparison(paths, faults, None, MatrixOptions(), 4, "kafka-chaos x")
    result = drawn_result_of(plan.spec, plan.arms, draw, 4, runs, unknown)
    return finished_comparison(begun, result, MatrixStore.created(folder, "drawn")), result
