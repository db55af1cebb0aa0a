"""A client's connection through the proxy to a broker: requests one way, answers the other, and what rules do
with both."""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from harness.model.kafka_protocol import api_name
from harness.model.node_layout import CLIENT
from harness.model.request_rules import Part
from harness.proxy import bodies
from harness.proxy.error_answers import error_answer, with_error
from harness.proxy.frames import SASL_HANDSHAKE, AnswerHead, RequestHead, answer_head, request_head
from harness.proxy.lane import Budget, Lane, Waiting
from harness.proxy.listeners import ListenerSpec, Traffic
from harness.proxy.rewriting import Addresses
from harness.proxy.rule_book import ActiveRule, RuleBook
from harness.proxy.streams import Stream, Treatment

_ORPHAN_SECONDS = 30.0


@dataclass(slots=True, eq=False)
class Asked:
    """A request whose answer the client has not got. `answer` is there and waits for its turn."""

    head: RequestHead
    answer: bytes | None = None
    own: bool = False
    """The proxy itself has answered."""
    ready: float = 0.0
    silent: bool = False
    """It is never answered, and so none after it."""
    closes: bool = False
    """The connection is closed in place of its answer."""

    @property
    def api(self) -> str:
        return api_name(self.head.key)


@dataclass(slots=True)
class Shared:
    """What all connections of a proxy share."""

    book: RuleBook
    budget: Budget
    largest_frame: int
    lane_bytes: int
    peers: dict[str, int] = field(default_factory=dict)
    addresses: Addresses | None = None


