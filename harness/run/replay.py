"""Repeats the faults of a finished run: turns its journal into a schedule of fixed times and named nodes.

The partitions also get the same initial leaders, so that a named broker leads again what it led in that run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.schedules.state import brokers_down_limit, to_the_millisecond
from harness.model.errors import BadInput, JournalError
from harness.model.journal import FAULTS_FILE, SAMPLES_DIR, FaultPhase
from harness.model.journal_reader import fault_events, journal_rows, reason_of
from harness.model.run import RunMeta, StepInfo
from harness.spec.experiment import Experiment
from harness.spec.step import name_of
from harness.spec.steps import Inject, Write

_ROOM_SECONDS = 15.0
"""A replayed step with a limit on brokers down continues for this long after its last fault is due."""


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """One fault of a run as journaled: its spec with the nodes that were chosen, and its times (epoch ns).

    `at` and `lasting` are the schedule's seconds, if it had one; `healed_ns` is when it was undone (or None).
    """

    name: str
    fault: dict[str, Any]
    decided_ns: int
    healed_ns: int | None
    at: float | None
    lasting: float | None


def replay_run(
    experiments: Sequence[Experiment], folder: Path, seed: int | None, arms: list[str] | None
) -> tuple[list[Experiment], int, list[str]]:
    """The experiment with the faults of the run in `folder`, the seed, and the names of the arms to run. Seed
    and arms are those of that run unless given.

    Raises:
        BadInput: there is not exactly one experiment, or it is not that of the run.
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
    """The experiment with the faults of the run in `folder`, at the times and on the nodes of that run, even
    where these were random or depended on a condition. Each partition begins with the leader and the replicas
    that it had, as far as the run's samples show them.

    Raises:
        BadInput: it is not the run's experiment, or the run did not complete all of its steps.
        JournalError: the folder holds no run, or its faults cannot be read.
    """
    meta = RunMeta.load(folder)
    _require_same_experiment(experiment, meta, folder)
    injected = _injected_faults(folder)
    steps = []
    for step, info in zip(experiment.steps, meta.steps, strict=True):
        ended_ns = info.ended_ns or meta.ended_ns or 2**63
        mine = [fault for fault in injected if info.started_ns <= fault.decided_ns <= ended_ns]
        if isinstance(step.action, Write):
            steps.append({"write": _replayed_write(step.action, info, mine)})
        elif isinstance(step.action, Inject) and mine:
            steps.append({"inject": {**step.action.model_dump(by_alias=True), "fault": mine[0].fault}})
        else:
            steps.append(step.model_dump(by_alias=True, exclude_none=True))
    data = {**experiment.model_dump(by_alias=True), "steps": steps}
    placed = experiment.topic.assignment or _initial_assignment(experiment, folder / SAMPLES_DIR, meta.topic)
    data["topic"] = {**experiment.topic.model_dump(), "assignment": placed}
    return Experiment.model_validate(data)


def _initial_assignment(experiment: Experiment, samples: Path, topic: str) -> list[list[int]] | None:
    """The brokers of each partition when the run began, the leader first; None: no sample shows all of them.

    Only the first samples count: the ISR of a new topic is its replicas, in the order of their assignment.
    """
    assignment: dict[int, list[int]] = {}
    # If the journal was cut off, the faults can be repeated, but on partitions with other leaders.
    with suppress(JournalError):
        for row in journal_rows(samples, ("topic", "partition", "leader", "isr")):
            leader, isr = row["leader"], row["isr"] or ()
            if row["topic"] != topic or len(isr) != experiment.topic.replication_factor or leader not in isr:
                continue
            assignment.setdefault(row["partition"], [leader, *(broker for broker in isr if broker != leader)])
            if len(assignment) == experiment.topic.partitions:
                return [assignment[number] for number in range(experiment.topic.partitions)]
    return None


