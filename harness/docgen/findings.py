"""The documentation of the classes of findings: definitions from their rules, examples from real runs.

`docs/reference/findings.md` has every class with its definition, its source, and what a run on real
brokers showed of it (`docs/reference/findings.json`, one example per class).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checkers import CLASSES
from harness.docgen import files
from harness.model.fault_times import UNTIL_THE_END
from harness.model.result import FindingClass

FOLDER, SUFFIXES = files.DOCS / "reference", ()
_EVIDENCE = "findings.json"


def pages() -> dict[str, str]:
    """The text of the page by its name."""
    text = files.render("findings.md.j2", checks=CLASSES, examples=_examples(), sentence=_sentence)
    return {"findings.md": text}


def _sentence(example: dict[str, Any], finding: FindingClass) -> str:
    who = "a value that cannot be decoded"
    if example["producer"] is not None and example["seq"] is not None:
        who = f"record {example['seq']:,} of producer {example['producer']}"
    elif example["partition"] is not None:
        who = f"partition {example['partition']}"
    # What the names say is documented at `checkers.evidence.findings.FINDINGS`.
    words = "faults since it was sent:" if finding in UNTIL_THE_END else "during"
    faults = f" ({words} {example['windows']})" if example["windows"] else ""
    return f"{who}: {example['detail']}{faults}."


def examples_below(folder: Path) -> dict[FindingClass, dict[str, Any]]:
    """One example per class from the run folders below `folder`, of the run with the most findings of it."""
    found: dict[FindingClass, dict[str, Any]] = {}
    for _, meta, summary in files.runs_below(folder):
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
                **example.model_dump(include={"producer", "seq", "partition", "windows", "detail"}),
            }
    return found


def _examples() -> dict[FindingClass, dict[str, Any]]:
    saved = files.saved(FOLDER / _EVIDENCE, {})
    return {FindingClass(name): example for name, example in saved.items()}


def take(folders: Sequence[Path], *, more: bool) -> None:  # noqa: ARG001 - older examples stay anyway
    """Keep examples from the run folders below these, in place of older ones of the same classes."""
    examples = _examples()
    for folder in folders:
        examples |= examples_below(folder)
    ordered = {check.finding.value: examples[check.finding] for check in CLASSES if check.finding in examples}
    (FOLDER / _EVIDENCE).write_text(json.dumps(ordered, indent=2) + "\n")
