"""Rules of the proxy: which requests or answers they concern, and what is done with those.

A rule is data that goes over the proxy's control socket. Whether it fits a request is decided here, by pure
functions. Nothing of this module needs more than Python, as the proxy runs in a container that has no more.
"""

from __future__ import annotations

import random
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, fields
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, Literal, NamedTuple

from harness.model.errors import BadInput, closest
from harness.model.kafka_protocol import API_KEYS, ERROR_CODES, HEADERS_ONLY

HARNESS_CLIENT = "kafka-chaos"
"""The client.id of the harness's own questions to brokers. A rule without `client` leaves them alone, since
they prove what a fault does."""

_RETRANSMISSION_SECONDS = 0.2
"""TCP_RTO_MIN of Linux; each further time-out is twice as long (RFC 6298)."""
_MOST_LOST = 6

Direction = Literal["request", "response"]
Action = Literal[
    "count",
    "delay",
    "lose",
    "bandwidth",
    "hold",
    "drop",
    "disconnect_before",
    "disconnect_after",
    "error",
    "duplicate",
    "reorder_with_next",
]
"""What is done with what a rule fits. Within a connection nothing overtakes, except by `reorder_with_next`:
what follows a delayed or held request or answer waits behind it.

- `count`: nothing; it is only counted.
- `delay`: `delay_ms`, more or less by up to `jitter_ms`.
- `lose`: as if it were one packet that the network loses with the probability `share`, each time that TCP
  sends it: it comes 200 ms later (Linux's least time-out), if lost again another 400 ms later, and so on.
- `bandwidth`: passes at most `bytes_per_second` in each connection.
- `hold`: until the rule is removed. A held request still goes to the broker if its client has given up.
- `drop`: a request does not reach the broker; an answer does not reach the client. The client gets no further
  answer on this connection, since Kafka answers in the order of requests.
- `disconnect_before`: the connection is closed; the request (or answer) is not passed on.
- `disconnect_after`: a request is passed on and the connection is closed in place of its answer; an answer is
  passed on before.
- `error`: the client gets the code `error` in place of the broker's answer. A request is not passed on; for
  `direction: response` the broker has carried it out.
- `duplicate`: the broker gets the request twice; the client gets its first answer.
- `reorder_with_next`: the broker gets the connection's next request of the rule's APIs before this one.
  Answers reach the client in the order in which it asked.
"""
REQUESTS_ONLY = frozenset({"duplicate", "reorder_with_next"})


class NamedPartition(NamedTuple):
    """A topic and partition that a message names; None: not named. `topic_id` is a UUID as text."""

    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestRule:
    """What is done (`action`) with the requests or answers that fit all of the conditions.

    Args:
        id: its name at the proxy, one of its own.
        api: Kafka's names (`Produce`, `WriteTxnMarkers`); empty: every API.
        direction: what is acted on: requests, or the answers to them.
        client: pattern of the client.id as in `fnmatch`; None: every client but the harness's own questions.
        from_nodes: ids of the nodes that send it, -1 for clients; empty: any. A broker sends an answer.
        to_nodes: ids of the nodes that receive it.
        topic: it names this topic, or `topic_id` (UUID as text), which newer versions of APIs have instead.
        partition: it names this partition, of that topic if one is given.
        nth: acts on this fit only, counted from 1 by each proxy.
        first: acts on the first fits only, this number of them.
        share: acts on this part of the fits (0 to 1), drawn from `seed` and the number of the fit.
        error: the code's name, for the action `error`.

    Raises:
        BadInput: a value that is unknown or contradicts another.
    """

    id: str
    action: Action
    api: tuple[str, ...] = ()
    direction: Direction = "request"
    client: str | None = None
    from_nodes: tuple[int, ...] = ()
    to_nodes: tuple[int, ...] = ()
    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None
    nth: int | None = None
    first: int | None = None
    share: float = 1.0
    seed: int = 0
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    bytes_per_second: int | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        for expected, found in _problems(self):
            raise BadInput("the rule cannot be used", where=f"rule {self.id}", expected=expected, found=found)

    @property
    def needs_body(self) -> bool:
        """Whether the body of a message decides if it fits."""
        return self.topic is not None or self.topic_id is not None or self.partition is not None

    def fits(self, api: str, direction: str, client: str | None, sender: int, receiver: int) -> bool:
        """Whether what a message's header and its connection tell fits; its body may still not (`fits_body`).
        `client` is its client.id."""
        if self.direction != direction or (self.api and api not in self.api):
            return False
        if self.client is None:
            if client == HARNESS_CLIENT:
                return False
        elif not fnmatchcase(client or "", self.client):
            return False
        from_fits = not self.from_nodes or sender in self.from_nodes
        return from_fits and (not self.to_nodes or receiver in self.to_nodes)

    def fits_body(self, partitions: Iterable[NamedPartition]) -> bool:
        """Whether one of the topics and partitions that a message names fits."""
        return not self.needs_body or any(self._names_it(named) for named in partitions)

    def _names_it(self, named: NamedPartition) -> bool:
        if self.partition is not None and named.partition != self.partition:
            return False
        if self.topic is None and self.topic_id is None:
            return True
        topic_fits = named.topic is not None and named.topic == self.topic
        return topic_fits or (named.topic_id is not None and named.topic_id == self.topic_id)

    def acts_on(self, number: int) -> bool:
        """Whether it acts on the fit of this number, counted from 1."""
        if self.nth is not None and number != self.nth:
            return False
        if self.first is not None and number > self.first:
            return False
        return self.share >= 1 or self._draw("share", number) < self.share

    def delay_of(self, number: int) -> float:
        """Seconds by which `delay` or `lose` delays the fit of this number, if it acts on it."""
        if self.action == "lose":
            again = (self._draw(f"lost {n}", number) < self.share for n in range(1, _MOST_LOST))
            times = 1 + len(list(takewhile(bool, again)))
            return _RETRANSMISSION_SECONDS * float(2**times - 1)
        spread = self.jitter_ms * (2 * self._draw("jitter", number) - 1) if self.jitter_ms else 0.0
        return max(0.0, self.delay_ms + spread) / 1000

    def _draw(self, what: str, number: int) -> float:
        return random.Random(f"{self.seed}/{what}/{number}").random()

    def to_json(self) -> dict[str, Any]:
        """What differs from the defaults, as JSON has it; `from_json` reads it."""
        defaults = {field.name: field.default for field in fields(self)}
        return {name: value for name, value in asdict(self).items() if value != defaults[name]}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> RequestRule:
        """Raises BadInput: a field is missing, unknown or of another type."""
        types_of = typing.get_type_hints(cls)
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
        }
        odd = [name for name in values if name not in types_of or not _is(values[name], types_of[name])]
        missing = [name for name in ("id", "action") if name not in values]
        if odd or missing:
            raise BadInput(
                "the rule cannot be read",
                where=f"rule {given.get('id', '')}".strip(),
                expected=f"{(odd or missing)[0]}: {types_of.get((odd or missing)[0], 'no such field')}",
                found=f"{odd[0]}: {given[odd[0]]!r}" if odd else "none",
            )
        return cls(**values)