def _require_same_experiment(experiment: Experiment, meta: RunMeta, folder: Path) -> None:
    mine = [name_of(step.action, index) for index, step in enumerate(experiment.steps)]
    theirs = [step.name for step in meta.steps]
    if (experiment.name, mine) == (meta.experiment, theirs):
        return
    short = experiment.name == meta.experiment and theirs == mine[: len(theirs)]
    raise BadInput(
        "the run cannot be replayed: it did not reach the last step"
        if short
        else "the run is not one of this experiment",
        where=str(folder),
        expected=f"{experiment.name}: {', '.join(mine)}",
        found=f"{meta.experiment}: {', '.join(theirs)}",
        next_step="name a run of the same experiment that completed all steps",
    )


def _replayed_write(write: Write, info: StepInfo, injected: Sequence[InjectedFault]) -> dict[str, Any]:
    """The write step with explicit faults.

    With a limit on brokers down, faults wait for heals, which may take longer than in that run. Writing then
    continues for `_ROOM_SECONDS` after the last fault is due, so that the last ones are injected too.
    """
    entries: list[dict[str, Any]] = []
    for fault in injected:
        at = max(0.0, (fault.decided_ns - info.started_ns) / 1e9) if fault.at is None else fault.at
        ended_ns = fault.healed_ns or info.ended_ns or fault.decided_ns
        lasting = (ended_ns - fault.decided_ns) / 1e9 if fault.lasting is None else fault.lasting
        times = {"at": to_the_millisecond(at), "for": max(0.001, round(lasting, 3))}
        entries.append({"fault": fault.fault, "name": fault.name, **times})
    entries.sort(key=lambda entry: entry["at"])
    limit = brokers_down_limit(write.faults, write.at_most_down)
    seconds = write.seconds
    if seconds is not None and limit is not None and entries:
        seconds = max(seconds, entries[-1]["at"] + _ROOM_SECONDS)
    return {**write.model_dump(by_alias=True), "faults": entries, "at_most_down": limit, "seconds": seconds}


def _injected_faults(folder: Path) -> list[InjectedFault]:
    """The faults of a run in the order of their decisions, without deferred ones."""
    try:
        by_name: dict[str, dict[str, tuple[int, dict[str, Any]]]] = {}
        for row in fault_events(folder):
            phases = by_name.setdefault(row["fault"], {})
            phases.setdefault(row["phase"], (row["at_ns"], json.loads(row["detail"])))
        faults = [
            _injected_fault(name, phases)
            for name, phases in by_name.items()
            if FaultPhase.PUT_OFF not in phases
        ]
    except (JournalError, KeyError, ValueError) as error:
        raise JournalError(
            "the journal of faults cannot be read",
            where=str(folder / FAULTS_FILE),
            expected="one row per fault event, as `kafka-chaos run` writes it",
            found=reason_of(error),
            next_step="replay another run",
        ) from error
    return sorted(faults, key=lambda fault: fault.decided_ns)


def _injected_fault(name: str, phases: dict[str, tuple[int, dict[str, Any]]]) -> InjectedFault:
    decided_ns, decided = phases[FaultPhase.DECIDED]
    # A fault that could not be aimed has no nodes: its spec stays as it is.
    _, aimed = phases.get(FaultPhase.AIMED, (0, {}))
    return InjectedFault(
        name=name,
        fault=with_named_nodes(decided["spec"], aimed.get("chosen", ())),
        decided_ns=decided_ns,
        healed_ns=phases[FaultPhase.UNDONE][0] if FaultPhase.UNDONE in phases else None,
        at=decided.get("at"),
        lasting=decided.get("for"),
    )


def with_named_nodes(spec: Any, chosen: Sequence[dict[str, Any]]) -> Any:
    """A fault's JSON with each `target` in `chosen` replaced by the `nodes` there, which it matched."""
    for pair in chosen:
        if spec == pair["target"]:
            return {"nodes": pair["nodes"]}
    if isinstance(spec, dict):
        return {key: with_named_nodes(value, chosen) for key, value in spec.items()}
    if isinstance(spec, list):
        return [with_named_nodes(value, chosen) for value in spec]
    return spec
