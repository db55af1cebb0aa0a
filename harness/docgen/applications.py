"""The page of what applications under test were seen to do, made from run folders.

`docs/applications.md` has one row per built-in application, guarantee and experiment. The numbers come from
`docs/applications.json`, one entry per run on real brokers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from checkers import judge
from harness.docgen import files
from harness.model.frozen import Frozen
from harness.model.result import FindingClass, Summary
from harness.model.run import RunMeta
from harness.page.markdown import table
from harness.spec.experiment import Experiment

FOLDER, SUFFIXES = files.DOCS, ()
_EVIDENCE = FOLDER / "applications.json"
_SPEC_FILE = "experiment.json"
_COUNTED = ("inputs", "unprocessed", "reprocessed")
_HEADER = ("application", "guarantee", "what happens", *_COUNTED, "verdict", "runs")


class SeenRun(Frozen):
    """One run of a built-in application: `what` happened, and what came of its inputs."""

    run_id: int
    application: str
    guarantee: str
    experiment: str
    arm: str
    what: str
    inputs: int
    unprocessed: int
    reprocessed: int
    verdict: str

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Runs with the same values are one row."""
        return self.application, self.experiment, self.arm, self.guarantee


def pages() -> dict[str, str]:
    """The text of the page by its name."""
    return {"applications.md": files.render("applications.md.j2", result_table=result_table(_saved()))}


def result_table(runs: Sequence[SeenRun]) -> str:
    """The table, one line per row."""
    ordered = sorted(runs, key=lambda run: run.row)
    return table(_HEADER, [_cells(list(same)) for _, same in groupby(ordered, key=lambda run: run.row)])


def _cells(runs: Sequence[SeenRun]) -> tuple[str, ...]:
    first = runs[0]
    verdicts = Counter(run.verdict for run in runs)
    return (
        first.application,
        first.guarantee,
        first.what,
        *(_span([getattr(run, name) for run in runs]) for name in _COUNTED),
        ", ".join(f"{word} {count}" if len(verdicts) > 1 else word for word, count in verdicts.most_common()),
        str(len(runs)),
    )


def _span(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,}-{most:,}"


def seen_below(folder: Path) -> Iterator[SeenRun]:
    """The runs of built-in applications below a folder; interrupted ones and those of another version are
    left out."""
    for run, meta, summary in files.runs_below(folder):
        try:
            experiment = Experiment.model_validate_json((run.parent / _SPEC_FILE).read_text())
        except (OSError, ValueError):
            continue
        seen = seen_run(meta, summary, experiment)
        if seen is not None:
            yield seen


def seen_run(meta: RunMeta, summary: Summary, experiment: Experiment) -> SeenRun | None:
    """What one run has shown; None: it had no built-in application, or shows nothing."""
    arm = next((one for one in experiment.arms if one.name == meta.arm), None)
    if arm is None:
        return None
    application = experiment.application_of(arm)
    if application is None or application.run.builtin is None or summary.inputs is None:
        return None
    verdict = judge(meta, summary).verdict.value
    if meta.application is not None and meta.application.failed:
        verdict += ", it stopped with an error"
    what = experiment.title
    if (meta.arm == "no-fault" or arm.without_faults) and "without a fault" not in what:
        what += ": the same without a fault"
    alone = len(experiment.arms) == 1 or meta.arm in (application.guarantee, "no-fault")
    return SeenRun(
        run_id=meta.run_id,
        application=application.run.builtin,
        guarantee=application.guarantee,
        experiment=meta.experiment,
        arm=meta.arm,
        what=what if alone else f"{what} ({meta.arm})",
        inputs=summary.inputs,
        unprocessed=summary.count(FindingClass.UNPROCESSED),
        reprocessed=summary.count(FindingClass.REPROCESSED),
        verdict=verdict,
    )


def _saved() -> tuple[SeenRun, ...]:
    return tuple(SeenRun.model_validate(entry) for entry in files.saved(_EVIDENCE, []))


def merged(known: Iterable[SeenRun], newer: Iterable[SeenRun]) -> list[SeenRun]:
    """Every run once, in the order of the rows."""
    return sorted(
        {run.run_id: run for run in (*known, *newer)}.values(), key=lambda run: (run.row, run.run_id)
    )


def take(folders: Sequence[Path], *, more: bool) -> None:
    """Count the runs below these folders, beside those that the page counts if `more`."""
    newer = [run for folder in folders for run in seen_below(folder)]
    entries = [run.model_dump(mode="json") for run in merged(_saved() if more else (), newer)]
    _EVIDENCE.write_text(json.dumps(entries, indent=1) + "\n")