class Connection:
    """The pair of TCP connections, opened by a client."""

    def __init__(self, shared: Shared, spec: ListenerSpec, traffic: Traffic) -> None:
        self.shared, self.spec, self.traffic = shared, spec, traffic
        self.node, self.peer = spec.node, CLIENT
        self.asked: deque[Asked] = deque()
        self.swallowed: set[int] = set()
        self.next_spare = -2
        self.client, self.broker = _Requests(self), _Answers(self)
        self.client.other, self.broker.other = self.broker, self.client
        self.requests = Lane(shared.budget, self.broker.write)
        self.answers = Lane(shared.budget, self.client.write)
        self.requests.on_sent = self._requests_sent
        self.answers.on_sent = self.broker.read_again
        self.closed = False
        self.client_lost = False

    def opened(self) -> None:
        """A client has connected: connect to the broker."""
        self.peer = self.shared.peers.get(self.client.transport.get_extra_info("peername")[0], CLIENT)
        self.traffic.connections += 1
        self.traffic.open += 1
        self.shared.book.on_remove.append(self._let_go)
        self._task = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self.broker, *self.spec.upstream)
        except OSError:
            self.traffic.unreachable += 1
            self.close()
            return
        if self.closed:
            self.broker.transport.close()
        self.client.read_on("connecting")

    def close(self) -> None:
        """Close both, after what was passed on has been sent."""
        if self.closed:
            return
        self.closed = True
        self.traffic.open -= 1
        self.shared.book.on_remove.remove(self._let_go)
        for lane in (self.requests, self.answers):
            lane.on_sent = lambda: None
            lane.clear()
        for stream in (self.client, self.broker):
            if stream.transport is not None:
                stream.transport.close()

    def lost(self, stream: Stream) -> None:
        """One of the two has ended. What waits for the broker still goes there, and what waits for the client
        goes to the client."""
        if self.closed:
            return
        if stream is self.client:
            self.client_lost = True
            self.answers.clear()
            if not len(self.requests):
                self.close()
        elif len(self.answers) and not self.client_lost:
            self.requests.clear()
            self.answers.add(Waiting(b"", sent=self.close))
        else:
            self.close()

    def refuse(self, what: str) -> None:
        self.traffic.refused += 1
        self.traffic.last_refusal = what
        self.close()

    def has_room(self, stream: Stream, lane: Lane, size: int) -> bool:
        if lane.bytes and lane.bytes + size > self.shared.lane_bytes:
            return False
        if self.shared.budget.has_room(size):
            return True
        self.shared.budget.when_free(stream.read_again)
        return False

    def outcome(self, acting: list[tuple[ActiveRule, int]], lane: Lane, size: int) -> Waiting:
        """When a frame may go, and which rule holds it."""
        found = Waiting(b"")
        now = asyncio.get_running_loop().time()
        for active, number in acting:
            rule = active.rule
            if rule.action == "delay":
                found.ready = max(found.ready, now) + rule.delay_of(number)
            elif rule.bytes_per_second is not None:
                found.ready = max(found.ready, lane.paced(rule.id, size, rule.bytes_per_second))
            elif rule.action in ("hold", "reorder_with_next"):
                found.held_by = found.held_by or active
                found.overtaken = rule.action == "reorder_with_next"
        return found

    def flush(self) -> None:
        """Give the client the answers whose turn it is."""
        while self.asked and self.asked[0].answer is not None:
            asked = self.asked.popleft()
            if asked.closes:
                self.close()
                return
            self._deliver(asked, asked.answer or b"")
        if self.client_lost and not self.asked and not len(self.requests):
            self.close()

    def _deliver(self, asked: Asked, frame: bytes) -> None:
        if asked.own:
            self.answers.add(Waiting(frame, ready=asked.ready))
            return
        if self.shared.addresses is not None:
            frame = self.shared.addresses.rewritten(asked.head, frame)
        acting = self.book_acting(asked, frame)
        item = self.outcome(acting, self.answers, len(frame))
        for active in (active for active, _ in acting):
            action = active.rule.action
            if action == "drop":
                active.counters.dropped += 1
                asked.silent, asked.answer = True, None
                self.asked.appendleft(asked)
                return
            if action == "error":
                changed = with_error(asked.head, frame, active.rule.error or "")
                active.counters.passed += changed is None
                frame = changed or frame
            if action == "disconnect_before":
                frame = b""
            if action in ("disconnect_before", "disconnect_after"):
                item.sent = self.close
        item.data = frame
        self.answers.add(item)

    def book_acting(self, asked: Asked, frame: bytes) -> list[tuple[ActiveRule, int]]:
        fitting = self.shared.book.fitting(asked.api, "response", asked.head.client, self.node, self.peer)
        parts = None
        if any(active.rule.needs_body for active in fitting):
            parts = self._parts(bodies.read_answer, asked.head, frame)
        return self.shared.book.acting(fitting, parts)

    def _parts(self, read: Any, head: RequestHead, frame: bytes) -> frozenset[Part] | None:
        try:
            return frozenset(bodies.parts(read(head.key, head.version, frame)))
        except bodies.Unreadable:
            return None

    def act_on_request(self, head: RequestHead, frame: bytes) -> None:
        """Decide what becomes of a complete request."""
        api = api_name(head.key)
        asked = Asked(head)
        fitting = self.shared.book.fitting(api, "request", head.client, self.peer, self.node)
        parts = None
        if any(active.rule.needs_body for active in fitting):
            parts = self._parts(bodies.read_request, head, frame)
        acting = self.shared.book.acting(fitting, parts)
        item = self.outcome(acting, self.requests, len(frame))
        item.data = frame
        copies = 0
        for active in (active for active, _ in acting):
            action = active.rule.action
            if action == "disconnect_before":
                item.data, item.sent = b"", self.close
                self.requests.add(item)
                return
            if action == "drop":
                active.counters.dropped += 1
                if head.answered:
                    asked.silent = True
                    self.asked.append(asked)
                return
            if action == "error":
                answer = error_answer(head, frame, active.rule.error or "")
                if answer is not None and head.answered:
                    asked.own, asked.answer, asked.ready = True, answer, item.ready
                    self.asked.append(asked)
                    self.flush()
                    return
                if not head.answered:  # A broker closes the connection, too.
                    self.close()
                    return
                active.counters.passed += 1
            if action == "disconnect_after":
                asked.closes = head.answered
                item.sent = None if head.answered else self.close
            copies += action == "duplicate"
        if head.answered:
            self.asked.append(asked)
        item.dropped = lambda: setattr(asked, "silent", True)
        self.requests.add(item)
        for _ in range(copies):
            self._send_again(head, frame)

    def _send_again(self, head: RequestHead, frame: bytes) -> None:
        if head.answered:
            self.next_spare -= 1
            self.swallowed.add(self.next_spare)
            frame = frame[:8] + struct.pack(">i", self.next_spare) + frame[12:]
        self.requests.add(Waiting(frame))

    def _let_go(self, active: ActiveRule, drop: bool) -> None:
        for lane in (self.requests, self.answers):
            lane.let_go(active, drop=drop)

    def _requests_sent(self) -> None:
        self.client.read_again()
        if self.client_lost and not len(self.requests):
            if any(not one.silent and one.answer is None for one in self.asked):
                asyncio.get_running_loop().call_later(_ORPHAN_SECONDS, self.close)
            else:
                self.close()


