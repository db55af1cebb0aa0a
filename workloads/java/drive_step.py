"""The step in which a Java producer makes its calls one by one, as data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faults.schedules.entries import NAME
from harness.model.frozen import Frozen
from workloads.groups.group_steps import SendOffsets, SendOffsetsCall
from workloads.records.record.identity import PREFIX


class Send(Frozen):
    """Send `records` to a partition, each of `size` bytes (default: the workload's record_size), and wait for
    their reports; with `awaited: false` wait only at the end of the run."""

    partition: int = Field(0, ge=0)
    records: int = Field(1, ge=1, le=100_000)
    size: int | None = Field(None, ge=PREFIX, le=100_000_000)
    awaited: bool = True

    def __str__(self) -> str:
        amount = f"{self.records:,} record{'s' if self.records > 1 else ''}"
        size = "" if self.size is None else f" of {self.size:,} bytes"
        return f"send {amount}{size} to partition {self.partition}" + (
            "" if self.awaited else ", not awaited"
        )


class SendCall(Frozen):
    """`send: {...}` in the list of calls."""

    send: Send

    def __str__(self) -> str:
        return str(self.send)


Call = Literal["begin", "commit", "abort", "flush"] | SendCall | SendOffsetsCall


class Drive(Frozen):
    """A Java producer makes calls one after the other, each when the previous one has returned.

    `by` names the producer, which is created when it is first named. The journals have the outcome of each
    call, even if it fails. `begin`, `commit`, `abort` and `send_offsets` are for transactions.
    """

    name: str = Field(pattern=NAME)
    by: str = Field("first", pattern=NAME)
    do: tuple[Call, ...] = Field(min_length=1)

    @property
    def sends(self) -> tuple[Send, ...]:
        return tuple(call.send for call in self.do if isinstance(call, SendCall))

    @property
    def offsets(self) -> tuple[SendOffsets, ...]:
        return tuple(call.send_offsets for call in self.do if isinstance(call, SendOffsetsCall))

    def __str__(self) -> str:
        return f"drive {self.name}, {self.by}: {', '.join(map(str, self.do))}"
