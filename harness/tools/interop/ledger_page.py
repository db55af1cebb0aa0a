"""What is told on the terminal of two lists of ids."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.finding_class import FindingClass
from harness.model.journal import SendOutcome
from harness.model.result import ExperimentResult

_WORDS = {
    FindingClass.LOST: "acknowledged, and not received",
    FindingClass.DUPLICATE: "received more often than sent",
    FindingClass.RECOVERED: "failed, and received all the same",
    FindingClass.REJECTED_PRESENT: "rejected, and received all the same",
    FindingClass.PHANTOM: "received, and never sent",
}
_LIMITS = (
    "these lists have no offsets, partitions, times and replicas: where and when a record was lost is not "
    "known, and records with one id are not told apart"
)


def ledger_text(result: ExperimentResult) -> Iterator[str]:
    """The counts, the verdict with its reasons, examples, and the limits, one line each."""
    (arm,) = result.arms
    if (summary := arm.summary) is None:
        return
    outcomes = ", ".join(
        f"{summary.outcomes[outcome]:,} {outcome}" for outcome in SendOutcome if outcome in summary.outcomes
    )
    yield f"sent {summary.sent:,}" + (f" ({outcomes})" if outcomes else "") + f", received {summary.reads:,}"
    for finding, words in _WORDS.items():
        yield f"{finding} {summary.count(finding):,}: {words}"
    yield f"verdict: {arm.judgement.verdict}"
    yield from (f"  - {reason}" for reason in (*arm.judgement.promise_reasons, *arm.judgement.reasons))
    yield from (f"  e.g. {example.finding}: {example.detail}" for example in summary.examples)
    yield _LIMITS
    yield f"counted by {summary.engine}"
