"""Expectations on arms of bugs: their verdict, and the requests in the brokers' own request logs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kio.schema.errors import ErrorCode

from harness.model.result import FindingClass, VerdictWord
from harness.protocol.connection import error_name
from harness.suite.expectations import Expectation, exactly
from harness.suite.run_evidence import EvidenceMissing, FinishedRun

REQUEST_LOGGER = {"kafka.request.logger": "DEBUG"}
"""The log level at which brokers print each request that they have answered, and the answer."""
_MARK = "Completed request:"
TAKEN, REFUSED = "taken", "refused"
"""The outcome of a request: answered without an error, or with one."""


def invalid_for(finding: FindingClass) -> Expectation:
    """The check calls the run invalid, for this finding among others."""
    return _verdict(
        f"invalid: {finding.value}",
        lambda run: _word(run) is VerdictWord.INVALID and run.count(finding) > 0,
    )


def valid() -> Expectation:
    """The check calls the run valid."""
    return _verdict("valid", lambda run: _word(run) is VerdictWord.VALID)


def free_of(finding: FindingClass) -> Expectation:
    """The run has no such finding; findings that the set-up alone causes are allowed."""
    return _verdict(f"no {finding.value}", lambda run: run.count(finding) == 0)


def counted(finding: FindingClass, least: int, most: int | None = None) -> Expectation:
    """The number of findings of a class that breaks no promise, with the verdict."""
    bounds = f"at least {least:,}" if most is None else f"{least:,} to {most:,}"

    def of(run: FinishedRun) -> tuple[str, bool]:
        count = run.count(finding)
        return f"{_word(run)}: {finding.value} {count:,}", least <= count and (most is None or count <= most)

    return Expectation("verdict", f"{finding.value} {bounds}", of)


def _verdict(expected: str, holds: Callable[[FinishedRun], bool]) -> Expectation:
    return Expectation("verdict", expected, lambda run: (verdict_of(run), holds(run)))


def verdict_of(run: FinishedRun) -> str:
    """The verdict, and the findings by class: `invalid: aborted_read 1`."""
    found = [f"{finding.value} {count:,}" for finding, count in sorted(run.summary.findings.items())]
    broken = ", ".join(one for one in found if not one.startswith("recovered"))
    word = _word(run)
    return f"{word}: {broken}" if broken and word is not VerdictWord.VALID else str(word)


def _word(run: FinishedRun) -> VerdictWord:
    return run.result.judgement.verdict


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
    ask: str, broker: int, api: str, outcomes: tuple[str, ...], *, client: str, **fields: object
) -> Expectation:
    """The outcomes of a client's requests of one API, in order, by a broker's own log in an ask step.
    `fields`: only requests with these values count."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        found = [
            one.error
            for one in parse_requests(run.printed(ask, broker))
            if (one.api, one.client) == (api, client)
            and all(one.request.get(name) == value for name, value in fields.items())
        ]
        taken = tuple(TAKEN if error == "NONE" else REFUSED for error in found)
        return ", ".join(map(_outcome_text, found)) or "none", taken == outcomes

    holding = "".join(f", {name} {json.dumps(value)}" for name, value in fields.items())
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


def in_partitions(partitions: range, count: int) -> Expectation:
    """Each of these partitions holds this number of records at the end."""

    def of(run: FinishedRun) -> dict[int, int]:
        return {number: sum(row["partition"] == number for row in run.final_log) for number in partitions}

    return exactly("records by partition", dict.fromkeys(partitions, count), of)
