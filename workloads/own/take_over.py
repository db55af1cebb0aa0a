"""Takes the events of own producers over into the journals of a run: of one under way, or of an import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.model.journal import RowSink, SendOutcome, TxnOutcome
from workloads.own.client_settings import ClientSettings
from workloads.own.json_events import (
    CUT_OFF,
    MOST_NS,
    TRANSACTION_ENDS,
    EventLine,
    open_events,
    parse_settings,
)
from workloads.own.own_journal import ANY_PARTITION
from workloads.own.producer_folder import ProducerTarget
from workloads.own.record_ids import key_text
from workloads.records.producer.outcomes import classify
from workloads.records.producer.send_journal import NO_KEY, NO_OFFSET, NO_TXN, SendBatch, SendJournal
from workloads.records.record.identity import MAX_PRODUCER, decode_keys

_MOST_WAITING = 10_000


Times = npt.NDArray[np.int64]
Steps = int | npt.NDArray[np.int32]
_Send = tuple[int, int, bytes | None, int, int, int]
"""Time (ns), partition, key, size, transaction, the record's own time (ms)."""
_Report = tuple[int, int, SendOutcome, int, str | None, int]
"""Seq, time (ns), outcome, offset, error, partition."""


@dataclass(slots=True)
class _Replay:
    """Puts the events of one file into the journals of a run."""

    number: int
    acks: str
    journal: SendJournal
    transactions: RowSink
    ids: RowSink | None
    steps: Callable[[Times], Steps]
    next_seq: int = 0
    open: set[int] = field(default_factory=set)
    open_transactions: dict[int, dict[str, Any]] = field(default_factory=dict)
    ended_transactions: set[int] = field(default_factory=set)
    sends: list[_Send] = field(default_factory=list)
    reports: list[_Report] = field(default_factory=list)

    def take(self, line: EventLine) -> None:
        if line.event == "sent":
            self._sent(line)
        elif line.event in TRANSACTION_ENDS:
            self._transaction(line, TRANSACTION_ENDS[line.event])
        else:
            self._reported(line)
        if len(self.sends) + len(self.reports) >= _MOST_WAITING:
            self.drain()

    def _sent(self, line: EventLine) -> None:
        seq, expected = line.number_of("seq", 2**62), self.next_seq
        if seq != expected:
            raise line.bad("sends are not numbered one after the other", f"seq {expected}", f"seq {seq}")
        txn = line.number_of("txn", 2**31 - 1, NO_TXN, least=NO_TXN)
        if txn in self.ended_transactions:
            raise line.bad("a send belongs to a transaction that has ended", "another txn", f"txn {txn}")
        at_ns = line.time()
        partition = line.number_of("partition", 2**31 - 1, ANY_PARTITION, least=ANY_PARTITION)
        size = line.number_of("size", 2**31 - 1, 0)
        key, record_id = line.key(), line.record_id()
        names = {"id": record_id, "key_text": key_text(key)}
        if self.ids is not None and any(names.values()):
            self.ids.append({"producer": self.number, "seq": seq, **names})
        self.sends.append((at_ns, partition, key, size, txn, line.timestamp_ms()))
        self.next_seq += 1
        self.open.add(seq)
        if txn != NO_TXN:
            self.open_transactions.setdefault(txn, self._row(txn, at_ns))["records"] += 1

    def _reported(self, line: EventLine) -> None:
        seq = line.number_of("seq", 2**62)
        if seq not in self.open:
            known = seq < self.next_seq
            raise line.bad(
                "a report is about no open send",
                "a `sent` line before it, and one report for each send",
                f"a second report for seq {seq}" if known else f"no `sent` line for seq {seq}",
            )
        at_ns, offset, error = line.time(), NO_OFFSET, None
        partition = line.number_of("partition", 2**31 - 1, ANY_PARTITION, least=ANY_PARTITION)
        if line.event == "acked":
            outcome = classify(None, self.acks)
            given = line.number_of("offset", 2**62, NO_OFFSET, least=NO_OFFSET)
            offset = NO_OFFSET if outcome is SendOutcome.UNCONFIRMED else given
        else:
            # How often the client tried is not known, so no broker's error proves that nothing was written.
            refused = line.event == "refused"
            outcome = SendOutcome.REJECTED if refused else SendOutcome.INDETERMINATE
            error = line.error()
        self.reports.append((seq, at_ns, outcome, offset, error, partition))
        self.open.remove(seq)

    def _transaction(self, line: EventLine, outcome: TxnOutcome) -> None:
        number = line.number_of("txn", 2**31 - 1)
        if number in self.ended_transactions:
            raise line.bad("a transaction ends twice", "one end for each transaction", f"txn {number}")
        at_ns = line.time()
        row = self.open_transactions.pop(number, None) or self._row(number, at_ns)
        self.ended_transactions.add(number)
        answered = line.one_of("answered", (True, False), outcome is not TxnOutcome.INDETERMINATE)
        usual = "abort" if outcome is TxnOutcome.ABORTED else "commit"
        row["asked"] = line.one_of("asked", ("commit", "abort"), usual)
        row["begun_ns"] = line.number_of("begun_ns", MOST_NS, row["begun_ns"])
        row["ended_ns"] = at_ns if answered else None
        row["outcome"] = outcome.value
        row["error"] = line.error() if "error" in line.fields else None
        self.transactions.append(row)

    def _row(self, txn: int, begun_ns: int) -> dict[str, Any]:
        """A transaction without an end, which may have been committed."""
        return {
            "producer": self.number,
            "txn": txn,
            "begun_ns": begun_ns,
            "ended_ns": None,
            "asked": "commit",
            "outcome": TxnOutcome.INDETERMINATE.value,
            "records": 0,
            "error": None,
        }

    def finish(self) -> None:
        """Add what waits."""
        self.drain()
        for row in self.open_transactions.values():
            self.transactions.append(row)

    def drain(self) -> None:
        """Write the sends and reports that have arrived to the journal of sends."""
        if self.sends:
            sent_ns, partitions, keys, sizes, txns, stamps = zip(*self.sends, strict=True)
            times = np.array(sent_ns, dtype=np.int64)
            self.journal.opened(
                SendBatch(
                    producer=self.number,
                    first=self.next_seq - len(self.sends),
                    step=self.steps(times),
                    size=np.array(sizes, dtype=np.int32),
                    sent_ns=times,
                    partition=np.array(partitions, dtype=np.int32),
                    key=decode_keys(keys).fill_null(NO_KEY).to_numpy(zero_copy_only=False),
                    txn=np.array(txns, dtype=np.int64),
                    timestamp_ms=np.array(stamps, dtype=np.int64),
                )
            )
            self.sends = []
        if self.reports:
            seqs, closed_ns, outcomes, offsets, errors, partitions = zip(*self.reports, strict=True)
            self.journal.closed(
                self.number,
                np.array(seqs, dtype=np.int64),
                np.array(closed_ns, dtype=np.int64),
                outcomes,
                offsets=np.array(offsets, dtype=np.int64),
                errors=errors,
                partitions=np.array(partitions, dtype=np.int32),
            )
            self.reports = []


