"""Who can have acknowledged a record, in plain Python: every broker that may have led, taken one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from tests.support.history import History, Row

EVER = 2**63 - 1


class Tenure(NamedTuple):
    """`broker` (None: nobody told of it) may have led in `epoch` at any time from `begun` to `ended`."""

    begun: int
    ended: int
    broker: int | None
    epoch: int


def acknowledged_by(send: Row, history: History, samples: Sequence[Row]) -> tuple[int | None, int | None]:
    """The broker and the epoch, each of them if all tenures that samples and log allow agree in it."""
    where = (send["topic"], send["partition"])
    others = [
        row["leader_epoch"]
        for row in history.reads
        if (row["topic"], row["partition"]) == where
        and row["offset"] == send["offset"]
        and row["state"] in ("ok", "foreign")
        and row["leader_epoch"] is not None
    ]
    if send["closed_ns"] is None:
        return None, None
    possible = [
        one
        for one in tenures(samples, *where)
        if one.begun <= send["closed_ns"]
        and one.ended >= send["sent_ns"]
        and (not others or one.epoch < max(others))
    ]
    brokers, epochs = {one.broker for one in possible}, {one.epoch for one in possible}
    if None in brokers:
        return None, None
    return (
        min(brokers) if len(brokers) == 1 else None,  # type: ignore[type-var]
        min(epochs) if len(epochs) == 1 else None,
    )


def reports_of(
    send: Row, history: History, samples: Sequence[Row], last_epoch: int | None
) -> tuple[int | None, int | None]:
    """How many success reports name the offset, and how many of them can be true; nothing, if all can."""
    where = (send["topic"], send["partition"], send["offset"])
    named = [
        row
        for row in history.sends
        if row["outcome"] == "acked" and (row["topic"], row["partition"], row["offset"]) == where
    ]
    first = min(row["sent_ns"] for row in named)
    closed = [row["closed_ns"] for row in named if row["closed_ns"] is not None]
    there = tenures(samples, *where[:2]) if closed else iter(())
    epochs = {one.epoch for one in there if one.begun <= max(closed) and one.ended >= first}
    limits = [max(epochs) - min(epochs) + 1] if epochs else []
    limits += [] if last_epoch is None else [last_epoch + 1]
    if len(named) < 2 or (limits and len(named) <= min(limits)):
        return None, None
    return len(named), min(limits, default=None)


def tenures(samples: Sequence[Row], topic: str, partition: int) -> Iterator[Tenure]:
    """All that the samples allow. What a broker says at a sample it said between this one and its next."""
    told = [
        row for row in samples if row["answered"] and (row["topic"], row["partition"]) == (topic, partition)
    ]
    first_told: dict[int, tuple[int, int]] = {}
    for broker in sorted({row["broker"] for row in told}):
        answers = sorted((row["at_ns"], _claimed(row)) for row in told if row["broker"] == broker)
        times = [at for at, _ in answers]
        for epoch, run in groupby(range(len(answers)), key=lambda index: answers[index][1]):
            places = list(run)
            if epoch == EVER:
                continue
            begun = times[places[0] - 1] if places[0] else -EVER
            ended = times[places[-1] + 2] if places[-1] + 2 < len(times) else EVER
            yield Tenure(begun, ended, broker, epoch)
            certain = times[places[0] + 1] if places[0] + 1 < len(times) else EVER
            old = first_told.get(epoch, (EVER, EVER))
            first_told[epoch] = (min(old[0], begun), min(old[1], certain))
    for low, high in pairwise([-1, *sorted(first_told)]):
        for epoch in range(low + 1, high):
            begun = first_told[low][0] if low in first_told else -EVER
            yield Tenure(begun, first_told[high][1], None, epoch)


def _claimed(row: Row) -> int:
    """The epoch in which the broker says that it leads; EVER: it does not."""
    leads = row["leader"] == row["broker"] and row["leader_epoch"] is not None
    return int(row["leader_epoch"]) if leads else EVER
