"""The documentation of the classes of findings: definitions from the checks, examples from real runs.

`docs/findings.md` has every class with its definition, its source, and what a run on real brokers showed of
it (`docs/findings.json`, one example a class).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from checkers.checks import CHECKS, Check
from harness.docgen import files
from harness.model.journal import RUN_FILE, SUMMARY_FILE
from harness.model.result import FindingClass, Summary
from harness.model.run import RunMeta

_DOCS = files.DOCS
_PAGE, _EVIDENCE = "findings.md", "findings.json"
_INTRO = """# Findings

Every record of a run is in at most one of the classes about records: the first that applies, in the order of
this page. The classes about deliveries and replicas, at the end, are counted in addition. `kafka-chaos
findings` prints the list. This page is generated from the docstrings of the checks (`checkers/checks/`); the
examples were found in runs on real brokers.

| class | breaks the verdict | example from a real run |
|---|---|---|
"""


def page() -> str:
    """The text of docs/findings.md."""
    examples = _examples()
    rows = [
        f"| [{check.finding.value}](#{check.finding.value}) | {check.finding.breaks} | "
        f"{'yes' if check.finding in examples else 'none seen yet'} |"
        for check in CHECKS
    ]
    parts = [_INTRO + "\n".join(rows)]
    parts += [_section(check, examples.get(check.finding)) for check in CHECKS]
    return "\n\n".join(parts) + "\n"


def _section(check: Check, example: dict[str, Any] | None) -> str:
    lines = [f"## {check.finding.value}", "", check.definition(), "", f"Source: {check.source()}", ""]
    if example is None:
        lines.append(
            "No run on real brokers has shown it so far; the tests show it in histories made by hand, for "
            f"example: {check.example()}"
        )
        return "\n".join(lines)
    lines += [
        f"Seen in `{example['experiment']}`, arm `{example['arm']}`, Kafka {example['kafka']}, "
        f"{example['count']:,} of {example['sent']:,} sends: {_sentence(example)}"
    ]
    return "\n".join(lines)


def _sentence(example: dict[str, Any]) -> str:
    who = "a value that cannot be decoded"
    if example["producer"] is not None and example["seq"] is not None:
        who = f"record {example['seq']:,} of producer {example['producer']}"
    elif example["partition"] is not None:
        who = f"partition {example['partition']}"
    during = f" (during {example['windows']})" if example["windows"] else ""
    return f"{who}: {example['detail']}{during}."


def examples_below(folder: Path) -> dict[FindingClass, dict[str, Any]]:
    """One example per class from the run folders below `folder`, of the run with the most findings of it."""
    found: dict[FindingClass, dict[str, Any]] = {}
    for meta, summary in _runs(folder):
        for finding, count in summary.findings.items():
            example = next((each for each in summary.examples if each.finding is finding), None)
            if example is None or (finding in found and found[finding]["count"] >= count):
                continue
            found[finding] = {
                "experiment": meta.experiment,
                "arm": meta.arm,
                "kafka": meta.cluster.image.kafka_version,
                "sent": summary.sent,
                "count": count,
                "producer": example.producer,
                "seq": example.seq,
                "partition": example.partition,
                "windows": example.windows,
                "detail": example.detail,
            }
    return found


def _runs(folder: Path) -> Iterator[tuple[RunMeta, Summary]]:
    for path in sorted(folder.glob(f"**/{SUMMARY_FILE}")):
        try:
            meta = RunMeta.model_validate_json((path.parent / RUN_FILE).read_text())
            yield meta, Summary.model_validate_json(path.read_text())
        except (OSError, ValueError):
            # A run of another version, or one that was interrupted: other runs have examples.
            continue


def _examples() -> dict[FindingClass, dict[str, Any]]:
    path = _DOCS / _EVIDENCE
    saved = json.loads(path.read_text()) if path.exists() else {}
    return {FindingClass(name): example for name, example in saved.items()}


def drifted() -> list[str]:
    """The page's name, if it is missing or differs."""
    return files.drifted({_PAGE: page()}, _DOCS, ())


def write() -> list[str]:
    """Write the page if it has drifted; returns the names of the files written."""
    return files.write({_PAGE: page()}, _DOCS, ())


def take(folders: Sequence[Path]) -> None:
    """Keep examples from the run folders below these, in place of older ones of the same classes."""
    examples = _examples()
    for folder in folders:
        examples |= examples_below(folder)
    ordered = {check.finding.value: examples[check.finding] for check in CHECKS if check.finding in examples}
    (_DOCS / _EVIDENCE).write_text(json.dumps(ordered, indent=2) + "\n")