def import_events(
    file: Path,
    target: ProducerTarget,
    journal: SendJournal,
    transactions: RowSink,
    *,
    taken: set[int],
    ids: RowSink | None = None,
    steps: Callable[[Times], Steps] = lambda _: 0,
    settings: dict[int, ClientSettings] | None = None,
    waited: float | None = None,
) -> str | None:
    """Add the sends and transactions of the producer of `file` to the journals of a run. Sends without a
    report stay open. Memory grows with the sends and transactions that are open, and the numbers
    of the transactions that have ended.

    Returns:
        Why it is not known what was sent; None: the file is whole.

    Args:
        taken: numbers of the producers that the journals have already; that of the file is added.
        ids: takes rows of SENT_IDS, of the records that have an id of their own or a key.
        steps: the write steps of sends, from their times (ns).
        settings: by producer, what its client says of itself; that of the file is added, if it says it.
        waited: for how many seconds its last line was waited for (None: it was not).

    Raises:
        BadInput: a line cannot be used, the file is of another run or topic, or its producer is
            `taken`; the error names the line. What the lines before it tell is added.
        JournalError: the journal cannot be written.
    """
    begin, its, lines = open_events(file)
    for what, expected, found in (("run", target.run_id, its.run_id), ("topic", target.topic, its.topic)):
        if expected != found:
            raise begin.bad(f"the events are of another {what}", str(expected), str(found))
    number = begin.number_of("producer", MAX_PRODUCER)
    if number in taken:
        raise begin.bad(
            f"producer {number} has a journal already",
            "a number of its own for each producer, also after a restart",
            f"a second file of producer {number}",
        )
    taken.add(number)
    told = parse_settings(begin)
    if told is not None and settings is not None:
        settings[number] = told
    replay = _Replay(number, target.acks if told is None else told.acks, journal, transactions, ids, steps)
    ended, cut = False, ""
    try:
        for line in lines:
            if ended:
                raise line.bad("there are lines after the event 'end'", "`end` as the last line", line.event)
            if line.event == "begin":
                raise line.bad("a second `begin`", "one file for each producer", "another producer begins")
            if line.event == "end":
                ended = True
            elif line.event == CUT_OFF:
                text = line.fields["text"]
                cut = f" and its last line has no line end: the program ended while it wrote {text}"
            else:
                replay.take(line)
    finally:
        replay.finish()
    if ended:
        return None
    setting = "`own: {close_seconds: N}`"
    within = "" if waited is None else f" within {waited:g} s of the write steps ({setting})"
    return f"{file.name} does not end with `end`{within}{cut}: what was sent last is not known"
