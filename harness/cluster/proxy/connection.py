"""A client's connection through the proxy to a broker: what rules do with its requests and their answers."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections import deque
from contextlib import suppress
from typing import Any

from harness.cluster.proxy import bodies
from harness.cluster.proxy.asked import Asked, Shared
from harness.cluster.proxy.error_answers import error_answer, with_error
from harness.cluster.proxy.fetch_sessions import within_session
from harness.cluster.proxy.frames import FETCH, RequestHead
from harness.cluster.proxy.lane import Lane, Waiting
from harness.cluster.proxy.listeners import ListenerSpec, Traffic
from harness.cluster.proxy.rule_book import ActiveRule, Fitting
from harness.cluster.proxy.sides import AnswerStream, RequestStream
from harness.cluster.proxy.streams import FrameStream
from harness.model.kafka_protocol import api_name
from harness.model.node_layout import CLIENT
from harness.model.request_rules import NamedPartition

_ORPHAN_SECONDS = 30.0


class Connection:
    """The pair of TCP connections, opened by a client."""

    def __init__(self, shared: Shared, spec: ListenerSpec, traffic: Traffic) -> None:
        self.shared, self.spec, self.traffic = shared, spec, traffic
        self.node, self.peer = spec.node, CLIENT
        self.asked: deque[Asked] = deque()
        self.swallowed: set[int] = set()
        self.next_spare = -2
        self.client, self.broker = RequestStream(self), AnswerStream(self)
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
        tls = self.spec.tls.broker.context if self.spec.tls else None
        try:
            await loop.create_connection(lambda: self.broker, *self.spec.upstream, ssl=tls)
        except OSError as error:
            self.traffic.unreachable += 1
            if isinstance(error, ssl.SSLError):
                self.traffic.last_refusal = f"from the broker: {error}"
            self.close()
            return
        if self.closed:
            self.broker.transport.close()
        self.client.read_again()
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

    def lost(self, stream: FrameStream) -> None:
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

    def has_room(self, stream: FrameStream, lane: Lane, size: int) -> bool:
        if lane.bytes and lane.bytes + size > self.shared.lane_bytes:
            return False
        if self.shared.budget.has_room(size):
            return True
        self.shared.budget.when_free(stream.read_again)
        return False

    def outcome(self, acting: list[tuple[ActiveRule, int]], lane: Lane, size: int) -> Waiting:
        """When a frame may go, and which rule holds it."""
        waiting = Waiting(b"")
        now = asyncio.get_running_loop().time()
        for active, number in acting:
            rule = active.rule
            if rule.action in ("delay", "lose"):
                waiting.ready = max(waiting.ready, now) + rule.delay_of(number)
            elif rule.bytes_per_second is not None:
                waiting.ready = max(waiting.ready, lane.paced(rule.id, size, rule.bytes_per_second))
            elif rule.action in ("hold", "reorder_with_next"):
                waiting.held_by = waiting.held_by or active
                waiting.overtaken = rule.action == "reorder_with_next"
        return waiting

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
        if asked.begins is not None:
            self._learn(asked, frame)
        if self.shared.addresses is not None:
            frame = self.shared.addresses.rewritten(asked.head, frame)
        acting = self._acting_on_answer(asked, frame)
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

    def _learn(self, asked: Asked, frame: bytes) -> None:
        with suppress(bodies.Unreadable):
            answer = bodies.read_answer(asked.head.key, asked.head.version, frame)
            self.shared.sessions[self.node].begun(asked.begins or frozenset(), answer)

    def _acting_on_answer(self, asked: Asked, frame: bytes) -> list[tuple[ActiveRule, int]]:
        fitting = self.shared.book.fitting(asked.api, "response", asked.head.client, self.node, self.peer)
        partitions = None
        if any(active.rule.needs_body for active in fitting):
            partitions = self._partitions(bodies.read_answer, asked.head, frame)
        return self.shared.book.acting(fitting, partitions)

    def _partitions(self, read: Any, head: RequestHead, frame: bytes) -> frozenset[NamedPartition] | None:
        try:
            return frozenset(bodies.partitions(read(head.key, head.version, frame)))
        except bodies.Unreadable:
            return None

    def act_on_request(self, head: RequestHead, frame: bytes) -> None:
        """Decide what becomes of a complete request."""
        api = api_name(head.key)
        asked = Asked(head)
        fitting = self.shared.book.fitting(api, "request", head.client, self.peer, self.node)
        partitions = None
        if head.key == FETCH and any(_needs_session(active) for active in fitting):
            partitions = self._fetched(asked, frame, fitting)
            if asked.own:
                self.asked.append(asked)
                self.flush()
                return
        elif any(active.rule.needs_body for active in fitting):
            partitions = self._partitions(bodies.read_request, head, frame)
        acting = self.shared.book.acting(fitting, partitions)
        item = self.outcome(acting, self.requests, len(frame))
        item.data, item.fitting = frame, fitting
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

    def _fetched(self, asked: Asked, frame: bytes, fitting: Fitting) -> frozenset[NamedPartition] | None:
        """What a Fetch request asks for. A session is ended if its partitions are not known, and if the
        request would have to name them, to be answered with an error for each."""
        head = asked.head
        try:
            request = bodies.read_request(head.key, head.version, frame)
        except bodies.Unreadable:
            return None
        partitions = self.shared.sessions[self.node].named_by(request)
        fails = any(active.rule.action == "error" and active.may_act for active in fitting)
        if partitions is None or (fails and within_session(request)):
            asked.own, asked.answer = True, error_answer(head, frame, "FETCH_SESSION_ID_NOT_FOUND")
        elif not within_session(request):
            asked.begins = partitions
        return partitions

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
            if any(not asked.silent and asked.answer is None for asked in self.asked):
                asyncio.get_running_loop().call_later(_ORPHAN_SECONDS, self.close)
            else:
                self.close()


def _needs_session(active: ActiveRule) -> bool:
    return active.rule.needs_body or active.rule.action == "error"
