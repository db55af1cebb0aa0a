"""Repeats the faults of a finished run: its journal becomes a schedule of fixed times and named nodes.

Its partitions begin on the same brokers: a broker that is named would not be the leader again otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.schedules.state import brokers_down_limit, to_the_millisecond
from harness.model.errors import BadInput, JournalError
from harness.model.journal import FAULTS_FILE, SAMPLES_DIR, FaultPhase
from harness.model.journal_reader import fault_events, journal_batches, reason_of
from harness.model.run import RunMeta, StepInfo
from harness.spec.experiment import Experiment
from harness.spec.steps import KIND, Inject, Write

_ROOM_SECONDS = 15.0
"""A replayed step under a limit lasts this much longer than until its last fault is due."""


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """One fault of a run as journaled: its spec with the nodes that were chosen, and when (epoch ns).

    `at` and `lasting` are the schedule's own seconds, where it was one of a schedule; `healed_ns` is when it
    was taken back (None: it was not).
    """

    name: str
    fault: dict[str, Any]
    decided_ns: int
    healed_ns: int | None
    at: float | None
    lasting: float | None


def replayed(
    experiments: Sequence[Experiment], folder: Path, seed: int | None, arms: list[str] | None
) -> tuple[list[Experiment], int, list[str]]:
    """The only experiment with the faults of the run in `folder`; seed and arm are that run's unless given.

    Raises:
        BadInput: not exactly one experiment, or not the run's.
        JournalError: the folder holds no run, or its faults cannot be read.
    """
    meta = RunMeta.load(folder)
    if len(experiments) != 1:
        raise BadInput(
            "--replay repeats one run",
            expected="one experiment",
            found=f"{len(experiments)}",
            next_step="name only the experiment of that run",
        )
    seed = meta.seed if seed is None else seed
    return [replay(experiments[0], folder)], seed, arms or [meta.arm]


def replay(experiment: Experiment, folder: Path) -> Experiment:
    """The experiment with the faults of the run in `folder`: what was random or hung on a condition has the
    time and the nodes that it had then. Each partition begins with the leader and the replicas that it had,
    as far as the run's samples tell.

    Raises:
        BadInput: it is not the run's experiment, or the run did not get through all of its steps.
        JournalError: the folder holds no run, or its faults cannot be read.
    """
    meta = RunMeta.load(folder)
    _same(experiment, meta, folder)
    happened = _happened(folder)
    steps = []
    for step, info in zip(experiment.steps, meta.steps, strict=True):
        ended_ns = info.ended_ns or meta.ended_ns or 2**63
        mine = [one for one in happened if info.started_ns <= one.decided_ns <= ended_ns]
        if isinstance(step.action, Write):
            steps.append({"write": _write(step.action, info, mine)})
        elif isinstance(step.action, Inject) and mine:
            steps.append({"inject": {**step.action.model_dump(by_alias=True), "fault": mine[0].fault}})
        else:
            steps.append(step.model_dump(by_alias=True, exclude_none=True))
    data = {**experiment.model_dump(by_alias=True), "steps": steps}
    placed = experiment.topic.assignment or _began_on(experiment, folder / SAMPLES_DIR, meta.topic)
    data["topic"] = {**experiment.topic.model_dump(), "assignment": placed}
    return Experiment.model_validate(data)


def _began_on(experiment: Experiment, samples: Path, topic: str) -> list[list[int]] | None:
    """The brokers of each partition when the run began, the leader first; None: no sample shows all of them.

    Of the first samples only: a new topic's ISR is its replicas in the order of their assignment.
    """
    names = ("topic", "partition", "leader", "isr")
    found: dict[int, list[int]] = {}
    try:
        for batch in journal_batches(samples, names):
            for row in batch.to_pylist():
                leader, isr = row["leader"], row["isr"] or ()
                if row["topic"] != topic or len(isr) != experiment.topic.replication_factor:
                    continue
                if leader in isr:
                    others = [broker for broker in isr if broker != leader]
                    found.setdefault(row["partition"], [leader, *others])
            if len(found) == experiment.topic.partitions:
                return [found[number] for number in range(experiment.topic.partitions)]
    except JournalError:
        # A journal that was cut off: the faults are repeated all the same, on partitions of other leaders.
        return None
    return None


def _same(experiment: Experiment, meta: RunMeta, folder: Path) -> None:
    mine = [
        (step.action.name if isinstance(step.action, Write) else f"{KIND[type(step.action)]}-{index}")
        for index, step in enumerate(experiment.steps)
    ]
    theirs = [step.name for step in meta.steps]
    if (experiment.name, mine) == (meta.experiment, theirs):
        return
    short = experiment.name == meta.experiment and theirs == mine[: len(theirs)]
    raise BadInput(
        "the run cannot be replayed: it did not get to the last step"
        if short
        else "the run is not one of this experiment",
        where=str(folder),
        expected=f"{experiment.name}: {', '.join(mine)}",
        found=f"{meta.experiment}: {', '.join(theirs)}",
        next_step="name a run of the same experiment that went through all steps",
    )


def _write(write: Write, info: StepInfo, happened: Sequence[InjectedFault]) -> dict[str, Any]:
    """A write step with explicit faults.

    Under a limit on brokers down they wait for heals, which may take longer than they did in that run: so
    that the last ones get their turn, writing goes on for a while after the last one is due.
    """
    entries: list[dict[str, Any]] = []
    for one in happened:
        at = max(0.0, (one.decided_ns - info.started_ns) / 1e9) if one.at is None else one.at
        lasting = one.lasting
        if lasting is None:
            lasting = ((one.healed_ns or info.ended_ns or one.decided_ns) - one.decided_ns) / 1e9
        entries.append(
            {
                "fault": one.fault,
                "at": to_the_millisecond(at),
                "for": max(0.001, round(lasting, 3)),
                "name": one.name,
            }
        )
    entries.sort(key=lambda entry: entry["at"])
    limit = brokers_down_limit(write.faults, write.at_most_down)
    seconds = write.seconds
    if seconds is not None and limit is not None and entries:
        seconds = max(seconds, entries[-1]["at"] + _ROOM_SECONDS)
    return {**write.model_dump(by_alias=True), "faults": entries, "at_most_down": limit, "seconds": seconds}


def _happened(folder: Path) -> list[InjectedFault]:
    """The faults of a run in the order of their decisions, without those that were put off."""
    try:
        by_name: dict[str, dict[str, tuple[int, dict[str, Any]]]] = {}
        for row in fault_events(folder):
            moments = by_name.setdefault(row["fault"], {})
            moments.setdefault(row["phase"], (row["at_ns"], json.loads(row["detail"])))
        found = [
            _one(name, moments) for name, moments in by_name.items() if FaultPhase.PUT_OFF not in moments
        ]
    except (JournalError, KeyError, ValueError) as error:
        raise JournalError(
            "the journal of faults cannot be read",
            where=str(folder / FAULTS_FILE),
            expected="one row a fault event, as `kafka-chaos run` writes it",
            found=reason_of(error),
            next_step="replay another run",
        ) from error
    return sorted(found, key=lambda one: one.decided_ns)


def _one(name: str, moments: dict[str, tuple[int, dict[str, Any]]]) -> InjectedFault:
    decided_ns, decided = moments[FaultPhase.DECIDED]
    # A fault that could not be aimed has no nodes: it stays as it was written.
    _, aimed = moments.get(FaultPhase.AIMED, (0, {}))
    return InjectedFault(
        name=name,
        fault=pinned(decided["spec"], aimed.get("chosen", ())),
        decided_ns=decided_ns,
        healed_ns=moments[FaultPhase.UNDONE][0] if FaultPhase.UNDONE in moments else None,
        at=decided.get("at"),
        lasting=decided.get("for"),
    )


def pinned(spec: Any, chosen: Sequence[dict[str, Any]]) -> Any:
    """A fault's JSON with every target replaced by the nodes that it meant; `chosen` holds pairs of `target`
    and `nodes`."""
    for pair in chosen:
        if spec == pair["target"]:
            return {"nodes": pair["nodes"]}
    if isinstance(spec, dict):
        return {key: pinned(value, chosen) for key, value in spec.items()}
    if isinstance(spec, list):
        return [pinned(value, chosen) for value in spec]
    return spec
