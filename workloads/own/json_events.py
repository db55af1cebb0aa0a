"""Sends and reports of a program in any language, one JSON object per line, turned into a producer's journal.

docs/how-to/own-producer.md describes the format for users.

    {"event": "begin", "producer": 0, "run": 17, "topic": "orders"}
    {"event": "sent", "seq": 0, "time_ms": 1700000000000, "partition": 2, "key": "a", "size": 120, "txn": 0}
    {"event": "acked", "seq": 0, "time_ms": 1700000000007, "partition": 2, "offset": 41}
    {"event": "failed", "seq": 1, "time_ms": 1700000000009, "error": "TimeoutException"}
    {"event": "refused", "seq": 2, "time_ms": 1700000000009, "error": "RecordTooLargeException"}
    {"event": "committed", "txn": 0, "time_ms": 1700000000020}      (or "aborted", "indeterminate")
    {"event": "end"}

`begin` is the first line. `sent` is written before the record is handed to the client, with dense numbers
from 0. A send that failed may be in the log all the same; only one that was refused before it was queued
certainly is not. Unlike the lines of Kafka's own tools (`workloads.interop.events`), none is ignored: a line
that cannot be read may have been a send.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.model.errors import BadInput
from harness.model.journal import SendOutcome, TxnOutcome
from workloads.own.own_journal import ANY_PARTITION, OwnJournal
from workloads.own.producer_folder import ProducerFolder, ProducerTarget
from workloads.producer.open_sends import NO_TXN
from workloads.producer.outcomes import classify
from workloads.record.identity import MAX_PRODUCER, MAX_RUN

_MS = 1_000_000
_MOST = 2**63 // _MS - 1
_ERROR = re.compile(r"^[\x21-\x7e]{1,200}$")
_TRANSACTIONS = {
    "committed": TxnOutcome.COMMITTED,
    "aborted": TxnOutcome.ABORTED,
    "indeterminate": TxnOutcome.INDETERMINATE,
}
_EVENTS = ("begin", "sent", "acked", "failed", "refused", *_TRANSACTIONS, "end")
_FIELDS = {
    "begin": {"producer", "run", "topic", "acks"},
    "sent": {"seq", "time_ms", "partition", "key", "key_base64", "size", "txn"},
    "acked": {"seq", "time_ms", "partition", "offset"},
    "failed": {"seq", "time_ms", "partition", "error"},
    "refused": {"seq", "time_ms", "partition", "error"},
    **{name: {"txn", "time_ms", "error"} for name in _TRANSACTIONS},
    "end": set(),
}
_NEXT = "correct the program that wrote it: docs/how-to/own-producer.md describes each event"


@dataclass(frozen=True, slots=True)
class ImportedEvents:
    """What a file held. `ended` tells that its last line is `end`."""

    number: int
    sends: int
    ended: bool


@dataclass(slots=True)
class _Transaction:
    begun_ns: int
    records: int = 0


@dataclass(slots=True)
class _Line:
    """One line that was parsed; its methods take fields, and refuse wrong ones."""

    file: Path
    number: int
    event: str
    fields: Mapping[str, Any]

    def bad(self, what: str, expected: str, found: str) -> BadInput:
        return _bad(self.file, self.number, what, expected, found)

    def number_of(self, name: str, most: int, default: int | None = None, least: int = 0) -> int:
        value = self.fields.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise self.bad(
            f"the event {self.event!r} has no usable {name!r}",
            f"a whole number from {least} to {most}",
            "none" if name not in self.fields else _shown(value),
        )

    def time(self) -> int:
        return self.number_of("time_ms", _MOST) * _MS

    def key(self) -> bytes | None:
        text, coded = self.fields.get("key"), self.fields.get("key_base64")
        try:
            if text is not None and coded is None and isinstance(text, str):
                return text.encode()
            if coded is not None and text is None and isinstance(coded, str):
                return base64.b64decode(coded, validate=True)
        except (UnicodeEncodeError, binascii.Error):
            pass
        if text is None and coded is None:
            return None
        raise self.bad(
            "the key cannot be read",
            "`key` (text) or `key_base64` (bytes in Base64), or neither for a record without a key",
            _shown({name: self.fields[name] for name in ("key", "key_base64") if name in self.fields}),
        )

    def error(self) -> str:
        value = self.fields.get("error")
        if isinstance(value, str) and _ERROR.match(value):
            return value
        raise self.bad(
            f"the event {self.event!r} has no usable 'error'",
            "the client's name for the error: at most 200 printable ASCII characters without spaces",
            "none" if value is None else _shown(value),
        )


@dataclass(slots=True)
class _Replay:
    """Puts the events of one file into a journal."""

    journal: OwnJournal
    acks: str
    open: set[int] = field(default_factory=set)
    transactions: dict[int, _Transaction] = field(default_factory=dict)
    ended_transactions: set[int] = field(default_factory=set)

    def take(self, line: _Line) -> None:
        if line.event == "sent":
            self._sent(line)
        elif line.event in _TRANSACTIONS:
            self._transaction(line, _TRANSACTIONS[line.event])
        else:
            self._reported(line)

    def _sent(self, line: _Line) -> None:
        seq, expected = line.number_of("seq", 2**62), self.journal.next_seq
        if seq != expected:
            raise line.bad("sends are not numbered one after the other", f"seq {expected}", f"seq {seq}")
        txn = line.number_of("txn", 2**31 - 1, NO_TXN, least=NO_TXN)
        if txn in self.ended_transactions:
            raise line.bad("a send belongs to a transaction that has ended", "another txn", f"txn {txn}")
        at_ns = line.time()
        self.journal.send(
            line.number_of("partition", 2**31 - 1, ANY_PARTITION, least=ANY_PARTITION),
            line.key(),
            line.number_of("size", 2**31 - 1, 0),
            txn,
            at_ns=at_ns,
        )
        self.open.add(seq)
        if txn != NO_TXN:
            self.transactions.setdefault(txn, _Transaction(at_ns)).records += 1

    def _reported(self, line: _Line) -> None:
        seq = line.number_of("seq", 2**62)
        if seq not in self.open:
            known = seq < self.journal.next_seq
            raise line.bad(
                "a report is about no open send",
                "a `sent` line before it, and one report for each send",
                f"a second report for seq {seq}" if known else f"no `sent` line for seq {seq}",
            )
        at_ns = line.time()
        partition = line.number_of("partition", 2**31 - 1, ANY_PARTITION, least=ANY_PARTITION)
        if line.event == "acked":
            outcome = classify(None, self.acks)
            offset = line.number_of("offset", 2**62, -1, least=-1)
            found = None if outcome is SendOutcome.UNCONFIRMED or offset < 0 else offset
            self.journal.report(seq, outcome, offset=found, partition=partition, at_ns=at_ns)
        else:
            # How often the client tried is not known, so no broker's error proves that nothing was written.
            refused = line.event == "refused"
            outcome = SendOutcome.REJECTED if refused else SendOutcome.INDETERMINATE
            self.journal.report(seq, outcome, error=line.error(), partition=partition, at_ns=at_ns)
        self.open.remove(seq)

    def _transaction(self, line: _Line, outcome: TxnOutcome) -> None:
        number = line.number_of("txn", 2**31 - 1)
        if number in self.ended_transactions:
            raise line.bad("a transaction ends twice", "one end for each transaction", f"txn {number}")
        at_ns = line.time()
        begun = self.transactions.pop(number, _Transaction(at_ns))
        self.ended_transactions.add(number)
        self.journal.transaction(
            number,
            begun_ns=begun.begun_ns,
            ended_ns=None if outcome is TxnOutcome.INDETERMINATE else at_ns,
            asked="abort" if outcome is TxnOutcome.ABORTED else "commit",
            outcome=outcome,
            records=begun.records,
            error=line.error() if "error" in line.fields else None,
        )

    def finish(self) -> None:
        """Close the journal. A transaction without an end may have been committed."""
        for number, begun in self.transactions.items():
            self.journal.transaction(
                number,
                begun_ns=begun.begun_ns,
                ended_ns=None,
                asked="commit",
                outcome=TxnOutcome.INDETERMINATE,
                records=begun.records,
                error=None,
            )
        self.journal.close()


def target_of_events(file: Path) -> ProducerTarget:
    """The run, the topic and the acks that the first line of a file names.

    Raises:
        BadInput: the file cannot be read, or its first line is no `begin`.
    """
    return _target_of(_first(_lines(file), file))


def import_events(file: Path, folder: ProducerFolder, target: ProducerTarget) -> ImportedEvents:
    """Write the journal of the producer of `file` into `folder`. Memory grows with the open sends only.

    Raises:
        BadInput: a line cannot be used, the file is of another run or topic, or its producer has a journal
            already; the error names the line.
        JournalError: the journal cannot be written.
    """
    lines = _lines(file)
    begin = _first(lines, file)
    its = _target_of(begin)
    for what, expected, found in (("run", target.run_id, its.run_id), ("topic", target.topic, its.topic)):
        if expected != found:
            raise begin.bad(f"the events are of another {what}", str(expected), str(found))
    number, own = folder.claim(begin.number_of("producer", MAX_PRODUCER))
    replay = _Replay(OwnJournal(own, number, target.topic), target.acks)
    ended = False
    try:
        for line in lines:
            if ended:
                raise line.bad("there are lines after the event 'end'", "`end` as the last line", line.event)
            if line.event == "begin":
                raise line.bad("a second `begin`", "one file for each producer", "another producer begins")
            if line.event == "end":
                ended = True
            else:
                replay.take(line)
    finally:
        replay.finish()
    return ImportedEvents(number, replay.journal.next_seq, ended)


def _target_of(begin: _Line) -> ProducerTarget:
    topic, acks = begin.fields.get("topic"), begin.fields.get("acks", "all")
    if not isinstance(topic, str) or not topic or not topic.isascii():
        raise begin.bad("the event 'begin' has no usable 'topic'", "the name of a topic", _shown(topic))
    if acks not in ("0", "1", "all"):
        raise begin.bad("the event 'begin' has no usable 'acks'", '"0", "1" or "all"', _shown(acks))
    return ProducerTarget(begin.number_of("run", MAX_RUN), topic, acks)


def _first(lines: Iterator[_Line], file: Path) -> _Line:
    line = next(lines, None)
    if line is None or line.event != "begin":
        raise _bad(
            file,
            1,
            "the events do not begin with `begin`",
            '{"event": "begin", "producer": 0, "run": N, "topic": "NAME"}',
            "nothing" if line is None else f"the event {line.event!r}",
        )
    return line


def _lines(file: Path) -> Iterator[_Line]:
    try:
        with file.open("rb") as source:
            for number, raw in enumerate(source, 1):
                if raw.strip():
                    yield _parsed(file, number, raw)
    except OSError as error:
        raise BadInput(
            "a file of events cannot be read",
            where=str(file),
            found=error.strerror or str(error),
            next_step="name a file of events in JSON lines",
        ) from error


def _parsed(file: Path, number: int, raw: bytes) -> _Line:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        cut = " and no line end: the program ended while it wrote" if not raw.endswith(b"\n") else ""
        raise _bad(
            file, number, "a line is no JSON", "one JSON object per line", f"{raw[:80]!r}{cut}"
        ) from None
    event = found.get("event") if isinstance(found, dict) else None
    if not isinstance(event, str) or event not in _EVENTS:
        raise _bad(file, number, "a line is no event", f"`event`: {', '.join(_EVENTS)}", _shown(found))
    unknown = found.keys() - _FIELDS[event] - {"event"}
    if unknown:
        raise _bad(
            file,
            number,
            f"the event {event!r} has an unknown field",
            ", ".join(sorted(_FIELDS[event])) or "no field",
            _shown(min(unknown)),
        )
    return _Line(file, number, event, found)


def _bad(file: Path, number: int, what: str, expected: str, found: str) -> BadInput:
    return BadInput(what, where=f"{file}, line {number}", expected=expected, found=found, next_step=_NEXT)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
