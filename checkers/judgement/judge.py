"""The verdict of a run, and whether its arm kept the experiment's promise. Pure functions of the counts."""

from __future__ import annotations

from checkers.judgement.promise import IDLE, Bound, bounds_of, parse_promise, ruled_out
from harness.model.finding_class import Breaks, FindingClass
from harness.model.journal import SendOutcome
from harness.model.result import (
    ABORTED_INPUT,
    DOUBTFUL_REPORTS,
    FALSE_REPORTS,
    INPUT_NOT_IN_LOG,
    BrokenPromise,
    Judgement,
    Summary,
    VerdictWord,
)
from harness.model.run import RunMeta


def judge(meta: RunMeta, summary: Summary | None) -> Judgement:
    """The verdict of one run, and whether it kept its promise.

    `unknown` comes first: a run that cannot be trusted proves neither loss nor its absence. `invalid` means
    that something was found which the settings rule out; which classes those are, and when, is
    `FindingClass.breaks` (`Breaks.WHEN_ORDERED`: idempotence, or one request in flight). Else `valid`, or
    `unknown` where a fault hit nothing of the run. A loss can be promised (a control arm): then the run is
    `invalid` and yet as promised.

    Args:
        summary: counts of the check, None if there was no check (the run's problems say why).
    """
    unknown = _unknown_reasons(meta, summary)
    if summary is None or unknown:
        return Judgement(verdict=VerdictWord.UNKNOWN, reasons=tuple(unknown), as_promised=None)
    bounds = {
        finding: bound if bound.step is None else Bound.exactly(summary.acked_by_step[bound.step])
        for finding, bound in bounds_of(meta).items()
    }
    broken = tuple(
        BrokenPromise(
            finding=finding, promised=_promise_text(meta, finding, bound), seen=summary.count(finding)
        )
        for finding, bound in bounds.items()
        if not bound.holds(summary.count(finding))
    )
    violations = _violations(meta, summary, bounds)
    if not violations and summary.idle_faults and meta.promise.get(IDLE) != "any":
        return Judgement(verdict=VerdictWord.UNKNOWN, reasons=(_idle(summary),), as_promised=None)
    return Judgement(
        verdict=VerdictWord.INVALID if violations else VerdictWord.VALID,
        reasons=tuple(violations or _valid_reasons(meta, summary)),
        as_promised=not broken,
        promise_reasons=tuple(map(str, broken)),
        broken_promises=broken,
    )


def _unknown_reasons(meta: RunMeta, summary: Summary | None) -> list[str]:
    """Reasons why the verdict of this run is unknown; empty if there are none."""
    reasons = []
    if summary is None:
        reasons.append("the journals were not checked")
    if not meta.finished:
        reasons.append("the run did not finish")
    reasons += meta.problems
    if meta.final_read is None:
        reasons.append("there was no final read")
    elif not meta.final_read.complete:
        why = "; ".join(meta.final_read.reasons) or "no reason was given"
        reasons.append(f"the final read is not complete: {why}")
    reasons += [
        f"fault {window.name} was not shown to take effect" for window in meta.windows if not window.verified
    ]
    reasons += _application_reasons(meta)
    if summary is None:
        return reasons
    reasons += summary.problems
    if summary.sent == 0:
        reasons.append("nothing was sent")
    reasons += [
        f"the promise on {key} names the write step '{step}', which the run did not get to"
        for key, text in meta.promise.items()
        if (step := parse_promise(text).step) is not None and step not in summary.acked_by_step
    ]
    if meta.final_read is None or not meta.read_began:
        return reasons
    unexamined = 0 if meta.final_read.attested else summary.lost_unexamined
    for count, why in (
        (summary.lost_held_by_leader, " but in the leader's own files: the read is at fault"),
        (unexamined, ", and no replica's own files were examined"),
    ):
        if count:
            absent = _count_phrase(count, "acknowledged records are absent from the read")
            reasons.append(absent + why)
    return reasons


def _idle(summary: Summary) -> str:
    """Why a run in which nothing was found proves nothing all the same."""
    were = "it was" if len(summary.idle_faults) == 1 else "they were"
    return (
        f"{', '.join(summary.idle_faults)} hit nothing of this arm: no record was sent, waited for or read "
        f"while {were} open (`promise: {{{IDLE}: any}}` allows that)"
    )


def _application_reasons(meta: RunMeta) -> list[str]:
    """Reasons why it is not known whether the outputs of an application are right."""
    application = meta.application
    if application is None:
        return []
    reasons = list(application.problems)
    if not (application.drained or application.failed or reasons):
        reasons.append("the application was not drained, so what it left out is not known")
    if not application.read_complete and not application.problems:
        reasons.append("the application's output was not read to its end, so what it left out is not known")
    return reasons


