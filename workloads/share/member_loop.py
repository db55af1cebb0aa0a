"""What a member of a share group does in its process: poll, tell, hold, acknowledge, commit.

It tells the harness what happens in lines of JSON on its standard output, the delivery before anything is
acknowledged: when the process is killed, what the broker was told is never more than what the lines hold.

    {"joined": ns}
    {"given": ns, "asked": ns, "rows": [[partition, offset, delivery count, state, run, producer, seq], ...]}
    {"acknowledged": ns, "rows": [[partition, offset, word], ...]}
    {"answered": ns, "rows": [[partition, offset, error or null], ...]}
    {"unanswered": ns, "rows": [[partition, offset], ...]}   no answer will come any more
    {"error": words, "at": ns}
    {"closing": ns}    {"closed": ns}    {"died": words}
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TextIO

from workloads.records.record.carried_identity import decode_carried
from workloads.records.record.identity import STATES, UNDECODABLE

_POLL_SECONDS = 0.1
_ERROR_SECONDS = 0.2
_POLLS_BACK = 2
"""A client may return a record this many polls after the poll that fetched it (counting polls that returned
records): the answer of another broker arrives while the records of the first are processed."""

Answer = tuple[int, int | None, str | None]
"""Partition, offset (None: all that were committed there) and error (None: done)."""


class ShareError(Exception):
    """The client reports an error; `fatal`: it can do nothing any more."""

    def __init__(self, what: str, *, fatal: bool) -> None:
        super().__init__(what)
        self.fatal = fatal


@dataclass(frozen=True, slots=True)
class Given:
    """One record that the client returned; `message` is the client's own object."""

    partition: int
    offset: int
    delivery_count: int | None
    value: bytes | None
    headers: Sequence[tuple[str, Any]] | None
    message: Any


class ShareClient(Protocol):
    """A share consumer. `commit` returns the answers that it has so far; with `wait` it waits for them.

    Every method may raise `ShareError`.
    """

    def poll(self, seconds: float) -> list[Given]: ...
    def acknowledge(self, record: Given, word: str) -> None: ...
    def commit(self, *, wait: bool) -> list[Answer]: ...
    def answers(self) -> list[Answer]: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class MemberSettings:
    """What the harness gives to a member's process, as one line of JSON."""

    properties: dict[str, Any]
    topic: str
    run_id: int
    seed: str
    acknowledge: str
    hold: float
    explicit: bool
    wait: bool
    more: dict[str, Any]
    """What only one kind of client needs."""


def word_of(settings: MemberSettings, record: Given) -> str:
    """How a delivery is acknowledged; `mixed` depends on seed, partition, offset and delivery count alone."""
    if settings.acknowledge != "mixed":
        return settings.acknowledge
    text = f"{settings.seed}/{record.partition}/{record.offset}/{record.delivery_count}"
    share = zlib.crc32(text.encode()) % 100
    return "accept" if share < 70 else "release" if share < 90 else "reject"


@dataclass(frozen=True)
class Teller:
    """Writes lines to the harness. Ends the process if nobody reads them any more."""

    out: TextIO

    def say(self, **fields: Any) -> None:
        self.out.write(json.dumps(fields, separators=(",", ":")) + "\n")
        self.out.flush()

    def answers(self, found: Sequence[Answer]) -> None:
        if found:
            self.say(answered=time.time_ns(), rows=found)


