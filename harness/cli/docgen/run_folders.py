"""The pages with what runs on real brokers have shown: examples of findings, and applications under test.

`docs/reference/findings.md` has every class with its definition, its source, and one example from
`docs/reference/findings.json`. `docs/applications.md` has one row per built-in application, guarantee and
experiment, with numbers from `docs/applications.json`, which has one entry per run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from checkers import CLASSES, judge
from harness.cli.docgen import files
from harness.model.fault_times import MAY_HAVE_PASSED, UNTIL_THE_END
from harness.model.finding_class import FindingClass
from harness.model.frozen import Frozen
from harness.model.journal import RUN_FILE, SUMMARY_FILE
from harness.model.result import Summary
from harness.model.run import RunMeta
from harness.report.page.markdown import table
from harness.run.executor import EXPERIMENT_FILE
from harness.spec.experiment import Experiment

_EXAMPLES = files.DOCS / "reference" / "findings.json"
_RUNS = files.DOCS / "applications.json"
_COUNTED = ("inputs", "unprocessed", "reprocessed")
_HEADER = ("application", "guarantee", "what happens", *_COUNTED, "verdict", "runs")


def _runs_below(folder: Path) -> Iterator[tuple[Path, RunMeta, Summary]]:
    """The checked runs below a folder, without interrupted ones and those of another version."""
    for path in sorted(folder.glob(f"**/{SUMMARY_FILE}")):
        try:
            meta = RunMeta.model_validate_json((path.parent / RUN_FILE).read_text())
            summary = Summary.model_validate_json(path.read_text())
        except (OSError, ValueError):
            continue
        yield path.parent, meta, summary


def _findings() -> dict[str, str]:
    values = {"checks": CLASSES, "examples": _saved_examples(), "sentence": _sentence}
    return {"findings.md": files.render("findings.md.j2", **values)}


def _sentence(example: dict[str, Any], finding: FindingClass) -> str:
    who = "a value that cannot be decoded"
    if example["producer"] is not None and example["seq"] is not None:
        who = f"record {example['seq']:,} of producer {example['producer']}"
    elif example["partition"] is not None:
        who = f"partition {example['partition']}"
    # What the names say is documented at `checkers.evidence.findings.FINDINGS`.
    words = "faults since it was sent:" if finding in UNTIL_THE_END else "during"
    words = MAY_HAVE_PASSED if finding is FindingClass.UNPROCESSED else words
    faults = f" ({words} {example['windows']})" if example["windows"] else ""
    return f"{who}: {example['detail']}{faults}."


def examples_below(folder: Path) -> dict[FindingClass, dict[str, Any]]:
    """One example per class from the run folders below `folder`, of the run with the most findings of it."""
    examples: dict[FindingClass, dict[str, Any]] = {}
    for _, meta, summary in _runs_below(folder):
        for finding, count in summary.findings.items():
            example = next((each for each in summary.examples if each.finding is finding), None)
            if example is None or (finding in examples and examples[finding]["count"] >= count):
                continue
            examples[finding] = {
                "experiment": meta.experiment,
                "arm": meta.arm,
                "kafka": meta.cluster.image.kafka_version,
                "sent": summary.sent,
                "count": count,
                **example.model_dump(include={"producer", "seq", "partition", "windows", "detail"}),
            }
    return examples


def _saved_examples() -> dict[FindingClass, dict[str, Any]]:
    return {FindingClass(name): example for name, example in files.saved(_EXAMPLES, {}).items()}


def _take_examples(folders: Sequence[Path], *, more: bool) -> None:  # noqa: ARG001 - older examples stay anyway
    """Keep examples from the run folders below these, in place of older ones of the same classes."""
    examples = _saved_examples()
    for folder in folders:
        examples |= examples_below(folder)
    ordered = {check.finding.value: examples[check.finding] for check in CLASSES if check.finding in examples}
    _EXAMPLES.write_text(json.dumps(ordered, indent=2) + "\n")


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


def _saved_runs() -> list[SeenRun]:
    return [SeenRun.model_validate(entry) for entry in files.saved(_RUNS, [])]


def _applications() -> dict[str, str]:
    return {"applications.md": files.render("applications.md.j2", result_table=result_table(_saved_runs()))}


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


def seen_run(folder: Path, meta: RunMeta, summary: Summary) -> SeenRun | None:
    """What a run has shown; None: nothing, it had no built-in application, or no readable experiment."""
    try:
        experiment = Experiment.model_validate_json((folder.parent / EXPERIMENT_FILE).read_text())
    except (OSError, ValueError):
        return None
    arm = next((candidate for candidate in experiment.arms if candidate.name == meta.arm), None)
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


def merged(known: Iterable[SeenRun], newer: Iterable[SeenRun]) -> list[SeenRun]:
    """Every run once, in the order of the rows."""
    return sorted(
        {run.run_id: run for run in (*known, *newer)}.values(), key=lambda run: (run.row, run.run_id)
    )


def _take_runs(folders: Sequence[Path], *, more: bool) -> None:
    """Count the runs below these folders, beside those that the page counts if `more`."""
    newer = (seen_run(*run) for folder in folders for run in _runs_below(folder))
    runs = merged(_saved_runs() if more else (), filter(None, newer))
    entries = [run.model_dump(mode="json") for run in runs]
    _RUNS.write_text(json.dumps(entries, indent=1) + "\n")


FINDINGS = files.Pages(files.DOCS / "reference", _findings, take=_take_examples)
APPLICATIONS = files.Pages(files.DOCS, _applications, take=_take_runs)
