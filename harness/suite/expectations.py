"""What is expected of a finished run: a question to it, and the answers that will do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.model.frozen import Frozen
from harness.suite.run_evidence import EvidenceMissing, FinishedRun


@dataclass(frozen=True)
class Expectation:
    """`look` gives what was seen, in words, and whether it is as expected (None: that cannot be told);
    `measure` the same as a number, where it is one."""

    what: str
    expected: str
    look: Callable[[FinishedRun], tuple[str, bool | None]]
    given: bool = False
    measure: Callable[[FinishedRun], float] | None = None

    def observe(self, run: FinishedRun) -> Observation:
        """Never raises for what the run lacks: then it could not be told."""
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
    """The same as something that must be so for the rest to mean anything."""
    return replace(expectation, given=True)


def exactly(what: str, expected: object, of: Callable[[FinishedRun], object]) -> Expectation:
    """What is found equals what is expected."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        found = of(run)
        return format_value(found), found == expected

    return Expectation(what, format_value(expected), look)


def between(
    what: str, least: float, most: float | None, of: Callable[[FinishedRun], float], unit: str = ""
) -> Expectation:
    """A number lies between two others, both included (`most` None: no limit)."""
    after = f" {unit}" if unit else ""
    expected = f"{least:g} to {most:g}{after}" if most is not None else f"at least {least:g}{after}"
    expected = f"at most {most:g}{after}" if most is not None and least <= 0 else expected

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        found = of(run)
        words = f"{found:,}" if isinstance(found, int) else f"{found:.1f}"
        return words + after, least <= found and (most is None or found <= most)

    return Expectation(what, expected, look, measure=of)


def format_value(value: object) -> str:
    """A value in words: numbers with commas, sets and mappings in order."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {format_value(one)}" for key, one in value.items()) or "none"
    if isinstance(value, (set, frozenset)):
        return ", ".join(format_value(one) for one in sorted(value)) or "none"
    if isinstance(value, (tuple, list)):
        return " ".join(
            f"({format_value(one)})" if isinstance(one, (tuple, list)) else format_value(one) for one in value
        )
    return str(value)


class Observation(Frozen):
    """One thing that was expected, and what was seen instead. `ok` None: it could not be told.

    `given`: what must be so for the rest to mean anything; if it is not, nothing was shown. `number`: what
    was seen, where that is a measure.
    """

    what: str
    expected: str
    seen: str
    ok: bool | None
    given: bool = False
    number: float | None = None