def _is(value: object, kind: Any) -> bool:
    """Whether a value is of a field's type."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return isinstance(value, tuple) and all(_is(element, inner[0]) for element in value)
    if origin is Literal:
        return value in inner
    if origin is types.UnionType:
        return any(_is(value, choice) for choice in inner)
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def _problems(rule: RequestRule) -> Iterable[tuple[str, str]]:
    """What contradicts itself: expected, found."""
    for name in rule.api:
        if name not in API_KEYS:
            yield "an API by Kafka's name, such as Produce", _unknown(name, API_KEYS)
    if (rule.action == "error") != (rule.error is not None):
        yield "an error code with the action `error`, and with no other", str(rule.error)
    if rule.error is not None and rule.error not in ERROR_CODES:
        yield "an error code by Kafka's name, such as NOT_ENOUGH_REPLICAS", _unknown(rule.error, ERROR_CODES)
    unread = [name for name in rule.api if name in HEADERS_ONLY]
    if unread and (rule.action == "error" or rule.needs_body):
        yield "an API whose messages can be read", f"{unread[0]}, of ZooKeeper clusters"
    if rule.action == "error" and not rule.api:
        yield "the APIs that are answered with the error, in `api`", "none"
    if rule.action in REQUESTS_ONLY and rule.direction == "response":
        yield (
            f"`direction: request` with {rule.action}",
            "response: Kafka's clients take one answer to each request, in their order",
        )
    if (rule.action == "bandwidth") != (rule.bytes_per_second is not None):
        with_what = f"{rule.action}, {rule.bytes_per_second}"
        yield "bytes_per_second with the action `bandwidth`, and with no other", with_what
    if (rule.action == "delay") != (rule.delay_ms > 0 or rule.jitter_ms > 0):
        with_what = f"{rule.action}, {rule.delay_ms:g}, {rule.jitter_ms:g}"
        yield "delay_ms or jitter_ms with the action `delay`, and with no other", with_what
    if rule.action == "lose" and not 0 < rule.share < 1:
        yield "a share between 0 and 1 with `lose`", f"{rule.share:g}"
    if rule.nth is not None and rule.first is not None:
        yield "nth or first", "both"
    low = {"nth": rule.nth, "first": rule.first, "bytes_per_second": rule.bytes_per_second}
    for name, value in low.items():
        if value is not None and value < 1:
            yield f"{name} from 1 on", str(value)
    if not 0 <= rule.share <= 1:
        yield "a share from 0 to 1", f"{rule.share:g}"
    if rule.delay_ms < 0 or rule.jitter_ms < 0:
        yield "delay_ms and jitter_ms from 0 on", f"{rule.delay_ms:g}, {rule.jitter_ms:g}"
    if not rule.id:
        yield "an id", "none"


def _unknown(name: str, known: Iterable[str]) -> str:
    close = closest(name, known)
    return f"{name}; did you mean {close}?" if close else name


@dataclass(slots=True)
class RuleCounts:
    """What a rule has done so far, in messages. `held` are held now; `unread` may have matched, but could not
    be read; `passed` had no place for the rule's error."""

    matched: int = 0
    acted: int = 0
    held: int = 0
    released: int = 0
    dropped: int = 0
    unread: int = 0
    passed: int = 0

    def __add__(self, other: RuleCounts) -> RuleCounts:
        return RuleCounts(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def as_dict(self) -> dict[str, int]:
        """The numbers by name."""
        return asdict(self)
