"""Expectations on log end offsets and high watermarks that brokers report in rounds of questions.

A round asks for leader and ISR, then for high watermarks, then for log end offsets, then for leader and ISR
again. Log end offsets only rise meanwhile, so a high watermark above one of them was really above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.suite.expectations import Expectation, between, exactly
from harness.suite.run_evidence import SECOND, EvidenceMissing, FinishedRun, JournalRow


@dataclass(frozen=True)
class Round:
    """One round in which leader and ISR were the same before and after."""

    at_ns: int
    leader: int
    isr: tuple[int, ...]
    high_watermark: int
    log_ends: dict[int, int]


def rounds(run: FinishedRun, ask: str) -> list[Round]:
    """The rounds of an ask step that can be judged.

    Raises:
        EvidenceMissing: there is none.
    """
    grouped: dict[int, list[JournalRow]] = {}
    for row in run.all_answers:
        if row["ask"] == ask and row["error"] is None:
            grouped.setdefault(row["round"], []).append(row)
    found = [one for rows in grouped.values() for one in _judged(rows)]
    if not found:
        raise EvidenceMissing(f"no round of {ask} can be judged")
    return found


def _judged(rows: list[JournalRow]) -> Iterator[Round]:
    positions = sorted({row["place"] for row in rows if row["question"] == "leader"})
    beliefs = [
        {
            (row["number"], tuple(sorted(row["detail"]["isr"])), row["detail"]["leader_epoch"])
            for row in rows
            if row["place"] == position and row["number"] == row["broker"]
        }
        for position in positions
    ]
    if len(beliefs) != 2 or beliefs[0] != beliefs[1] or len(beliefs[0]) != 1:
        return
    leader, isr, _ = next(iter(beliefs[0]))
    ends = {row["broker"]: row["number"] for row in rows if row["question"] == "log_end"}
    marks = {row["broker"]: row["number"] for row in rows if row["question"] == "high_watermark"}
    if leader in marks and set(isr) <= set(ends):
        yield Round(rows[0]["at_ns"], leader, isr, marks[leader], ends)


def _with_known_isr(found: list[Round]) -> list[Round]:
    """Without rounds before a change of the ISR: the leader acts by its new ISR at once, and its metadata,
    which answers our question, shows it when the record of the change has come back from the controller."""
    return [one for one, after in zip(found, [*found[1:], found[-1]], strict=True) if one.isr == after.isr]


def high_watermark_never_above(asks: tuple[str, ...]) -> Expectation:
    """In no round was the leader's high watermark above the smallest log end offset of the ISR."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        found = [one for ask in asks for one in _with_known_isr(rounds(run, ask))]
        above = sum(one.high_watermark > min(one.log_ends[broker] for broker in one.isr) for one in found)
        return f"{above:,} of {len(found):,}", above == 0 and len(found) >= 25

    return Expectation("rounds with HW above min LEO of the ISR", "0 of 25 or more", look)


def high_watermark_behind(ask: str, isr: tuple[int, ...]) -> Expectation:
    """In every round with this ISR the high watermark was below the leader's log end offset."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        found = [one for one in rounds(run, ask) if one.isr == isr]
        if not found:
            raise EvidenceMissing(f"no round of {ask} with the ISR {isr}")
        below = sum(one.high_watermark < one.log_ends[one.leader] for one in found)
        return f"{below:,} of {len(found):,}", below == len(found)

    return Expectation(f"rounds of {ask} with HW below the leader's LEO", "all, while the ISR is full", look)


def high_watermark_stands_still(ask: str, least: float, most: float) -> Expectation:
    """The longest time in seconds for which the leader's high watermark did not move."""

    def of(run: FinishedRun) -> float:
        longest = 0
        since, mark = 0, -1
        for one in rounds(run, ask):
            if one.high_watermark != mark:
                since, mark = one.at_ns, one.high_watermark
            longest = max(longest, one.at_ns - since)
        return longest / SECOND

    return between(f"longest time without a change of the HW in {ask}", least, most, of, "s")


def high_watermark_at_log_end(ask: str) -> Expectation:
    """While nothing is written, the high watermark is the log end offset of every replica."""

    def of(run: FinishedRun) -> bool:
        last = rounds(run, ask)[-1]
        return {last.high_watermark} == set(last.log_ends.values())

    return exactly(f"HW is every replica's LEO in {ask}", True, of)
