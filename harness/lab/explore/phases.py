"""The phase that the cluster was in when a fault hit, from the run's own journals.

    electing          a partition has no leader, its leader does not answer, or brokers disagree on the leader
    isr_shrunk        an ISR is not full, while another fault is open
    recovering        an ISR is not full, or a broker does not answer, and every other fault has been undone
    steady            none of these

In addition to one of these:

    transaction_open    a transaction was open
    rebalancing         a partition that a group has read is owned by no member of it; or a member of a share
                        group is gone, stands still, or has joined and been given nothing yet
    coordinator_moving  the broker that last answered about a group's offsets does not answer any more, or it
                        answered with an error

What brokers believed is the last sample before the fault was injected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.model import group_journal, journal, share_journal
from harness.model.broker_views import newness
from harness.model.errors import JournalError
from harness.model.frozen import Frozen
from harness.model.journal import FaultPhase
from harness.model.journal_reader import fault_events, journal_rows, reason_of


class ClusterPhase(StrEnum):
    """See the module's docstring."""

    STEADY = "steady"
    ISR_SHRUNK = "isr_shrunk"
    ELECTING = "electing"
    RECOVERING = "recovering"
    TRANSACTION_OPEN = "transaction_open"
    REBALANCING = "rebalancing"
    COORDINATOR_MOVING = "coordinator_moving"


ADDITIONAL = (ClusterPhase.TRANSACTION_OPEN, ClusterPhase.REBALANCING, ClusterPhase.COORDINATOR_MOVING)
"""Phases that come in addition to one of the others."""
_WORKS = {"joined": True, "resumed": True, "killed": False, "died": False, "closing": False, "paused": False}
"""Whether a member of a share group takes records after the event."""


class ObservedFault(Frozen):
    """A fault of a schedule as it happened: `place` is its number there (from 0). `phases` are those that the
    cluster was in when it was injected (empty: there is no sample). `verified`: its effect was seen."""

    place: int
    phases: tuple[ClusterPhase, ...]
    verified: bool


@dataclass(frozen=True, slots=True)
class BrokerBelief:
    """Leader and leader epoch of a partition, and the size of its ISR, as one broker believes."""

    leader: int
    epoch: int
    isr: int


@dataclass(frozen=True, slots=True)
class SampledMoment:
    """One sample: what each broker that answered believes about each partition; `silent` did not answer."""

    at_ns: int
    beliefs: Mapping[int, Mapping[int, BrokerBelief]]
    silent: frozenset[int]


@dataclass(frozen=True, slots=True)
class Hit:
    """A fault that was injected: when, whether it was verified, and until when it lasted."""

    number: int
    injected_ns: int
    undone_ns: int
    verified: bool


def phases_at(
    moments: Sequence[SampledMoment], at_ns: int, *, replicas: int, others_open: bool, transaction: bool
) -> tuple[ClusterPhase, ...]:
    """The phases at a moment; `moments` in order of time, `replicas` is the replication factor."""
    before = [moment for moment in moments if moment.at_ns <= at_ns]
    if not before:
        return ()
    phase = _phase(before[-1], silent_at(moments, at_ns), replicas, others_open)
    return (phase, ClusterPhase.TRANSACTION_OPEN) if transaction else (phase,)


def _phase(now: SampledMoment, silent: frozenset[int], replicas: int, others_open: bool) -> ClusterPhase:
    by_partition: dict[int, list[tuple[int, BrokerBelief]]] = {}
    for broker, beliefs in now.beliefs.items():
        for partition, belief in beliefs.items():
            by_partition.setdefault(partition, []).append((broker, belief))
    shrunk = False
    for believed in by_partition.values():
        newest = max(believed, key=lambda pair: newness(pair[0], pair[1].leader, pair[1].epoch))[1]
        disagree = len({(belief.leader, belief.epoch) for _, belief in believed}) > 1
        if newest.leader < 0 or newest.leader in silent or disagree:
            return ClusterPhase.ELECTING
        shrunk = shrunk or newest.isr < replicas
    if not by_partition:
        return ClusterPhase.ELECTING
    if shrunk and others_open:
        return ClusterPhase.ISR_SHRUNK
    if shrunk or (silent and not others_open):
        return ClusterPhase.RECOVERING
    return ClusterPhase.STEADY


def observed_faults(folder: Path, replicas: int) -> tuple[ObservedFault, ...]:
    """Each fault of a run's write step that was injected, in the schedule's order.

    Raises:
        JournalError: a journal cannot be read.
    """
    with JournalError.for_errors(
        (JournalError, KeyError, ValueError),
        "a journal of the run cannot be read",
        where=folder,
        expected="faults, samples and transactions as `kafka-chaos run` writes them",
        found=reason_of,
        next_step="move the run's folder away; `kafka-chaos explore --resume` then makes it again",
    ):
        hits = hits_of(fault_events(folder)) if (folder / journal.FAULTS_FILE).exists() else []
        moments = moments_of(journal_rows(folder / journal.SAMPLES_DIR)) if hits else []
        open_ns = [
            (row["begun_ns"], row["ended_ns"]) for row in journal_rows(folder / journal.TRANSACTIONS_DIR)
        ]
        share = ShareMembers(
            journal_rows(folder / share_journal.SHARE_EVENTS_DIR),
            journal_rows(folder / share_journal.DELIVERIES_DIR, ["member", "session", "acquired_ns"]),
        )
        groups = GroupEvents(
            journal_rows(folder / group_journal.ASSIGNMENTS_DIR),
            journal_rows(folder / group_journal.OFFSETS_DIR),
        )
    observed = []
    for hit in hits:
        at_ns, others = hit.injected_ns, [other for other in hits if other.number != hit.number]
        phases = phases_at(
            moments,
            at_ns,
            replicas=replicas,
            others_open=any(other.injected_ns <= at_ns < other.undone_ns for other in others),
            transaction=any(begun <= at_ns and (ended is None or at_ns < ended) for begun, ended in open_ns),
        )
        if phases and (groups.rebalancing(at_ns) or share.rebalancing(at_ns)):
            phases += (ClusterPhase.REBALANCING,)
        if phases and groups.coordinator_moving(at_ns, silent_at(moments, at_ns)):
            phases += (ClusterPhase.COORDINATOR_MOVING,)
        observed.append(ObservedFault(place=hit.number, phases=phases, verified=hit.verified))
    return tuple(observed)


