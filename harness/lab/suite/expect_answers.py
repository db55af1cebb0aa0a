"""Expectations on the answers of brokers in ask steps, and on the requests in their own logs.

Brokers print each request that they have answered, and the answer, if `kafka.request.logger` is at DEBUG.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from kio.schema.errors import ErrorCode

from harness.cluster.protocol.connection import error_name
from harness.lab.suite.expectations import Expectation, between, exactly, format_value
from harness.lab.suite.run_evidence import EvidenceMissing, FinishedRun, required
from harness.model.journal_reader import JournalRow

_ANY: dict[str, Any] = {}
_MARK = "Completed request:"
TAKEN: Final = "taken"
REFUSED: Final = "refused"
"""The outcome of a request: answered without an error, or with one."""


def read_from_broker(ask: str, broker: int, count: int) -> Expectation:
    """The number of records that a broker gave a consumer in an ask step."""
    return exactly(
        f"records that broker {broker} gives a consumer in {ask}",
        count,
        lambda run: len(records_in(run.answer(ask, "fetch", broker))),
    )


def records_in(answer: JournalRow) -> list[tuple[int, int, int]]:
    """(offset, producer, seq) of the records in an answer."""
    if answer["error"] is not None:
        raise EvidenceMissing(f"broker {answer['broker']} answered {answer['error']}")
    return [(offset, producer, seq) for offset, producer, seq in answer["detail"]["records"]]


def vanished_between(first: str, second: str, count: int) -> Expectation:
    """The number of records that a consumer received in one ask step and another did not in a later one.

    In each step the broker counts that answered without an error: the leader at that time."""
    what = f"records read in {first} and not in {second}"
    return exactly(what, count, lambda run: len(set(_served(run, first)) - set(_served(run, second))))


def _served(run: FinishedRun, ask: str) -> list[tuple[int, int, int]]:
    served = required(run.served(ask, "fetch"), f"no broker served a consumer in {ask}")
    return max((records_in(row) for row in served), key=len)


def answered(
    ask: str, question: str, broker: int, error: str | None = None, number: int | None = None
) -> Expectation:
    """A broker's answer to a question: a number, an error by Kafka's name, or (with neither) no error."""
    if None not in (error, number):
        raise ValueError("an answer is an error or a number, not both")

    def of(run: FinishedRun) -> object:
        row = run.answer(ask, question, broker)
        return row["error"] or ("no error" if number is None else row["number"])

    expected = error or "no error" if number is None else number
    return exactly(f"broker {broker}'s answer to {question} in {ask}", expected, of)


def batches(ask: str, broker: int, *, leader_epoch: int, records: int) -> Expectation:
    """The batches in a broker's own segment files are whole, in this leader epoch, follow each other without
    a gap, and hold this number of records in all."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        stored = run.answer(ask, "files", broker)["detail"]["batches"]
        epochs = {batch["leader_epoch"] for batch in stored}
        end = 0
        for batch in stored:
            if batch["base_offset"] != end or not batch["crc_ok"]:
                return f"a broken batch at offset {end}", False
            end = batch["last_offset"] + 1
        words = f"offsets 0 to {end - 1}, leader epoch {format_value(epochs)}, {len(stored)} batch(es)"
        return words, end == records and epochs == {leader_epoch}

    expected = f"offsets 0 to {records - 1}, leader epoch {leader_epoch}"
    return Expectation(f"dump of broker {broker} in {ask}", expected, look)


def differing_offsets(ask: str, one: int, other: int, count: int) -> Expectation:
    """The number of offsets at which the files of two brokers hold different records."""

    def of(run: FinishedRun) -> int:
        first, second = (
            {offset: who for offset, *who in run.answer(ask, "files", broker)["detail"]["records"]}
            for broker in (one, other)
        )
        return sum(first[offset] != second[offset] for offset in first.keys() & second.keys())

    return exactly(f"offsets where brokers {one} and {other} differ in {ask}", count, of)


def epoch_end(ask: str, epoch: int, end: tuple[int, int]) -> Expectation:
    """The leader's answer to where an epoch ends: the largest epoch up to it with records, and its end."""

    def of(run: FinishedRun) -> object:
        ends = [row["detail"]["ends"].get(str(epoch)) for row in run.served(ask, "epoch_ends")]
        return tuple(ends[0]) if ends and ends[0] else "no answer"

    return exactly(f"end of epoch {epoch} by the leader, as (epoch, offset)", end, of)


