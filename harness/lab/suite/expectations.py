"""What is expected of a finished run: how a run is observed, and which observations are as expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.lab.suite.run_evidence import EvidenceMissing, FinishedRun
from harness.model.frozen import Frozen


class Observation(Frozen):
    """What was expected and what was seen. `ok` None: the run does not hold the evidence.

    `given`: it is a precondition; if it is not met, nothing was shown. `number`: what was seen, if that is a
    measurement.
    """

    what: str
    expected: str
    seen: str
    ok: bool | None
    given: bool = False
    number: float | None = None


@dataclass(frozen=True)
class Expectation:
    """`look` returns what was seen, as text, and whether it is as expected (None: unknown). `measure` returns
    the same as a number, if it is one."""

    what: str
    expected: str
    look: Callable[[FinishedRun], tuple[str, bool | None]]
    given: bool = False
    measure: Callable[[FinishedRun], float] | None = None

    def observe(self, run: FinishedRun) -> Observation:
        """Look at a run. If the run lacks the evidence, `ok` is None and `seen` says what is missing."""
        number = None
        try:
            seen, ok = self.look(run)
            number = None if self.measure is None else round(self.measure(run), 3)
        except EvidenceMissing as error:
            seen, ok = str(error), None
        return Observation(
            what=self.what, expected=self.expected, seen=seen, ok=ok, given=self.given, number=number
        )


def precondition(expectation: Expectation) -> Expectation:
    """The same expectation as a precondition: if it is not met, the run shows nothing."""
    return replace(expectation, given=True)


def exactly(what: str, expected: object, of: Callable[[FinishedRun], object]) -> Expectation:
    """The value that `of` finds in a run equals the expected one."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        value = of(run)
        return format_value(value), value == expected

    return Expectation(what, format_value(expected), look)


def between(
    what: str, least: float, most: float | None, of: Callable[[FinishedRun], float], unit: str = ""
) -> Expectation:
    """The number that `of` finds in a run lies between two others, both included (`most` None: no limit)."""
    after = f" {unit}" if unit else ""
    expected = f"{least:g} to {most:g}{after}" if most is not None else f"at least {least:g}{after}"
    expected = f"at most {most:g}{after}" if most is not None and least <= 0 else expected

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        value = of(run)
        text = f"{value:,}" if isinstance(value, int) else f"{value:.1f}"
        return text + after, least <= value and (most is None or value <= most)

    return Expectation(what, expected, look, measure=of)


def format_value(value: object) -> str:
    """A value as text: numbers with commas, sets and mappings as lists."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {format_value(item)}" for key, item in value.items()) or "none"
    if isinstance(value, (set, frozenset)):
        return ", ".join(format_value(item) for item in sorted(value)) or "none"
    if isinstance(value, (tuple, list)):
        return " ".join(
            f"({format_value(item)})" if isinstance(item, (tuple, list)) else format_value(item)
            for item in value
        )
    return str(value)
