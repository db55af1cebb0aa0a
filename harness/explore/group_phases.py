"""What consumer groups and share groups were doing when a fault hit, from their journals.

rebalancing         a partition that a group has read is owned by no member of it; or a member of a share
                    group is gone, stands still, or has joined and been given nothing yet
coordinator_moving  the broker that last answered about a group's offsets does not answer any more, or it
                    answered with an error
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ShareMembers:
    """What happened to members of share groups, in order of time, and when each of their clients, by member
    and session, was given its first record."""

    events: Sequence[Mapping[str, Any]]
    first: Mapping[tuple[str, int], int]

    @classmethod
    def of(cls, events: Iterable[Mapping[str, Any]], deliveries: Iterable[Mapping[str, Any]]) -> ShareMembers:
        first: dict[tuple[str, int], int] = {}
        for row in deliveries:
            client = row["member"], row["session"]
            first[client] = min(row["acquired_ns"], first.get(client, row["acquired_ns"]))
        about = (row for row in events if row["event"] in _WORKS)
        return cls(sorted(about, key=lambda row: int(row["at_ns"])), first)

    def rebalancing(self, at_ns: int) -> bool:
        """Whether a member did not take records at a moment."""
        last: dict[str, Mapping[str, Any]] = {}
        for row in self.events:
            if row["at_ns"] <= at_ns:
                last[row["member"]] = row
        return any(
            not _WORKS[row["event"]] or self.first.get((row["member"], row["session"]), at_ns + 1) > at_ns
            for row in last.values()
        )


_WORKS = {"joined": True, "resumed": True, "killed": False, "died": False, "closing": False, "paused": False}
"""Whether a member takes records after the event."""


@dataclass(frozen=True, slots=True)
class GroupEvents:
    """Rows of the journal of assignments, and of what brokers answered about offsets, in order of time.
    Members of a group are readers with the same name but for the number at its end."""

    assignments: Sequence[Mapping[str, Any]]
    answers: Sequence[Mapping[str, Any]]
    share: ShareMembers = ShareMembers((), {})

    @classmethod
    def of(
        cls,
        assignments: Iterable[Mapping[str, Any]],
        offsets: Iterable[Mapping[str, Any]],
        share: ShareMembers = ShareMembers((), {}),
    ) -> GroupEvents:
        answers = [row for row in offsets if row["source"] == "fetch"]
        return cls(
            sorted(assignments, key=lambda row: int(row["at_ns"])),
            sorted(answers, key=lambda row: int(row["at_ns"])),
            share,
        )

    def rebalancing(self, at_ns: int) -> bool:
        """Whether a partition has no owner, or a member of a share group takes no records, at a moment."""
        owners: dict[tuple[str, int], set[str]] = {}
        for row in self.assignments:
            if row["at_ns"] > at_ns:
                break
            mine = owners.setdefault((row["reader"].rpartition("-")[0], row["partition"]), set())
            if row["event"] == "assigned":
                mine.add(row["reader"])
            else:
                mine.discard(row["reader"])
        return any(not mine for mine in owners.values()) or self.share.rebalancing(at_ns)

    def coordinator_moving(self, at_ns: int, silent: frozenset[int]) -> bool:
        """Whether a coordinator is away at a moment; `silent` are the brokers that did not answer then."""
        last: dict[str, Mapping[str, Any]] = {}
        for row in self.answers:
            if row["at_ns"] > at_ns:
                break
            last[row["group"]] = row
        return any(row["error"] is not None or row["broker"] in silent for row in last.values())
