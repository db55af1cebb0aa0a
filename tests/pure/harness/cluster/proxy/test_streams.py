"""Streams cut into frames, in whatever pieces the bytes come."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cluster.proxy.frames import AnswerHead, NotKafka, answer_head
from harness.cluster.proxy.streams import FrameStream, Treatment

pytestmark = pytest.mark.pure


class Transport:
    def __init__(self) -> None:
        self.written = b""
        self.closing = self.paused = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.closing

    def set_write_buffer_limits(self, high: int) -> None:
        assert high > 0

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class Sorted(FrameStream):
    """Treats a frame by its number modulo 3; `room` is whether it may collect."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[bytes] = []
        self.begun: list[int] = []
        self.refused: list[str] = []
        self.ended = self.size = 0
        self.room = True

    def look(self, data: memoryview) -> Any:
        return answer_head(data, 1000)

    def treat(self, head: AnswerHead) -> Treatment:
        return (Treatment.PASS, Treatment.COLLECT, Treatment.DISCARD)[head.correlation % 3]

    def has_room(self, size: int) -> bool:  # noqa: ARG002
        return self.room

    def begins(self, head: AnswerHead, treatment: Treatment) -> None:  # noqa: ARG002
        self.begun.append(head.correlation)

    def passed(self) -> None:
        self.ended += 1

    def collected(self, head: Any, frame: bytes) -> None:  # noqa: ARG002
        self.kept.append(frame)

    def garbage(self, what: str) -> None:
        self.refused.append(what)
        self.transport.closing = True

    def received(self, size: int) -> None:
        self.size += size

    def lost(self) -> None: ...


def connected() -> tuple[Sorted, Transport]:
    """A stream, and what the other side gets."""
    stream, other, there = Sorted(), Sorted(), Transport()
    stream.other, other.other = other, stream
    stream.connection_made(Transport())
    other.connection_made(there)
    return stream, there


def frame(number: int, size: int) -> bytes:
    return struct.pack(">ii", size + 4, number) + bytes(size)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 50)), max_size=8),
    st.lists(st.integers(1, 60), max_size=40),
)
def test_pieces_do_not_matter(frames: list[tuple[int, int]], cuts: list[int]) -> None:
    made = [(number, frame(number, size)) for number, size in frames]
    data = b"".join(one for _, one in made)
    stream, there = connected()
    at = 0
    for cut in (*cuts, len(data)):
        if piece := data[at : at + cut]:
            stream.data_received(piece)
        at += cut
    assert there.written == b"".join(one for number, one in made if number % 3 == 0)
    assert stream.kept == [one for number, one in made if number % 3 == 1]
    assert stream.begun == [number for number, _ in made]
    assert stream.ended == sum(number % 3 != 1 for number, _ in made)
    assert stream.size == len(data)


def test_without_room_nothing_is_lost() -> None:
    stream, there = connected()
    stream.room = False
    data = frame(0, 5) + frame(1, 5) + frame(3, 5)
    stream.data_received(data)
    stream.data_received(frame(6, 5))
    assert there.written == frame(0, 5)
    assert stream.transport.paused
    stream.room = True
    stream.read_again()
    assert (stream.kept, stream.transport.paused) == ([frame(1, 5)], False)
    assert there.written == frame(0, 5) + frame(3, 5) + frame(6, 5)


def test_what_comes_before_the_other_side_is_there_is_kept() -> None:
    stream, other, there = Sorted(), Sorted(), Transport()
    stream.other, other.other = other, stream
    stream.connection_made(Transport())
    stream.data_received(frame(0, 5)[:7])
    stream.data_received(frame(0, 5)[7:])
    assert stream.transport.paused
    other.connection_made(there)
    stream.read_again()
    stream.read_on("connecting")
    assert there.written == frame(0, 5)
    assert not stream.transport.paused


def test_garbage_after_frames_ends_it_with_these_passed_on() -> None:
    stream, there = connected()
    stream.data_received(frame(0, 5) + b"GET / HTTP/1.1" + frame(3, 5))
    assert there.written == frame(0, 5)
    assert len(stream.refused) == 1
    with pytest.raises(NotKafka):
        answer_head(memoryview(b"GET / HT"), 1000)


def test_opaque_bytes_pass() -> None:
    stream, there = connected()
    stream.opaque = True
    stream.data_received(b"GET / HTTP/1.1")
    assert there.written == b"GET / HTTP/1.1"
