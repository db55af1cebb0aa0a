"""Expectations on the observed state of brokers: leaders, ISR, epochs, files, log ends and high watermarks.

High watermarks are compared with log end offsets in rounds of questions. A round asks for leader and ISR,
then for high watermarks, then for log end offsets, then for leader and ISR again. Log end offsets only rise
meanwhile, so a high watermark above one of them was really above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from harness.lab.suite.expectations import Expectation, between, exactly, format_value
from harness.lab.suite.run_evidence import SECOND, FinishedRun, required
from harness.model.journal import CHECKPOINTS_DIR, REPLICAS_DIR
from harness.model.journal_reader import JournalRow
from workloads.records.log_format.checkpoints import EPOCH_FILE

_RECORD = itemgetter("partition", "offset", "leader_epoch", "producer", "seq")


def isr_history(sizes: tuple[tuple[int, ...], ...]) -> Expectation:
    """The ISR of partition 0 had exactly these members, one after the other."""
    return exactly("ISR", sizes, lambda run: tuple(isr for isr, _ in groupby(s.isr for s in run.states())))


def left_isr(broker: int, kind: str, least: float, most: float) -> Expectation:
    """The seconds from the effect of a fault until a broker was first seen out of the ISR of partition 0."""
    what = f"broker {broker} out of the ISR after"
    return _after_effect(what, kind, least, most, lambda run, since: _until_isr(run, since, broker, False))


def _after_effect(
    what: str, kind: str, least: float, most: float, until: Callable[[FinishedRun, int], float]
) -> Expectation:
    """The seconds from the effect of a fault until something was seen, by `until` for the time of the effect.

    A fault takes effect at some time between its aim and the end of its injection. On a busy machine that is
    seconds, so both ends of what the number can be are compared, and only a number that must lie outside of
    the limits is not as expected.
    """

    def shortest(run: FinishedRun) -> float:
        return until(run, run.applied_ns(kind))

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        low = shortest(run)
        high = low + (run.applied_ns(kind) - run.aimed_ns(kind)) / SECOND
        texts = dict.fromkeys((f"{low:.1f}", f"{high:.1f}"))
        return f"{' to '.join(texts)} s", low <= most and least <= high

    return replace(between(what, least, most, shortest, "s"), look=look)


def back_in_isr(broker: int, kind: str, most: float) -> Expectation:
    """The seconds from the end of a fault until a broker was back in the ISR of partition 0."""
    what = f"broker {broker} back in the ISR after"
    return between(what, 0, most, lambda run: _until_isr(run, run.undone_ns(kind), broker, True), "s")


def _until_isr(run: FinishedRun, since_ns: int, broker: int, member: bool) -> float:
    """Seconds until a broker was first seen in the ISR of partition 0, or out of it."""
    seen = (s.at_ns for s in run.states() if s.at_ns > since_ns and (broker in s.isr) is member)
    never = "did not come back into" if member else "never left"
    return _seconds(since_ns, next(seen, None), f"broker {broker} {never} the ISR")


def _seconds(since_ns: int, until_ns: int | None, never: str) -> float:
    return (required(until_ns, never) - since_ns) / SECOND


def led_during(step: str, leaders: frozenset[int], partition: int = 0) -> Expectation:
    """The leaders during a step, by every sample of its second half (-1: no leader)."""

    def of(run: FinishedRun) -> frozenset[int]:
        it = run.step(step)
        end = it.ended_ns or it.started_ns
        middle = (it.started_ns + end) // 2
        return frozenset(state.leader for state in run.during(middle, end, partition))

    return exactly(f"leader during {step} (-1: none)", leaders, of)


def epoch_lines(lines: tuple[tuple[int, int], ...]) -> Expectation:
    """leader-epoch-checkpoint of partition 0 has exactly these lines (epoch, start offset) on every
    replica."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        seen = {
            broker: tuple(
                sorted(
                    (row["leader_epoch"], row["offset"])
                    for row in run.rows(CHECKPOINTS_DIR)
                    if row["file"] == EPOCH_FILE and row["broker"] == broker and row["partition"] == 0
                )
            )
            for broker in _inspected(run)
        }
        distinct = set(seen.values())
        return format_value(next(iter(distinct)) if len(distinct) == 1 else seen), distinct == {lines}

    return Expectation("lines of leader-epoch-checkpoint on every replica", format_value(lines), look)


