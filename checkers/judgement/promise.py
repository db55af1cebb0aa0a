"""The promises of an experiment about an arm: bounds on the number of findings of each class."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from harness.model.application_meta import Guarantee
from harness.model.errors import BadInput, did_you_mean
from harness.model.finding_class import Breaks, FindingClass
from harness.model.run import RunMeta

IDLE = "idle"
"""The only promise that is not about findings: `idle: any` allows faults that hit nothing of the arm."""
FORMS = '"0", "12", ">= 1", "<= 5", "any" or "acked in STEP"'


@dataclass(frozen=True, slots=True)
class Bound:
    """The promised number of findings of a class: `low` to `high`, both included (`high` None: no limit).

    With `step` both are the number of records acknowledged in that write step, known only after the run.
    """

    low: int = 0
    high: int | None = None
    step: str | None = None

    @classmethod
    def exactly(cls, count: int) -> Bound:
        return cls(count, count)

    def exceeded(self, count: int) -> bool:
        return self.high is not None and count > self.high

    def holds(self, count: int) -> bool:
        return count >= self.low and not self.exceeded(count)


def parse_promise(text: str) -> Bound:
    """Read "0", "N", ">= N", "<= N", "any" or "acked in STEP".

    Raises:
        BadInput: it is none of these.
    """
    text = text.strip()
    if text == "any":
        return Bound()
    step = re.fullmatch(r"acked in\s+(\S.*)", text)
    if step:
        return Bound(step=step.group(1))
    number = re.fullmatch(r"(>=|<=)?\s*(\d+)", text, re.ASCII)
    if number is None:
        raise BadInput(
            "a promise cannot be read",
            expected=FORMS,
            found=repr(text),
            next_step="write how many findings of the class the arm may have",
        )
    count = int(number.group(2))
    low = 0 if number.group(1) == "<=" else count
    return Bound(low, None if number.group(1) == ">=" else count)


def check_promise(mapping: Mapping[str, str], step_names: Collection[str]) -> None:
    """Check that a promise names existing classes and steps, in a form that can be read.

    Args:
        mapping: finding class to promise, as written in the experiment.
        step_names: names of the experiment's write steps.

    Raises:
        BadInput: the first thing that is wrong, with the nearest name that would be right.
    """
    classes = [*(finding.value for finding in FindingClass), IDLE]
    for key, text in mapping.items():
        if key == IDLE and text.strip() != "any":
            raise BadInput(
                "the promise on faults that hit nothing is not a number",
                where=f"promise.{key}",
                expected='"any": such faults are allowed',
                found=repr(text),
                next_step="write `idle: any`, or leave it out: then the verdict of such a run is unknown",
            )
        if key not in classes:
            raise BadInput(
                "a promise is made about an unknown class of findings",
                where=f"promise.{key}",
                expected=f"one of {', '.join(classes)}",
                found=repr(key),
                next_step=did_you_mean(key, classes, "name a class from the list"),
            )
        try:
            bound = parse_promise(text)
        except BadInput as error:
            error.where = f"promise.{key}"
            raise
        if bound.step is not None and bound.step not in step_names:
            raise BadInput(
                "a promise names a write step that the experiment does not have",
                where=f"promise.{key}",
                expected=f"one of {', '.join(step_names) or '(it has none)'}",
                found=repr(bound.step),
                next_step=did_you_mean(bound.step, step_names, "name a write step of the experiment"),
            )


_RULED_OUT_BY: dict[Breaks, tuple[Guarantee, ...]] = {
    Breaks.UNLESS_AT_MOST_ONCE: ("at-least-once", "exactly-once"),
    Breaks.UNLESS_AT_LEAST_ONCE: ("at-most-once", "exactly-once"),
}
"""The guarantees of an application that rule findings out: that it gives an output for every input, and none
twice."""


def ruled_out(meta: RunMeta) -> dict[Breaks, str]:
    """When a finding breaks the verdict of this run because its settings rule it out, and which setting does.

    Idempotence, and one request in flight, keep the records of one producer and partition in order (Kafka
    documentation, Producer Configs, `enable.idempotence` and `max.in.flight.requests.per.connection`), if the
    client numbers them in the order in which it was called (`RunMeta.order`).
    """
    reasons: dict[Breaks, str] = {}
    if meta.idempotent:
        reasons = dict.fromkeys((Breaks.WHEN_IDEMPOTENT, Breaks.WHEN_ORDERED), "the producer is idempotent")
    elif meta.max_in_flight == 1:
        reasons = {Breaks.WHEN_ORDERED: "one request was in flight at a time"}
    if meta.order == "none":
        reasons.pop(Breaks.WHEN_ORDERED, None)
    elif meta.client == "own" and Breaks.WHEN_ORDERED in reasons:
        reasons[Breaks.WHEN_ORDERED] += " and keeps the order of its sends (`own: {order: sent}`)"
    polls = [reader for reader in meta.readers if reader.producer is not None]
    if polls and all(reader.committed for reader in polls):
        reasons[Breaks.WHEN_READ_COMMITTED] = "each had to commit before another could poll its records"
    if meta.application is not None:
        promised = meta.application.guarantee
        reason = f"the application promises {promised}"
        reasons |= {breaks: reason for breaks, by in _RULED_OUT_BY.items() if promised in by}
    return reasons


def bounds_of(meta: RunMeta) -> dict[FindingClass, Bound]:
    """The bounds of every class in this run; a class that its promise does not name has its default.

    Defaults: none where a finding breaks the verdict (`FindingClass.breaks`), always or by `ruled_out`; any
    number of everything else.
    """
    none = {Breaks.ALWAYS, *ruled_out(meta)}
    return {
        finding: parse_promise(meta.promise.get(finding.value, "0" if finding.breaks in none else "any"))
        for finding in FindingClass
    }
