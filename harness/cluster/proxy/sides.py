"""The two sides of a connection through the proxy: the client's, which sends requests, and the broker's."""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol

from harness.cluster.proxy.asked import Asked, Shared
from harness.cluster.proxy.frames import SASL_HANDSHAKE, AnswerHead, RequestHead, answer_head, request_head
from harness.cluster.proxy.lane import Lane
from harness.cluster.proxy.listeners import Traffic
from harness.cluster.proxy.streams import FrameStream, Treatment
from harness.model.kafka_protocol import api_name


class Pair(Protocol):
    """What the sides need of their connection."""

    shared: Shared
    traffic: Traffic
    node: int
    peer: int
    asked: deque[Asked]
    swallowed: set[int]
    requests: Lane
    answers: Lane
    client_lost: bool

    def opened(self) -> None: ...
    def lost(self, stream: FrameStream) -> None: ...
    def refuse(self, what: str) -> None: ...
    def has_room(self, stream: FrameStream, lane: Lane, size: int) -> bool: ...
    def act_on_request(self, head: RequestHead, frame: bytes) -> None: ...
    def flush(self) -> None: ...


class RequestStream(FrameStream):
    """What comes from the client."""

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self._pair = pair
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
        collect = fitting or len(pair.requests) or pair.shared.produced.lacks(head)
        return Treatment.COLLECT if collect else Treatment.PASS

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
        if self._pair.shared.produced.lacks(head):
            self._pair.shared.produced.note(head, frame)
        self._pair.act_on_request(head, frame)
        self.passed()

    def garbage(self, what: str) -> None:
        self._pair.refuse(what)

    def received(self, size: int) -> None:
        self._pair.traffic.bytes_in += size

    def lost(self) -> None:
        self._pair.lost(self)


class AnswerStream(FrameStream):
    """What comes from the broker."""

    def __init__(self, pair: Pair) -> None:
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
        special = asked.closes or asked.begins is not None
        if asked is pair.asked[0] and not special and not len(pair.answers):
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
            pair.asked.remove(self._passing)
            self._answered(self._passing.head)
            self._passing = None
        pair.flush()

    def collected(self, head: AnswerHead, frame: bytes) -> None:
        asked = self._find(head)
        if asked is not None:
            asked.answer = frame
            self._answered(asked.head)
            self._pair.flush()

    def _answered(self, head: RequestHead) -> None:
        self.opaque = self.opaque or (head.key == SASL_HANDSHAKE and head.version == 0)

    def garbage(self, what: str) -> None:
        self._pair.refuse(f"from the broker: {what}")

    def received(self, size: int) -> None:
        self._pair.traffic.bytes_out += size

    def lost(self) -> None:
        self._pair.lost(self)

    def _find(self, head: AnswerHead) -> Asked | None:
        waiting = (asked for asked in self._pair.asked if asked.head.correlation == head.correlation)
        return next((asked for asked in waiting if asked.answer is None), None)