def run_member(settings: MemberSettings, client: ShareClient, tell: Teller, stop: threading.Event) -> None:
    """Take records until `stop`, then close the client.

    Raises:
        ShareError: the client can do nothing any more.
    """
    begun = time.time_ns()
    asked: deque[int] = deque([begun] * _POLLS_BACK, maxlen=_POLLS_BACK)
    tell.say(joined=begun)
    waiting: list[tuple[Given, str]] = []
    while not stop.is_set():
        now = time.time_ns()
        if waiting:
            # With implicit acknowledgement the next call accepts them.
            _tell_acknowledged(tell, now, waiting)
            waiting = []
        records = _guarded(tell, lambda: client.poll(_POLL_SECONDS)) or []
        tell.answers(client.answers())
        if not records:
            continue
        _tell_given(tell, settings, records, asked[0])
        asked.append(now)
        stop.wait(settings.hold)
        words = [(record, word_of(settings, record)) for record in records]
        if not settings.explicit and not settings.wait:
            waiting = words
            continue
        _tell_acknowledged(tell, time.time_ns(), words)
        if settings.explicit:
            _acknowledge(tell, client, words)
        _commit(tell, client, records, wait=settings.wait)
    now = time.time_ns()
    if waiting:
        _tell_acknowledged(tell, now, waiting)
        _commit(tell, client, [record for record, _ in waiting], wait=True)
    tell.say(closing=now)
    _guarded(tell, client.close)
    tell.answers(client.answers())
    tell.say(closed=time.time_ns())


def _acknowledge(tell: Teller, client: ShareClient, words: Sequence[tuple[Given, str]]) -> None:
    """Acknowledge each record. One that is no longer the member's own is refused by the client: that is its
    answer, and the others are acknowledged all the same."""
    refused: list[Answer] = []
    for record, word in words:
        try:
            client.acknowledge(record, word)
        except ShareError as error:
            if error.fatal:
                raise
            tell.say(error=str(error), at=time.time_ns())
            refused.append((record.partition, record.offset, str(error).partition(":")[0]))
    tell.answers(refused)


def _commit(tell: Teller, client: ShareClient, records: Sequence[Given], *, wait: bool) -> None:
    """Send the acknowledgements of these records and tell the answers. What got no answer in time is told
    too, because the next answer about its partition is not about these records."""
    answers = _guarded(tell, lambda: client.commit(wait=wait)) or []
    if not wait:
        tell.answers(answers)
        return
    errors = {partition: error for partition, _, error in answers}
    delivered = [(record.partition, record.offset) for record in records]
    tell.answers([(number, offset, errors[number]) for number, offset in delivered if number in errors])
    if rest := [row for row in delivered if row[0] not in errors]:
        tell.say(unanswered=time.time_ns(), rows=rest)


def _guarded(tell: Teller, call: Callable[[], Any]) -> Any:
    """The result of a call of the client; an error that it survives is told, and None returned."""
    try:
        return call()
    except ShareError as error:
        if error.fatal:
            raise
        tell.say(error=str(error), at=time.time_ns())
        time.sleep(_ERROR_SECONDS)
    return None


def _tell_given(tell: Teller, settings: MemberSettings, records: Sequence[Given], asked: int) -> None:
    now = time.time_ns()
    decoded = decode_carried(
        [record.value for record in records], settings.run_id, lambda index: records[index].headers
    )
    rows = []
    for index, record in enumerate(records):
        identity: list[int | None] = [None, None, None]
        if decoded.state[index] != UNDECODABLE:
            identity = [int(decoded.run[index]), int(decoded.producer[index]), int(decoded.seq[index])]
        state = STATES[int(decoded.state[index])].value
        rows.append([record.partition, record.offset, record.delivery_count, state, *identity])
    tell.say(given=now, asked=asked, rows=rows)


def _tell_acknowledged(tell: Teller, at: int, words: Sequence[tuple[Given, str]]) -> None:
    tell.say(acknowledged=at, rows=[[record.partition, record.offset, word] for record, word in words])


def run_process(make: Callable[[MemberSettings], ShareClient]) -> NoReturn:
    """The program of a member's process: its settings are the first line of standard input, and it ends when
    that is closed or says anything more."""
    # Ctrl-C is for the harness, which closes its members.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = MemberSettings(**json.loads(sys.stdin.readline()))
    stop = threading.Event()
    tell = Teller(sys.stdout)

    def listen() -> None:
        sys.stdin.readline()
        stop.set()

    threading.Thread(target=listen, name="stdin", daemon=True).start()
    code = 1
    try:
        run_member(settings, make(settings), tell, stop)
        code = 0
    except ShareError as error:
        tell.say(died=str(error))
    except BrokenPipeError:
        pass
    sys.stdout.flush()
    # Threads of the client that do not end must not keep the process.
    os._exit(code)
