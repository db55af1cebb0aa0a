"""Steps about consumer groups, as data."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from faults.schedules.entries import NAME
from faults.targets import Target
from harness.model.frozen import Frozen


class RestartReader(Frozen):
    """Give every member of a reader a new client, `after` seconds after they have received `received` records
    together, counted from the beginning of the run.

    The old client is closed as an application does when it ends. With `crash: true` its process is killed
    (the reader needs `process: true`). The step ends when the new clients have subscribed. With `away: true`
    there are no new clients until the next such step, which does nothing but create them.
    """

    reader: str = Field(pattern=NAME)
    received: int = Field(0, ge=0)
    after: float = Field(0.0, ge=0, description="seconds")
    crash: bool = False
    away: bool = False
    within: float = Field(60.0, gt=0, description="seconds for each of both waits")

    def __str__(self) -> str:
        return f"{'crash' if self.crash else 'restart'} reader {self.reader}"


class SendOffsets(Frozen):
    """Add the offset of a partition to the open transaction, for a group without members
    (sendOffsetsToTransaction, KIP-98)."""

    group: str = Field(pattern=NAME)
    partition: int = Field(0, ge=0)
    offset: int = Field(1, ge=0)


class SendOffsetsCall(Frozen):
    """`send_offsets: {...}` in the list of calls."""

    send_offsets: SendOffsets

    def __str__(self) -> str:
        return f"send offset {self.send_offsets.offset} for group {self.send_offsets.group}"


class CommitOffsets(Frozen):
    """Commit an offset of one partition for `groups` groups without members, as consumers do that assign
    partitions by hand: NAME-0, NAME-1 and so on, each with one request over a connection of its own.

    The requests go to one broker, whether it is the groups' coordinator or not: `through` is a target, of
    whose brokers the first takes them that says it is the coordinator. `same_as` is the broker of an earlier
    such step; `other_than` any broker but that one. A request repeats the commit `entries` times, so that it
    takes the coordinator longer. With `retention` the commit expires after this time; it is then not asked
    for, and not judged. With `awaited: false` the step ends when all requests are written, and their
    answers are awaited at the end of the run. The cluster must take clients without TLS and password.
    """

    name: str = Field(pattern=NAME)
    through: Target | None = None
    same_as: str | None = Field(None, pattern=NAME)
    other_than: str | None = Field(None, pattern=NAME)
    groups: int = Field(1, ge=1, le=2000)
    entries: int = Field(1, ge=1, le=10_000)
    partition: int = Field(0, ge=0)
    offset: int = Field(1, ge=0)
    retention: float | None = Field(None, gt=0, description="seconds; default: the broker's")
    awaited: bool = True
    within: float = Field(30.0, gt=0, description="seconds, for the coordinator and for the answers")

    @model_validator(mode="after")
    def _one(self) -> CommitOffsets:
        given = [name for name in ("through", "same_as", "other_than") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("takes exactly one of `through`, `same_as` and `other_than`")
        return self

    @property
    def group_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{number}" for number in range(self.groups))

    def __str__(self) -> str:
        groups = "a group" if self.groups == 1 else f"{self.groups:,} groups"
        return f"commit offsets {self.name} of {groups}"


class AskOffsets(Frozen):
    """Ask every broker without a pause, for `seconds`, which offsets are committed for the groups of earlier
    `commit_offsets` steps. What changes in its answers is journaled (`offsets/` in the run folder).

    The step ends at once, so that faults of later steps happen meanwhile: this shows what a new coordinator
    answers first. With `stable: true` it asks as the Java consumer and readers of committed records do, who
    wait for offsets that are not yet committed (require_stable, KIP-447); without it as administrators and
    other clients do. The cluster must be of Kafka 3.0 or later (OffsetFetch version 8).
    """

    of: tuple[Annotated[str, Field(pattern=NAME)], ...] = Field(
        min_length=1, description="names of `commit_offsets` steps"
    )
    seconds: float = Field(15.0, gt=0, le=300)
    stable: bool = False

    def __str__(self) -> str:
        return f"ask for the offsets of {', '.join(self.of)} for {self.seconds:g} s, not awaited"