def _violations(meta: RunMeta, summary: Summary, bounds: dict[FindingClass, Bound]) -> list[str]:
    """What was found that the settings rule out: the reasons of an invalid verdict."""
    held = meta.final_read.held if meta.final_read is not None else ()
    violations = [
        f"a transaction hangs, long after transaction.timeout.ms: readers of committed records get nothing "
        f"of partition {partition} from offset {offset} on"
        for _, partition, offset in held
    ]
    reasons = ruled_out(meta)
    for finding in sorted(FindingClass, key=lambda kind: list(Breaks).index(kind.breaks)):
        count, reason = summary.count(finding), reasons.get(finding.breaks)
        if not count or finding.breaks is Breaks.NEVER:
            continue
        phrase = _count_phrase(count, finding.reason)
        if finding is FindingClass.PREMATURE and summary.premature_places:
            violations += [
                _count_phrase(number, _PREMATURE.get(place, finding.reason))
                for place, number in summary.premature_places.items()
            ]
        elif finding is FindingClass.LOST and summary.lost_places:
            places = ", ".join(f"{number:,} {place}" for place, number in summary.lost_places.items())
            violations += [f"{phrase} ({places})", *_false_reports(summary)]
        elif finding.breaks is Breaks.ALWAYS:
            violations.append(phrase)
        elif reason:
            violations.append(f"{phrase}, though {reason}")
        elif bounds[finding].exceeded(count):
            violations.append(
                f"{phrase}, the experiment allows {_promise_text(meta, finding, bounds[finding])}"
            )
    return violations


def _false_reports(summary: Summary) -> list[str]:
    """That success reports name one offset, where at most one of one leader epoch can be true."""
    words = {
        FALSE_REPORTS: "more success reports name the offset than there were leader epochs, each of which "
        "gives an offset away once, so some are false: look at the client and its sequence numbers",
        DOUBTFUL_REPORTS: "several success reports name the offset, of which at most one can be true in one "
        "leader epoch: unless the leader changed between them, look at the client and its sequence numbers",
    }
    return [
        f"{summary.same_offset[doubt]:,} of the lost records: {why}"
        for doubt, why in words.items()
        if summary.same_offset.get(doubt)
    ]


def _valid_reasons(meta: RunMeta, summary: Summary) -> list[str]:
    """The reasons of a valid verdict: what the run has shown."""
    acked = summary.outcomes.get(SendOutcome.ACKED, 0)
    duplicates = summary.count(FindingClass.DUPLICATE)
    expired, compacted = summary.count(FindingClass.EXPIRED), summary.count(FindingClass.COMPACTED)
    shown = []
    source = meta.application.source if meta.application is not None else "topic"
    if acked and source != "topic":
        shown.append(f"the application's {source} has taken {acked:,} records")
    elif acked:
        gone = expired + compacted
        read_back = f"{acked - gone:,} of {acked:,}" if gone else f"all {acked:,}"
        once = "" if duplicates else ", once each"
        why = " or were ".join(
            word for word, count in (("had expired", expired), ("compacted", compacted)) if count
        )
        rest = f"; the rest {why if expired else f'were {why}'}" if gone else ""
        shown.append(f"{read_back} acknowledged records were read back{once}{rest}")
    for finding in (FindingClass.REORDERED, FindingClass.DUPLICATE):
        if count := summary.count(finding):
            unordered = meta.order == "none" and finding is FindingClass.REORDERED
            allowed = "`own: {order: none}` allows" if unordered else "the settings allow"
            shown.append(f"{_count_phrase(count, finding.reason)}, as {allowed}")
    if summary.inputs is not None and summary.processed is not None:
        complete = summary.processed == summary.inputs
        processed = f"all {summary.inputs:,}" if complete else f"{summary.processed:,} of {summary.inputs:,}"
        again = summary.count(FindingClass.REPROCESSED)
        twice = f"{again:,} more than they should" if again else "none twice"
        shown.append(f"{processed} inputs have their outputs, {twice}")
    unconfirmed = summary.outcomes.get(SendOutcome.UNCONFIRMED, 0)
    if unconfirmed:
        absent = summary.count(FindingClass.UNCONFIRMED_ABSENT)
        shown.append(f"{unconfirmed - absent:,} of {unconfirmed:,} unconfirmed records were read back")
    return shown or ["nothing was acknowledged, so nothing could be lost"]


def _count_phrase(count: int, plural: str) -> str:
    """ "3 records are lost", "1 record is lost"; "2 times a reader ...", "1 time a reader ..."."""
    if count == 1:
        for many, one in _SINGULAR:
            plural = plural.replace(many, one, 1)
    return f"{count:,} {plural}"


_PREMATURE = {
    ABORTED_INPUT: "inputs have outputs though their transactions were aborted",
    INPUT_NOT_IN_LOG: "inputs have outputs but are not, or no longer, in the log",
}
"""What is wrong with premature outputs, by their `place`."""
_SINGULAR = (
    ("records are", "record is"),
    ("times", "time"),
    ("outputs are", "output is"),
    ("inputs have outputs but are", "input has outputs but is"),
    ("inputs have outputs though their transactions were", "input has outputs though its transaction was"),
    ("inputs have outputs that they must", "input has outputs that it must"),
    ("inputs have more outputs than they should", "input has more outputs than it should"),
    ("inputs have their", "input has its"),
    ("inputs have", "input has"),
)
"""Plural phrases of `FindingClass.reason` and `_PREMATURE` with their singular, tried in this order."""


def _promise_text(meta: RunMeta, finding: FindingClass, bound: Bound) -> str:
    """The promise as written, followed by its number if it names a step."""
    text = meta.promise.get(finding.value, "0")
    return f"{text} ({bound.high:,})" if text.startswith("acked") else text
