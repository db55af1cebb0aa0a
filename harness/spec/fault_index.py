"""Lists the faults of an experiment with their paths in the file, and replaces or removes faults of it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import ValidationError

from faults import Fault
from faults.schedules.brokers_down import Begun
from faults.schedules.entries import Random
from faults.shared.fault_spec import FaultSpec
from harness.model.errors import BadInput, words_of
from harness.spec.experiment import Experiment
from harness.spec.problems import faults_before, left_open
from harness.spec.step import Action
from harness.spec.step_faults import LocatedFault, faults_of_steps
from harness.spec.steps import Ask, Inject, Sleep, Wait, Write


def located_faults(experiment: Experiment) -> Iterator[LocatedFault]:
    """Every fault of every step, including those of menus, sequences and groups, in the order of the file."""
    return faults_of_steps(experiment.steps)


def with_faults(experiment: Experiment, faults: Mapping[str, FaultSpec]) -> Experiment:
    """The experiment with these faults at their paths (as in `located_faults`)."""
    data = experiment.model_dump(by_alias=True)
    for where, fault in faults.items():
        *way, last = re.findall(r"\w+", where if where.endswith(".fault") else f"{where}.fault")
        node: Any = data
        for key in way:
            node = node[int(key)] if key.isdigit() else node[key]
        node[last] = fault.model_dump(by_alias=True)
    return Experiment.model_validate(data)


def without_faults(experiment: Experiment, paths: Container[str]) -> Experiment:
    """The experiment without the faults at these paths (as in `located_faults`); entries and steps that
    become empty are removed.

    Raises:
        BadInput: the rest is invalid: an entry waits for a removed one, or no step is left.
    """
    steps = []
    for number, step in enumerate(experiment.steps):
        if step.inject is not None and f"steps[{number}].inject" in paths:
            continue
        if step.write is not None:
            kept = _remaining(step.write.faults, f"steps[{number}].write.faults", paths)
            step = step.model_copy(update={"write": step.write.model_copy(update={"faults": kept})})
        steps.append(step)
    changed = experiment.model_copy(update={"steps": tuple(steps)})
    try:
        return Experiment.model_validate(changed.model_dump(by_alias=True))
    except ValidationError as error:
        raise BadInput(
            "the experiment is not valid without the faults that are skipped",
            where=experiment.name,
            found=words_of(error),
            next_step="write `if_impossible: refuse`, or let no other entry wait for one that may be skipped",
        ) from error


def _remaining(entries: Sequence[Any], around: str, paths: Container[str]) -> tuple[Any, ...]:
    kept = []
    for number, entry in enumerate(entries):
        where = f"{around}[{number}]"
        empty = f"{where}.fault" in paths
        for key in ("sequence", "together"):
            if key in type(entry).model_fields:
                rest = _remaining(getattr(entry, key), f"{where}.{key}", paths)
                entry, empty = entry.model_copy(update={key: rest}), not rest
        if isinstance(entry, Random):
            menu = tuple(
                choice
                for index, choice in enumerate(entry.random.menu)
                if f"{where}.random.menu[{index}].fault" not in paths
            )
            entry = entry.model_copy(update={"random": entry.random.model_copy(update={"menu": menu})})
            empty = not menu
        if not empty:
            kept.append(entry)
    return tuple(kept)


def schedule_seed(seed: int, write: Write) -> str:
    """The seed of the random choices of a write step."""
    return f"{seed}/{write.name}"


def down_before(experiment: Experiment, index: int) -> int:
    """The largest number of brokers that inject steps before this step may leave down."""
    faults = faults_before(experiment.steps, index).values()
    return sum(fault.max_brokers_down(experiment.shape) for fault in faults)


def open_before(experiment: Experiment, index: int) -> tuple[Begun, ...]:
    """The faults that inject steps before this step may leave open, in order."""
    opened = left_open(experiment.steps, index)
    numbers = {number for number in range(index) if f"steps[{number}].inject" in opened}
    first = min(numbers, default=0)

    def steady(number: int) -> bool:
        """Whether no leader can have changed since the first of them, but for faults that are still open."""
        between = range(first, number)
        injects = {node for node in between if experiment.steps[node].inject is not None}
        return injects <= numbers and all(_keeps_leaders(experiment.steps[node].action) for node in between)

    return tuple(
        Begun(opened[f"steps[{number}].inject"].fault, ("step", number), steady(number))
        for number in sorted(numbers)
    )


def _keeps_leaders(action: Action) -> bool:
    """Whether no leader can have changed by this step, but for the fault of an inject step."""
    if isinstance(action, Write):
        return not action.faults
    return isinstance(action, Inject | Wait | Sleep | Ask)


def fault_specs() -> dict[str, type[FaultSpec]]:
    """Every fault that experiment files may name, by its name."""
    return {spec.name(): spec for spec in sorted(get_args(get_args(Fault)[0]), key=lambda spec: spec.name())}
