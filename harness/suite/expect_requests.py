"""Expectations on the requests in the brokers' own request logs.

Brokers print each request that they have answered, and the answer, if `kafka.request.logger` is at DEBUG.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from kio.schema.errors import ErrorCode

from harness.protocol.connection import error_name
from harness.suite.expectations import Expectation
from harness.suite.run_evidence import EvidenceMissing, FinishedRun

_ANY: dict[str, Any] = {}
_MARK = "Completed request:"
TAKEN: Final = "taken"
REFUSED: Final = "refused"
"""The outcome of a request: answered without an error, or with one."""


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
        _, mark, text = line.partition(_MARK)
        if not mark:
            continue
        with suppress(ValueError, KeyError, TypeError):
            entry, _ = json.JSONDecoder().raw_decode(text)
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
        found = [
            one.error
            for one in parse_requests(run.printed(ask, broker))
            if (one.api, one.client) == (api, client)
            and all(one.request.get(name) == value for name, value in values.items())
        ]
        taken = tuple(TAKEN if error == "NONE" else REFUSED for error in found)
        return ", ".join(map(_outcome_text, found)) or "none", taken == outcomes

    holding = "".join(f", {name} {json.dumps(value)}" for name, value in values.items())
    what = f"broker {broker} on {api}{holding} of {client}"
    return Expectation(what, ", ".join(outcomes), look)


def _outcome_text(error: str) -> str:
    return TAKEN if error == "NONE" else f"{REFUSED} ({error})"


def isr_change(ask: str, node: int, broker: int, error: str = "NONE") -> Expectation:
    """How a controller answered the first request for an ISR that has a broker in it, by its own log in an
    ask step: with an error of this name, or NONE if it accepted the request."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        for one in parse_requests(run.printed(ask, node)):
            if one.api == "ALTER_PARTITION" and broker in set(_members(one.request)):
                return _outcome_text(one.error), one.error == error
        raise EvidenceMissing(f"controller {node} has answered no request for an ISR with broker {broker}")

    return Expectation(
        f"the controller on a request for broker {broker} in the ISR", _outcome_text(error), look
    )


def _members(request: dict[str, Any]) -> Iterator[int]:
    for topic in request.get("topics", ()):
        for partition in topic.get("partitions", ()):
            # Up to version 2 of the request brokers alone, from 3 on with their epochs (KIP-903).
            yield from (int(one) for one in partition.get("newIsr") or ())
            yield from (int(one["brokerId"]) for one in partition.get("newIsrWithEpochs") or ())
