"""What is said of an application under test: what it made of its inputs, and that it ended by itself."""

from __future__ import annotations

from harness.model.application_meta import ApplicationExit
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult
from harness.model.run import RunMeta
from harness.report.page.blocks import Table, grid
from harness.report.run_times import open_between, since_start
from harness.report.workload_words import Moment, WorkloadWords

MOST_EXITS, _MOST_LETTERS = 3, 160
"""The most exits in a sentence, and the most letters of the last words of each; the report has all."""
_OF_OUTPUTS = (
    FindingClass.UNPROCESSED,
    FindingClass.REPROCESSED,
    FindingClass.REORDERED_OUTPUT,
    FindingClass.PREMATURE,
    FindingClass.INVENTED,
)


def application_sentence(arm: ArmResult) -> str | None:
    """ "at-least-once, 2,000 of 2,000 inputs processed; reprocessed 100", and when it ended by itself; None:
    it has no application, or nothing was counted."""
    application, summary = arm.meta.application, arm.summary
    if application is None or summary is None or summary.inputs is None:
        return None
    number = "an unknown number" if summary.processed is None else f"{summary.processed:,}"
    numbers = ((finding.value, summary.count(finding)) for finding in _OF_OUTPUTS)
    counts = ", ".join(f"{name} {count:,}" for name, count in numbers if count)
    processed = f"{application.guarantee}, {number} of {summary.inputs:,} inputs processed"
    return "; ".join(filter(None, (processed, counts, _exits_in_words(arm.meta))))


def exit_in_words(one: ApplicationExit, meta: RunMeta) -> str:
    """ "instance 0 at 12.30 s with code 1, started again: KeyError: 'id'"."""
    last = one.last_lines.split("\n")[-1].strip()
    words = last if len(last) <= _MOST_LETTERS else f"{last[:_MOST_LETTERS]}..."
    again = ", started again" if one.again else ""
    at = f"{(one.at_ns - meta.started_ns) / 1e9:.2f} s"
    return f"instance {one.instance} at {at} with code {one.code}{again}: {words}"


def exits_of(meta: RunMeta) -> tuple[ApplicationExit, ...]:
    """The exits of the run's application, if it has one."""
    return meta.application.exits if meta.application is not None else ()


def _exits_in_words(meta: RunMeta) -> str:
    """ "ended by itself 2 times: instance ..."; empty: it did not."""
    ends = exits_of(meta)
    if not ends:
        return ""
    shown = "; ".join(exit_in_words(end, meta) for end in ends[:MOST_EXITS])
    more = f"; and {len(ends) - MOST_EXITS} more" if len(ends) > MOST_EXITS else ""
    return f"ended by itself {len(ends):,} time{'s' * (len(ends) > 1)}: {shown}{more}"


def exits(meta: RunMeta) -> Table:
    """The ends of an application's instances that were their own."""
    rows = (
        {
            "instance": str(end.instance),
            "at": since_start(end.at_ns, meta),
            "code": str(end.code),
            "started again": "yes" if end.again else "no",
            "faults open then": open_between(end.at_ns, end.at_ns + 1, meta),
            "last lines": "\n".join(line.strip() for line in end.last_lines.split("\n")),
        }
        for end in exits_of(meta)
    )
    return Table(*grid(rows), title="The application ended by itself", cards=True)


APPLICATION = WorkloadWords(
    "application",
    sentence=application_sentence,
    moments=lambda meta: tuple(
        Moment(end.at_ns, f"ended by itself: {exit_in_words(end, meta)}") for end in exits_of(meta)
    ),
    events=lambda meta: (exits(meta),),
)