def missed_by_read(ask: str, broker: int, count: int) -> Expectation:
    """The number of records in the log at the end that a broker did not give a consumer."""

    def of(run: FinishedRun) -> int:
        received = {offset for offset, _, _ in records_in(run.answer(ask, "fetch", broker))}
        return sum(row["offset"] not in received for row in run.final_log)

    return exactly(f"committed records that a read from broker {broker} misses in {ask}", count, of)


def lines_printed(ask: str, broker: int, least: int, most: int | None = None) -> Expectation:
    """The number of lines with the text of an ask step that a broker had printed."""
    what = f"lines that broker {broker} printed: {ask}"
    return between(what, least, most, lambda run: len(run.printed(ask, broker)))


def load_seconds(ask: str, broker: int) -> Expectation:
    """How long a broker took to load its logs at its last start, by its own log; at most 60 s."""

    def of(run: FinishedRun) -> float:
        times = re.findall(r"Loaded \d+ logs in (\d+)\s*ms", "\n".join(run.printed(ask, broker)))
        return int(required(times, f"broker {broker} has not said how long it took")[-1]) / 1000

    return between(f"log load of broker {broker}", 0, 60, of, "s")


@dataclass(frozen=True)
class AnsweredRequest:
    """A request that a broker has answered, by the broker's own log."""

    api: str
    client: str
    request: dict[str, Any]
    response: dict[str, Any]

    @property
    def error(self) -> str:
        """The answer's first error by Kafka's name, or NONE."""
        names = (error_name(ErrorCode(code)) for code in _codes(self.response) if code)
        return next((name for name in names if name), "NONE")


def parse_requests(lines: Iterable[str]) -> Iterator[AnsweredRequest]:
    """The requests in lines of a broker's log, in the order of the answers; other lines are ignored."""
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            entry, _ = json.JSONDecoder().raw_decode(line.partition(_MARK)[2])
            header = entry["requestHeader"]
            yield AnsweredRequest(
                api=header["requestApiKeyName"],
                client=str(header.get("clientId", "")),
                request=entry["request"],
                response=entry["response"],
            )


def _codes(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "errorCode":
                yield int(inner)
            else:
                yield from _codes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _codes(inner)


def answered_requests(
    ask: str,
    broker: int,
    api: str,
    outcomes: tuple[Literal["taken", "refused"], ...],
    client: str,
    values: dict[str, Any] = _ANY,
) -> Expectation:
    """The outcomes of a client's requests of one API, in order, by a broker's own log in an ask step.
    `values`: only requests with these fields count."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        errors = [
            request.error
            for request in parse_requests(run.printed(ask, broker))
            if (request.api, request.client) == (api, client)
            and all(request.request.get(name) == value for name, value in values.items())
        ]
        taken = tuple(TAKEN if error == "NONE" else REFUSED for error in errors)
        return ", ".join(map(_outcome_text, errors)) or "none", taken == outcomes

    holding = "".join(f", {name} {json.dumps(value)}" for name, value in values.items())
    what = f"broker {broker} on {api}{holding} of {client}"
    return Expectation(what, ", ".join(outcomes), look)


def _outcome_text(error: str) -> str:
    return TAKEN if error == "NONE" else f"{REFUSED} ({error})"


def isr_change(ask: str, node: int, broker: int, error: str = "NONE") -> Expectation:
    """How a controller answered the first request for an ISR that has a broker in it, by its own log in an
    ask step: with an error of this name, or NONE if it accepted the request."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        for request in parse_requests(run.printed(ask, node)):
            if request.api == "ALTER_PARTITION" and broker in set(_members(request.request)):
                return _outcome_text(request.error), request.error == error
        raise EvidenceMissing(f"controller {node} has answered no request for an ISR with broker {broker}")

    what = f"the controller on a request for broker {broker} in the ISR"
    return Expectation(what, _outcome_text(error), look)


def _members(request: dict[str, Any]) -> Iterator[int]:
    for topic in request.get("topics", ()):
        for partition in topic.get("partitions", ()):
            # Up to version 2 of the request brokers alone, from 3 on with their epochs (KIP-903).
            yield from (int(broker) for broker in partition.get("newIsr") or ())
            yield from (int(broker["brokerId"]) for broker in partition.get("newIsrWithEpochs") or ())
