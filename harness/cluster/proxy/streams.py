"""One direction of a connection: cuts what arrives into frames, and passes on what nobody asks for."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from enum import Enum
from typing import Any

from harness.cluster.proxy.frames import NotKafka

_WRITE_BUFFER = 1 << 20


class Treatment(Enum):
    """What is done with a frame."""

    PASS = 1
    """Its bytes go on as they come."""
    COLLECT = 2
    """It is kept until it is complete."""
    DISCARD = 3


class FrameStream(asyncio.Protocol):
    """One of the two TCP connections of a pair: what it receives goes to the other, frame by frame."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.other: FrameStream
        self.opaque = False
        """What comes is passed on unread from now on."""
        self._left = 0
        """Bytes of the current frame that are still to come, and pass or are discarded."""
        self._discarded = False
        self._frame: bytearray | None = None
        self._head: Any = None
        self._wanted = 0
        self._begun = b""
        """What has come of the next frame's head."""
        self._later: bytes | None = None
        """What has come and waits for room."""
        self._stops: set[str] = set()

    @abstractmethod
    def look(self, data: memoryview) -> Any:
        """The head of the frame that begins here, or how many bytes are needed. Raises NotKafka."""

    @abstractmethod
    def treat(self, head: Any) -> Treatment: ...

    @abstractmethod
    def has_room(self, size: int) -> bool:
        """Whether a frame of this size may be kept now; if not, `read_again` must be called later."""

    @abstractmethod
    def begins(self, head: Any, treatment: Treatment) -> None: ...

    @abstractmethod
    def passed(self) -> None:
        """The last byte of a frame was passed on or discarded."""

    @abstractmethod
    def collected(self, head: Any, frame: bytes) -> None: ...

    @abstractmethod
    def garbage(self, what: str) -> None: ...

    @abstractmethod
    def received(self, size: int) -> None: ...

    @abstractmethod
    def lost(self) -> None: ...

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(high=_WRITE_BUFFER)

    def connection_lost(self, _: Exception | None) -> None:
        self.lost()

    def pause_writing(self) -> None:
        self.other.stop_reading("writing")

    def resume_writing(self) -> None:
        self.other.read_on("writing")

    def stop_reading(self, why: str) -> None:
        if not self._stops and self.transport is not None:
            self.transport.pause_reading()
        self._stops.add(why)

    def read_on(self, why: str) -> None:
        self._stops.discard(why)
        if not self._stops and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def read_again(self) -> None:
        """There may be room for what has waited."""
        if self._later is None or self.other.transport is None or self.transport.is_closing():
            return
        data, self._later = self._later, None
        self._feed(data)
        if self._later is None:
            self.read_on("room")

    def write(self, data: bytes | memoryview) -> None:
        """Send to this connection's peer."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        self.received(len(data))
        if self.other.transport is None:
            # Not stopped before: Python 3.11.2 reads on if a transport is paused as soon as it is made.
            self.stop_reading("connecting")
            self._later = (self._later or b"") + data
        elif self._later is not None:
            self._later += data
        else:
            self._feed(data)

    def _feed(self, data: bytes) -> None:
        if self._begun:
            data, self._begun = self._begun + data, b""
        view = memoryview(data)
        # Whole frames and parts of frames that pass go on in one piece: from `start` to `at`.
        at = start = 0
        while at < len(view):
            if self._left:
                took = min(self._left, len(view) - at)
                at += took
                self._left -= took
                if self._discarded:
                    start = at
                if not self._left:
                    # Only here may something else be written, between two frames.
                    start = self._send(view, start, at)
                    self.passed()
            elif self._frame is not None:
                took = min(self._wanted - len(self._frame), len(view) - at)
                self._frame += view[at : at + took]
                at = start = at + took
                if len(self._frame) == self._wanted:
                    frame, self._frame = bytes(self._frame), None
                    self.collected(self._head, frame)
            elif self.opaque:
                at = len(view)
            else:
                try:
                    head = self.look(view[at:])
                except NotKafka as error:
                    self._send(view, start, at)
                    self.garbage(str(error))
                    return
                if isinstance(head, int):
                    self._begun = bytes(view[at:])
                    break
                treatment = self.treat(head)
                if treatment is Treatment.COLLECT and not self.has_room(head.size):
                    self._later = bytes(view[at:])
                    self.stop_reading("room")
                    break
                if treatment is not Treatment.PASS:
                    start = self._send(view, start, at)
                self.begins(head, treatment)
                if treatment is Treatment.COLLECT and at + head.size <= len(view):
                    at = start = at + head.size
                    self.collected(head, bytes(view[at - head.size : at]))
                elif treatment is Treatment.COLLECT:
                    self._frame, self._head, self._wanted = bytearray(), head, head.size
                    start = at
                else:
                    self._left, self._discarded = head.size, treatment is Treatment.DISCARD
            if self.transport.is_closing():
                return
        self._send(view, start, at)

    def _send(self, view: memoryview, start: int, at: int) -> int:
        if at > start:
            self.other.write(view[start:at])
        return at
