"""Expectations on the observed state of brokers: leaders, ISR, high watermarks, epochs, files."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

from harness.model.journal import CHECKPOINTS_DIR, REPLICAS_DIR
from harness.suite.expectations import Expectation, between, exactly, format_value
from harness.suite.run_evidence import SECOND, EvidenceMissing, FinishedRun
from workloads.log_format.checkpoints import EPOCH_FILE

_RECORD = itemgetter("partition", "offset", "leader_epoch", "producer", "seq")


def isr_history(sizes: tuple[tuple[int, ...], ...]) -> Expectation:
    """The ISR of partition 0 had exactly these members, one after the other."""
    return exactly("ISR", sizes, lambda run: tuple(isr for isr, _ in groupby(s.isr for s in run.states())))


def left_isr(broker: int, kind: str, least: float, most: float) -> Expectation:
    """The seconds from the effect of a fault until a broker was first seen out of the ISR of partition 0."""

    def of(run: FinishedRun) -> float:
        return _until_isr(run, run.applied_ns(kind), broker, False, f"broker {broker} never left the ISR")

    return between(f"broker {broker} out of the ISR after", least, most, of, "s")


def back_in_isr(broker: int, kind: str, most: float) -> Expectation:
    """The seconds from the end of a fault until a broker was back in the ISR of partition 0."""

    def of(run: FinishedRun) -> float:
        never = f"broker {broker} did not come back into the ISR"
        return _until_isr(run, run.undone_ns(kind), broker, True, never)

    return between(f"broker {broker} back in the ISR after", 0, most, of, "s")


def _until_isr(run: FinishedRun, since_ns: int, broker: int, member: bool, never: str) -> float:
    """Seconds until a broker was first seen in the ISR of partition 0, or out of it."""
    seen = (s.at_ns for s in run.states() if s.at_ns > since_ns and (broker in s.isr) is member)
    return _seconds(since_ns, next(seen, None), never)


def _seconds(since_ns: int, until_ns: int | None, never: str) -> float:
    if until_ns is None:
        raise EvidenceMissing(never)
    return (until_ns - since_ns) / SECOND


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
        alike = len(set(seen.values())) == 1
        words = format_value(next(iter(seen.values()))) if alike else format_value(seen)
        return words, alike and set(seen.values()) == {lines}

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
    if read is None or not read.replicas_inspected:
        raise EvidenceMissing("the replicas' files were not read")
    return read.replicas_inspected


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

    def of(run: FinishedRun) -> float:
        since = run.applied_ns(kind)
        led = run.first_led(leaders, since)
        return _seconds(since, led, "not every partition was seen with a new leader")

    return between(f"every partition has a new leader after the {kind}", least, most, of, "s")
