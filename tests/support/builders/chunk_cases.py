"""Histories for the comparison of chunks: as they should be, and each way in which a record can differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.model.journal import SendOutcome, TxnOutcome
from harness.model.run import ReaderInfo
from tests.support.history import History, Row

Change = Callable[[History], object]
"""Changes a history; what it returns does not matter."""

RECORDS = 200
"""Of each case: seqs from 0, so in chunks of 64 there are three whole ones and a part of a fourth."""
APART = 10
READERS = (ReaderInfo(name="live"), ReaderInfo(name="strict", group="pair", committed=True))
FAR = (-(2**63), -65, -1, 2**40, 2**63 - 1)
"""Sequence numbers that no producer of this project has, which are compared like others."""


def as_it_should_be(producer: int = 0) -> History:
    """Records that were acknowledged once and read once, with and without key and transaction, some of them
    by live readers, too, and by these more than once."""
    history = History(producer=producer).txn(0)
    for seq in (*range(RECORDS), *FAR):
        at, key, txn = 1000 + seq % 1000, (None if seq % 5 == 0 else seq % 7), (0 if seq % 4 == 1 else None)
        history.send(seq, at=at, key=key, txn=txn)
        history.read(seq, at=at, key=key).read_committed(seq, at=at, key=key)
        for _ in range(2 if seq % 9 == 0 else seq % 3 == 0):
            history.give(seq, at=at, key=key)
        if seq % 6 == 0:
            history.give(seq, at=at, key=key, reader="strict")
    # A crash left a send open that has its report: the report counts.
    return history.send(3, "indeterminate", closed=None, still_open=True)


def send(history: History, seq: int) -> Row:
    return next(row for row in history.sends if row["seq"] == seq)


def change(journal: str, seq: int, /, **changes: Any) -> Change:
    """Change columns of a row, by a value or by a function of the present one."""

    def changed(history: History) -> None:
        row = next(row for row in getattr(history, journal) if row["seq"] == seq)
        for name, value in changes.items():
            row[name] = value(row[name]) if callable(value) else value

    return changed


def flip(bit: int) -> Callable[[int], int]:
    return lambda value: value ^ (1 << bit)


def again(journal: str, seq: int, /, times: int = 1, **changes: Any) -> Change:
    """Add a row once more, with changes."""

    def added(history: History) -> None:
        rows = getattr(history, journal)
        row = next(row for row in rows if row["seq"] == seq)
        rows += [
            row | {name: value(row[name]) if callable(value) else value for name, value in changes.items()}
            for _ in range(times)
        ]

    return added


def drop(journal: str, *seqs: int) -> Change:
    def dropped(history: History) -> None:
        rows = getattr(history, journal)
        rows[:] = [row for row in rows if row["seq"] not in seqs]

    return dropped


def swap(journal: str, one: int, other: int, *columns: str) -> Change:
    def swapped(history: History) -> None:
        first, second = (
            next(row for row in getattr(history, journal) if row["seq"] == seq) for seq in (one, other)
        )
        for name in columns:
            first[name], second[name] = second[name], first[name]

    return swapped


def both(*changes: Change) -> Change:
    def all_of_them(history: History) -> None:
        for one in changes:
            one(history)

    return all_of_them


def txn_ends(*outcomes: str) -> Change:
    """Put a record into a transaction of its own, which the journal has with these outcomes."""

    def ended(history: History) -> None:
        send(history, 8)["txn"] = 7
        for outcome in outcomes:
            history.txn(7, outcome)

    return ended


@dataclass(frozen=True)
class Case:
    """A change of a history, and the records that differ then: seqs of its producer, and of the next one."""

    change: Change
    seqs: tuple[int, ...]
    of_next: tuple[int, ...] = ()
    committed: bool = False
    """Only the final read of committed records tells of it."""
    also_committed: tuple[int, ...] = ()
    """More seqs, of which only the final read of committed records tells."""


def _reads(journal: str, *, committed: bool = False) -> dict[str, Case]:
    """The ways in which one row of a journal of reads can differ from its send."""

    def case(change: Change, *seqs: int, of_next: tuple[int, ...] = ()) -> Case:
        return Case(change, seqs, of_next, committed=committed)

    cases = {
        **{f"bit {bit} of the key": case(change(journal, 8, key=flip(bit)), 8) for bit in (0, 31, 62)},
        **{f"bit {bit} of the offset": case(change(journal, 8, offset=flip(bit)), 8) for bit in (0, 32, 62)},
        "bit 0 of the partition": case(change(journal, 8, partition=flip(0)), 8),
        "bit 30 of the partition": case(change(journal, 8, partition=flip(30)), 8),
        **{f"bit {bit} of the run": case(change(journal, 8, run=flip(bit)), 8) for bit in (0, 62)},
        "another topic": case(change(journal, 8, topic="u"), 8),
        "a key where none was sent": case(change(journal, 10, key=0), 10),
        "no key where one was sent": case(change(journal, 8, key=None), 8),
        "bit 0 of the seq": case(change(journal, 8, seq=flip(0)), 8, 9),
        "bit 50 of the seq": case(change(journal, 8, seq=flip(50)), 8, 8 | 1 << 50),
        "bit 0 of the producer": case(change(journal, 8, producer=flip(0)), 8, of_next=(8,)),
        "damaged": case(change(journal, 8, state="corrupt"), 8),
        "missing": case(drop(journal, 8), 8),
        "the last one missing": case(drop(journal, RECORDS - 1), RECORDS - 1),
        "all missing": case(drop(journal, *range(RECORDS), *FAR), *range(RECORDS), *FAR),
        "a row twice": case(again(journal, 8), 8),
        "a row three times": case(again(journal, 8, times=2), 8),
        "twice, at another offset": case(again(journal, 8, offset=flip(3)), 8),
        "twice, in another partition": case(again(journal, 8, partition=1), 8),
        "never sent": case(again(journal, 8, seq=5000), 5000),
        "never sent, by a producer without sends": case(again(journal, 8, producer=flip(0)), of_next=(8,)),
        "one for the other": case(both(drop(journal, 8), again(journal, 9)), 8, 9),
        "two for another two": case(both(drop(journal, 8, 9), again(journal, 11, times=2)), 8, 9, 11),
        "offsets swapped": case(swap(journal, 8, 9, "offset"), 8, 9),
        "keys swapped": case(swap(journal, 8, 9, "key"), 8, 9),
        "keys swapped with one of none": case(swap(journal, 8, 10, "key"), 8, 10),
        "a far one missing": case(drop(journal, FAR[0]), FAR[0]),
        "bit 0 of a far one's key": case(change(journal, FAR[-1], key=flip(0)), FAR[-1]),
    }
    return {f"{journal}: {name}": one for name, one in cases.items()}


def _live() -> dict[str, Case]:
    """The ways in which what a live reader got can differ from the final read. It may get a record never, or
    more than once."""
    cases = {
        "bit 0 of the key": (change("live", 6, key=flip(0)), (6,)),
        "a key where none was sent": (change("live", 15, key=0), (15,)),
        "no key where one was sent": (change("live", 6, key=None), (6,)),
        "bit 0 of the offset": (change("live", 6, offset=flip(0)), (6,)),
        "bit 0 of the partition": (change("live", 6, partition=flip(0)), (6,)),
        "another topic": (change("live", 6, topic="u"), (6,)),
        "bit 0 of the run": (change("live", 6, run=flip(0)), (6,)),
        "never sent": (again("live", 6, seq=5000), (5000,)),
        "once more at another offset": (again("live", 9, offset=flip(4)), (9,)),
        "offsets swapped": (swap("live", 6, 12, "offset"), (6, 12)),
    }
    other = Case(again("live", 6, producer=flip(0)), (), (6,))
    return {f"live: {name}": Case(*one) for name, one in cases.items()} | {
        "live: bit 0 of the producer": other
    }


DIFFERENT = {
    **_reads("reads"),
    **_reads("committed", committed=True),
    **_live(),
    **{
        f"outcome {outcome.value}": Case(change("sends", 8, outcome=outcome.value), (8,))
        for outcome in SendOutcome
        if outcome is not SendOutcome.ACKED
    },
    "an outcome that this version does not know": Case(change("sends", 8, outcome="pondered"), (8,)),
    "acknowledged without an offset": Case(change("sends", 8, offset=None), (8,)),
    # A hash leaves nulls out, so these two have the same one: without an offset, and without a key.
    "acknowledged without an offset, with a key that is one": Case(
        both(
            change("sends", 8, offset=None, key=1008),
            *(change(one, 8, offset=1008, key=None) for one in ("reads", "committed")),
        ),
        (8,),
    ),
    "in a partition that nobody knows": Case(
        both(*(change(one, 8, partition=-1) for one in ("sends", "reads", "committed"))), (8,)
    ),
    "a send twice": Case(again("sends", 8), (8,)),
    "a send twice, once as refused": Case(again("sends", 8, outcome="rejected"), (8,)),
    "a send and its reads twice": Case(
        both(*(again(one, 8) for one in ("sends", "reads", "committed"))), (8,)
    ),
    "a send and its reads three times": Case(
        both(*(again(one, 8, times=2) for one in ("sends", "reads", "committed"))), (8,)
    ),
    "a send and its reads twice, at two offsets": Case(
        both(*(again(one, 8, offset=flip(5)) for one in ("sends", "reads", "committed"))), (8,)
    ),
    "a send for another": Case(
        both(
            *(drop(one, 8) for one in ("sends", "reads", "committed")),
            *(again(one, 9) for one in ("sends", "reads", "committed")),
        ),
        (9,),
    ),
    "a send without a row": Case(drop("sends", 8), (8,)),
    "left open by a crash": Case(
        both(drop("sends", 8), lambda history: history.send(8, still_open=True, at=8)), (8,)
    ),
    "a transaction without a row": Case(txn_ends(), (8,)),
    **{
        f"a transaction that is {outcome.value}": Case(txn_ends(outcome.value), (8,))
        for outcome in TxnOutcome
        if outcome is not TxnOutcome.COMMITTED
    },
    "a transaction of unknown outcome": Case(txn_ends("pondered"), (8,)),
    "as many rows too many in one read as too few in the other": Case(
        both(again("reads", 8, times=2), drop("committed", 9, 11)), (8,), also_committed=(9, 11)
    ),
}
SAME: dict[str, Change] = {
    "nothing": lambda _: None,
    "a live reader got nothing": lambda history: history.live.clear(),
    "a live reader got one more": again("live", 6, reader="strict"),
    "a committed transaction": txn_ends("committed"),
    "other times and errors": change(
        "sends", 8, sent_ns=1, closed_ns=2, error="_MSG_TIMED_OUT", size=7, step=4
    ),
    "another leader epoch": change("reads", 8, leader_epoch=9),
    "a damaged value without identity": lambda history: history.read(
        None, at=7000, producer=None, run=None, state="corrupt"
    ),
    "another record, as it should be": lambda history: (
        history.send(900, at=1, key=3).read(900, at=1, key=3).read_committed(900, at=1, key=3)
    ),
    "a record without any row": both(*(drop(one, 8) for one in ("sends", "reads", "committed", "live"))),
}
NAMES = (*DIFFERENT, *SAME)
Record = tuple[int, int]


def expected(transactional: bool) -> dict[str, set[Record]]:
    """The records (producer and seq) that differ in each case."""
    return {
        name: {
            (APART * number + more, seq)
            for more, seqs in enumerate(
                (case.seqs + (case.also_committed if transactional else ()), case.of_next)
            )
            for seq in seqs
        }
        for number, name in enumerate(NAMES)
        if (case := DIFFERENT.get(name)) and (transactional or not case.committed)
    }
