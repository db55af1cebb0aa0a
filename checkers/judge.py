"""The verdict of a run, and whether its arm did as the experiment promises. Pure: counts in, words out."""

from __future__ import annotations

from checkers.promise import Bound, bounds_of, check_promise, parse_promise
from harness.model.journal import Outcome
from harness.model.result import FindingClass, Judgement, Summary, VerdictWord
from harness.model.run import RunMeta

__all__ = ["Bound", "check_promise", "judge", "parse_promise"]

_BROKEN = {
    FindingClass.LOST: ("acknowledged", "lost"),
    FindingClass.PHANTOM: ("", "in the log that this run never sent"),
    FindingClass.CORRUPT: ("", "corrupt"),
    FindingClass.MISPLACED: ("", "read from another topic or partition than sent to"),
    FindingClass.REJECTED_PRESENT: ("refused", "in the log all the same"),
}
"""Classes that no setting allows, worst first, and how they read: "3 <adjective> records are <predicate>"."""


def judge(meta: RunMeta, summary: Summary | None) -> Judgement:
    """Verdict and promise of one run.

    `unknown` comes first: what cannot be trusted proves neither loss nor its absence. `invalid` means that
    something was seen which the producer's settings rule out: anything of `_BROKEN`, duplicates of an
    idempotent producer, more duplicates or unconfirmed absences than an explicit promise allows. Else
    `valid`. A loss can be promised (a control arm): then the run is `invalid` and yet as promised.

    Args:
        summary: counts of the check, None if there was no check (the run's problems say why).
    """
    doubts = _doubts(meta, summary)
    if summary is None or doubts:
        return Judgement(verdict=VerdictWord.UNKNOWN, reasons=tuple(doubts), as_promised=None)
    bounds = {
        finding: bound if bound.step is None else Bound.exactly(summary.acked_by_step[bound.step])
        for finding, bound in bounds_of(meta.promise, idempotent=meta.idempotent).items()
    }
    broken = tuple(
        f"{finding.value}: promised {_promised(meta, finding, bound)}, seen {summary.count(finding):,}"
        for finding, bound in bounds.items()
        if not bound.holds(summary.count(finding))
    )
    faults = _faults(meta, summary, bounds)
    return Judgement(
        verdict=VerdictWord.INVALID if faults else VerdictWord.VALID,
        reasons=tuple(faults or _shown(summary)),
        as_promised=not broken,
        promise_reasons=broken,
    )


def _doubts(meta: RunMeta, summary: Summary | None) -> list[str]:
    """Why nothing can be said of this run; empty if something can."""
    doubts = []
    if summary is None:
        doubts.append("the journals were not checked")
    if not meta.finished:
        doubts.append("the run did not finish")
    doubts += meta.problems
    if meta.final_read is None:
        doubts.append("there was no final read")
    elif not meta.final_read.complete:
        why = "; ".join(meta.final_read.reasons) or "no reason was given"
        doubts.append(f"the final read is not complete: {why}")
    doubts += [
        f"fault {window.name} was not shown to take effect" for window in meta.windows if not window.verified
    ]
    if summary is None:
        return doubts
    doubts += summary.problems
    if summary.sent == 0:
        doubts.append("nothing was sent")
    doubts += [
        f"the promise on {key} names the write step '{step}', which the run did not get to"
        for key, text in meta.promise.items()
        if (step := parse_promise(text).step) is not None and step not in summary.acked_by_step
    ]
    if summary.lost_held_by_leader:
        records = _records(summary.lost_held_by_leader, "acknowledged")
        doubts.append(f"{records} absent from the read but in the leader's own files: the read is at fault")
    if summary.lost_unexamined and not (meta.final_read and meta.final_read.attested):
        records = _records(summary.lost_unexamined, "acknowledged")
        doubts.append(f"{records} absent from the read, and no replica's own files were examined")
    return doubts


def _faults(meta: RunMeta, summary: Summary, bounds: dict[FindingClass, Bound]) -> list[str]:
    faults = []
    for finding, (adjective, predicate) in _BROKEN.items():
        count = summary.count(finding)
        if count:
            places = ", ".join(f"{number:,} {place}" for place, number in summary.lost_places.items())
            detail = f" ({places})" if finding is FindingClass.LOST and places else ""
            faults.append(f"{_records(count, adjective)} {predicate}{detail}")
    for finding, adjective, predicate in (
        (FindingClass.DUPLICATE, "", "in the log more than once"),
        (FindingClass.UNCONFIRMED_ABSENT, "unconfirmed", "absent"),
    ):
        count, bound = summary.count(finding), bounds[finding]
        if finding is FindingClass.DUPLICATE and meta.idempotent and count:
            faults.append(f"{_records(count, adjective)} {predicate}, though the producer is idempotent")
        elif bound.exceeded(count):
            allowed = f"the experiment allows {_promised(meta, finding, bound)}"
            faults.append(f"{_records(count, adjective)} {predicate}, {allowed}")
    return faults


def _shown(summary: Summary) -> list[str]:
    """What a valid run has shown."""
    acked = summary.outcomes.get(Outcome.ACKED, 0)
    duplicates, expired = summary.count(FindingClass.DUPLICATE), summary.count(FindingClass.EXPIRED)
    shown = []
    if acked:
        most = f"all {acked:,}" if not expired else f"{acked - expired:,} of {acked:,}"
        once = "" if duplicates else ", once each"
        rest = "; the rest had expired" if expired else ""
        shown.append(f"{most} acknowledged records were read back{once}{rest}")
    if duplicates:
        shown.append(f"{_records(duplicates)} in the log more than once, as the settings allow")
    unconfirmed = summary.outcomes.get(Outcome.UNCONFIRMED, 0)
    if unconfirmed:
        absent = summary.count(FindingClass.UNCONFIRMED_ABSENT)
        shown.append(f"{unconfirmed - absent:,} of {unconfirmed:,} unconfirmed records were read back")
    return shown or ["nothing was acknowledged, so nothing could be lost"]


def _records(count: int, adjective: str = "") -> str:
    noun = f"{adjective} record" if adjective else "record"
    return f"{count:,} {noun} is" if count == 1 else f"{count:,} {noun}s are"


def _promised(meta: RunMeta, finding: FindingClass, bound: Bound) -> str:
    """The promise as written, with the number that a step's name stands for."""
    text = meta.promise.get(finding.value, "0")
    return f"{text} ({bound.high:,})" if text.startswith("acked") else text