def silent_at(moments: Sequence[SampledMoment], at_ns: int) -> frozenset[int]:
    """The brokers that missed the last two samples before a moment: one may be missed on a busy machine."""
    before = [moment.silent for moment in moments if moment.at_ns <= at_ns][-2:]
    return frozenset.intersection(*before) if before else frozenset()


def hits_of(rows: Sequence[Mapping[str, Any]]) -> list[Hit]:
    """The faults that were injected, from rows of the journal of faults."""
    events: dict[str, dict[str, tuple[int, str]]] = {}
    for row in rows:
        events.setdefault(row["fault"], {}).setdefault(row["phase"], (row["at_ns"], row["detail"]))
    hits = []
    for moments in events.values():
        if FaultPhase.INJECTED not in moments or FaultPhase.DECIDED not in moments:
            continue
        entry = re.fullmatch(r"faults\[(\d+)\]", json.loads(moments[FaultPhase.DECIDED][1]).get("entry", ""))
        if entry is None:
            continue
        # `aimed` is just before the effect; `injected` is after it, when a kill has already shrunk an ISR.
        hit_ns = moments.get(FaultPhase.AIMED, moments[FaultPhase.INJECTED])[0]
        undone_ns = moments[FaultPhase.UNDONE][0] if FaultPhase.UNDONE in moments else 2**63 - 1
        hits.append(Hit(int(entry[1]), hit_ns, undone_ns, FaultPhase.VERIFIED in moments))
    return sorted(hits, key=lambda hit: hit.number)


def moments_of(rows: Iterable[Mapping[str, Any]]) -> list[SampledMoment]:
    """Samples in order of time, from rows of their journal."""
    beliefs: dict[int, dict[int, dict[int, BrokerBelief]]] = {}
    silent: dict[int, set[int]] = {}
    for row in rows:
        at, broker = row["at_ns"], row["broker"]
        mine = beliefs.setdefault(at, {})
        if not row["answered"]:
            silent.setdefault(at, set()).add(broker)
        elif row["partition"] is not None:
            mine.setdefault(broker, {})[row["partition"]] = BrokerBelief(
                row["leader"], row["leader_epoch"], len(row["isr"] or ())
            )
    return [SampledMoment(at, beliefs[at], frozenset(silent.get(at, ()))) for at in sorted(beliefs)]


class ShareMembers:
    """What happened to members of share groups, and when each of their clients, by member and session, was
    given its first record: rows of the journals of their events and of deliveries."""

    def __init__(self, events: Iterable[Mapping[str, Any]], deliveries: Iterable[Mapping[str, Any]]) -> None:
        self._events = [row for row in events if row["event"] in _WORKS]
        self._first: dict[tuple[str, int], int] = {}
        for row in deliveries:
            client = row["member"], row["session"]
            self._first[client] = min(row["acquired_ns"], self._first.get(client, row["acquired_ns"]))

    def rebalancing(self, at_ns: int) -> bool:
        """Whether a member did not take records at a moment."""
        return any(
            not _WORKS[row["event"]] or self._first.get((row["member"], row["session"]), at_ns + 1) > at_ns
            for row in _last_rows(self._events, at_ns, "member")
        )


class GroupEvents:
    """What happened to groups: rows of the journal of assignments, and what brokers answered about offsets.
    Members of a group are readers with the same name but for the number at its end."""

    def __init__(
        self, assignments: Iterable[Mapping[str, Any]], offsets: Iterable[Mapping[str, Any]]
    ) -> None:
        self._assignments = list(assignments)
        self._answers = [row for row in offsets if row["source"] == "fetch"]

    def rebalancing(self, at_ns: int) -> bool:
        """Whether a partition has no owner at a moment."""
        owned: dict[tuple[str, int], bool] = {}
        for row in _last_rows(self._assignments, at_ns, "reader", "partition"):
            partition = row["reader"].rpartition("-")[0], row["partition"]
            owned[partition] = owned.get(partition, False) or row["event"] == "assigned"
        return not all(owned.values())

    def coordinator_moving(self, at_ns: int, silent: frozenset[int]) -> bool:
        """Whether a coordinator is away at a moment; `silent` are the brokers that did not answer then."""
        last = _last_rows(self._answers, at_ns, "group")
        return any(row["error"] is not None or row["broker"] in silent for row in last)


def _last_rows(rows: Sequence[Mapping[str, Any]], at_ns: int, *columns: str) -> list[Mapping[str, Any]]:
    """The last row at a moment for each combination of values of these columns."""
    past = sorted((row for row in rows if row["at_ns"] <= at_ns), key=lambda row: int(row["at_ns"]))
    return list({tuple(row[name] for name in columns): row for row in past}.values())