def replicas_identical(brokers: int = 3) -> Expectation:
    """The files of all replicas hold the same records in the same epochs at the same offsets, and these are
    the records of the final read."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        dumps = {
            broker: [
                (_RECORD(row), row["crc"])
                for row in run.rows(REPLICAS_DIR)
                if row["broker"] == broker and not row["control"]
            ]
            for broker in _inspected(run)
        }
        first = next(iter(dumps.values()))
        alike = len(dumps) == brokers and all(dump == first for dump in dumps.values())
        same = [record for record, _ in first] == [_RECORD(row) for row in run.final_log]
        words = f"{len(dumps)} replicas of {len(first):,} records, " + ("alike" if alike else "not alike")
        return words + (", as read" if same else ", not as read"), alike and same

    return Expectation("the replicas' own files", f"{brokers} replicas alike, as read", look)


def _inspected(run: FinishedRun) -> tuple[int, ...]:
    read = run.meta.final_read
    return required(read.replicas_inspected if read else (), "the replicas' files were not read")


def final_read_complete() -> Expectation:
    """The final read was proved complete."""
    what = "the final read is proved complete"
    return exactly(what, True, lambda run: run.meta.final_read is not None and run.meta.final_read.complete)


def elections(least: int) -> Expectation:
    """The leader epoch of partition 0 rose by at least this much."""

    def of(run: FinishedRun) -> int:
        epochs = [state.leader_epoch for state in run.states()]
        return max(epochs, default=0) - min(epochs, default=0)

    return between("elections", least, None, of)


def end_went_back(times: int) -> Expectation:
    """The number of times that a leader reported an end of partition 0 below one reported earlier."""

    def of(run: FinishedRun) -> int:
        falls, last = 0, 0
        for state in run.states():
            if state.high_watermark is not None:
                falls += state.high_watermark < last
                last = state.high_watermark
        return falls

    return exactly("times that the end of the partition went back", times, of)


def leaders_at_end_of(step: str, leaders: dict[int, tuple[int, ...]]) -> Expectation:
    """The brokers of which one must lead each partition when a step ends."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        end = run.step(step).ended_ns or 0
        now = {number: run.during(0, end, number)[-1].leader for number in leaders}
        return format_value(now), all(now[number] in allowed for number, allowed in leaders.items())

    expected = {number: " or ".join(map(str, allowed)) for number, allowed in leaders.items()}
    return Expectation(f"leader by partition at the end of {step}", format_value(expected), look)


def all_partitions_led(kind: str, leaders: frozenset[int], least: float, most: float) -> Expectation:
    """The seconds from the effect of a fault until every partition was first seen led by one of these
    brokers."""

    def until(run: FinishedRun, since: int) -> float:
        led = run.first_led(leaders, since)
        return _seconds(since, led, "not every partition was seen with a new leader")

    return _after_effect(f"every partition has a new leader after the {kind}", kind, least, most, until)


@dataclass(frozen=True)
class Round:
    """One round in which leader and ISR were the same before and after."""

    at_ns: int
    leader: int
    isr: tuple[int, ...]
    high_watermark: int
    log_ends: dict[int, int]


def rounds(run: FinishedRun, ask: str) -> list[Round]:
    """The rounds of an ask step that can be judged, at least one."""
    answers = (row for row in run.all_answers if row["ask"] == ask and row["error"] is None)
    judged = [turn for _, rows in groupby(answers, key=itemgetter("round")) for turn in _judged(list(rows))]
    return required(judged, f"no round of {ask} can be judged")


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
    return [turn for turn, after in zip(found, [*found[1:], found[-1]], strict=True) if turn.isr == after.isr]


def high_watermark_never_above(asks: tuple[str, ...]) -> Expectation:
    """In no round was the leader's high watermark above the smallest log end offset of the ISR."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        turns = [turn for ask in asks for turn in _with_known_isr(rounds(run, ask))]
        above = sum(turn.high_watermark > min(turn.log_ends[broker] for broker in turn.isr) for turn in turns)
        return f"{above:,} of {len(turns):,}", above == 0 and len(turns) >= 25

    return Expectation("rounds with HW above min LEO of the ISR", "0 of 25 or more", look)


def high_watermark_behind(ask: str, isr: tuple[int, ...]) -> Expectation:
    """In every round with this ISR the high watermark was below the leader's log end offset."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        turns = [turn for turn in rounds(run, ask) if turn.isr == isr]
        required(turns, f"no round of {ask} with the ISR {isr}")
        below = sum(turn.high_watermark < turn.log_ends[turn.leader] for turn in turns)
        return f"{below:,} of {len(turns):,}", below == len(turns)

    return Expectation(f"rounds of {ask} with HW below the leader's LEO", "all, while the ISR is full", look)


def high_watermark_stands_still(ask: str, least: float, most: float) -> Expectation:
    """The longest time in seconds for which the leader's high watermark did not move."""

    def of(run: FinishedRun) -> float:
        longest = 0
        since, mark = 0, -1
        for turn in rounds(run, ask):
            if turn.high_watermark != mark:
                since, mark = turn.at_ns, turn.high_watermark
            longest = max(longest, turn.at_ns - since)
        return longest / SECOND

    return between(f"longest time without a change of the HW in {ask}", least, most, of, "s")


def high_watermark_at_log_end(ask: str) -> Expectation:
    """While nothing is written, the high watermark is the log end offset of every replica."""

    def of(run: FinishedRun) -> bool:
        last = rounds(run, ask)[-1]
        return {last.high_watermark} == set(last.log_ends.values())

    return exactly(f"HW is every replica's LEO in {ask}", True, of)
