"""What an application under test made of its inputs, in a sentence."""

from __future__ import annotations

from harness.model.result import ArmResult, ExperimentResult, FindingClass

_CLASSES = (
    FindingClass.UNPROCESSED,
    FindingClass.REPROCESSED,
    FindingClass.REORDERED_OUTPUT,
    FindingClass.PREMATURE,
    FindingClass.INVENTED,
)


def application_sentence(arm: ArmResult) -> str | None:
    """ "at-least-once, 2,000 of 2,000 inputs processed; reprocessed 100"; None: it has no application."""
    application, summary = arm.meta.application, arm.summary
    if application is None or summary is None or summary.inputs is None or summary.processed is None:
        return None
    counts = [f"{finding.value} {summary.count(finding):,}" for finding in _CLASSES if summary.count(finding)]
    processed = f"{summary.processed:,} of {summary.inputs:,} inputs processed"
    return "; ".join([f"{application.guarantee}, {processed}", *filter(None, [", ".join(counts)])])


def application_lines(result: ExperimentResult) -> list[str]:
    """One line per arm with an application."""
    found = ((arm.folder, application_sentence(arm)) for arm in result.arms)
    return [f"{folder}: {sentence}" for folder, sentence in found if sentence is not None]
