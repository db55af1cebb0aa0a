"""Expectations on the verdict of a run, as the check gives it."""

from __future__ import annotations

from collections.abc import Callable

from harness.lab.suite.expectations import Expectation
from harness.lab.suite.run_evidence import FinishedRun
from harness.model.finding_class import FindingClass
from harness.model.result import VerdictWord


def invalid_for(finding: FindingClass) -> Expectation:
    """The check calls the run invalid, for this finding among others."""
    return _verdict(
        f"invalid: {finding.value}", lambda run: _word(run) is VerdictWord.INVALID and run.count(finding) > 0
    )


def valid() -> Expectation:
    """The check calls the run valid."""
    return _verdict("valid", lambda run: _word(run) is VerdictWord.VALID)


def free_of(finding: FindingClass) -> Expectation:
    """The run has no such finding; findings that the set-up alone causes are allowed."""
    return _verdict(f"no {finding.value}", lambda run: run.count(finding) == 0)


def counted(finding: FindingClass, least: int, most: int | None = None) -> Expectation:
    """The number of findings of a class that breaks no promise, with the verdict."""
    bounds = f"at least {least:,}" if most is None else f"{least:,} to {most:,}"

    def of(run: FinishedRun) -> tuple[str, bool]:
        count = run.count(finding)
        return f"{_word(run)}: {finding.value} {count:,}", least <= count and (most is None or count <= most)

    return Expectation("verdict", f"{finding.value} {bounds}", of)


def _verdict(expected: str, holds: Callable[[FinishedRun], bool]) -> Expectation:
    return Expectation("verdict", expected, lambda run: (verdict_of(run), holds(run)))


def verdict_of(run: FinishedRun) -> str:
    """The verdict, and the findings by class: `invalid: aborted_read 1`."""
    findings = [f"{finding.value} {count:,}" for finding, count in sorted(run.summary.findings.items())]
    broken = ", ".join(text for text in findings if not text.startswith("recovered"))
    word = _word(run)
    return f"{word}: {broken}" if broken and word is not VerdictWord.VALID else str(word)


def _word(run: FinishedRun) -> VerdictWord:
    return run.result.judgement.verdict