class _Requests(Stream):
    """What comes from the client."""

    def __init__(self, pair: Connection) -> None:
        super().__init__()
        self._pair = pair
        self._stops.add("connecting")
        self._current: RequestHead | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._pair.opened()

    def look(self, data: memoryview) -> RequestHead | int:
        return request_head(data, self._pair.shared.largest_frame)

    def treat(self, head: RequestHead) -> Treatment:
        pair = self._pair
        book = pair.shared.book
        api = api_name(head.key)
        fitting = book.fitting(api, "request", head.client, pair.peer, pair.node)
        return Treatment.COLLECT if fitting or len(pair.requests) else Treatment.PASS

    def has_room(self, size: int) -> bool:
        return self._pair.has_room(self, self._pair.requests, size)

    def begins(self, head: RequestHead, treatment: Treatment) -> None:
        self._pair.traffic.count(head)
        self._current = head
        if treatment is Treatment.PASS and head.answered:
            self._pair.asked.append(Asked(head))

    def passed(self) -> None:
        head = self._current
        if head is not None and head.key == SASL_HANDSHAKE and head.version == 0:
            # Its tokens follow without headers (KIP-43).
            self.opaque = True
            self._pair.traffic.opaque += 1

    def collected(self, head: RequestHead, frame: bytes) -> None:
        self._pair.act_on_request(head, frame)
        self.passed()

    def garbage(self, what: str) -> None:
        self._pair.refuse(what)

    def received(self, size: int) -> None:
        self._pair.traffic.bytes_in += size

    def lost(self) -> None:
        self._pair.lost(self)


class _Answers(Stream):
    """What comes from the broker."""

    def __init__(self, pair: Connection) -> None:
        super().__init__()
        self._pair = pair
        self._passing: Asked | None = None

    def look(self, data: memoryview) -> AnswerHead | int:
        return answer_head(data, self._pair.shared.largest_frame)

    def treat(self, head: AnswerHead) -> Treatment:
        pair = self._pair
        asked = self._find(head)
        if asked is None or pair.client_lost or pair.asked[0].silent:
            return Treatment.DISCARD
        addresses = pair.shared.addresses
        if asked is pair.asked[0] and not asked.closes and not len(pair.answers):
            key = asked.head.key
            fitting = pair.shared.book.fitting(asked.api, "response", asked.head.client, pair.node, pair.peer)
            if not fitting and (addresses is None or key not in addresses.keys):
                return Treatment.PASS
        return Treatment.COLLECT

    def has_room(self, size: int) -> bool:
        return self._pair.has_room(self, self._pair.answers, size)

    def begins(self, head: AnswerHead, treatment: Treatment) -> None:
        pair = self._pair
        asked = self._find(head)
        self._passing = None
        if head.correlation in pair.swallowed:
            pair.swallowed.discard(head.correlation)
        elif asked is None:
            pair.traffic.unasked += 1
        elif treatment is Treatment.PASS:
            self._passing = asked
        elif treatment is Treatment.DISCARD:
            pair.asked.remove(asked)

    def passed(self) -> None:
        pair = self._pair
        if self._passing is not None:
            head = self._passing.head
            pair.asked.remove(self._passing)
            self._passing = None
            self.opaque = head.key == SASL_HANDSHAKE and head.version == 0
        pair.flush()

    def collected(self, head: AnswerHead, frame: bytes) -> None:
        asked = self._find(head)
        if asked is not None:
            asked.answer = frame
            self._pair.flush()

    def garbage(self, what: str) -> None:
        self._pair.refuse(f"from the broker: {what}")

    def received(self, size: int) -> None:
        self._pair.traffic.bytes_out += size

    def lost(self) -> None:
        self._pair.lost(self)

    def _find(self, head: AnswerHead) -> Asked | None:
        waiting = (one for one in self._pair.asked if one.head.correlation == head.correlation)
        return next((one for one in waiting if one.answer is None), None)
