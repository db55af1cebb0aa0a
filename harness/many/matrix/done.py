"""What a matrix has done to the cluster, in one line: runs, records, steps, and the faults of each level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checkers import share_of
from faults.schedules.entries import Part, Random, ScheduleEntry, SequencePart, TogetherPart
from harness.many.matrix.result import MatrixResult
from harness.many.matrix.spec import MatrixSpec
from harness.spec.run_plan import describe_fault
from harness.spec.steps import Inject, Write

_MOST_LEVELS = 6
"""Levels with faults of their own that are told one by one."""


def what_was_done(result: MatrixResult) -> str:
    """The number of runs, the records of each, what was written, and which faults were open meanwhile."""
    numbers = [len(arm.runs) for arm in result.arms if arm.runs]
    sent = [run.sent for arm in result.arms for run in arm.runs if run.counts]
    if not sent:
        return ""
    each = f"{_count(numbers, 'run')} of each of {_count([len(numbers)], 'configuration')}"
    return f"Done: {each}, {_count(sent, 'record')} per run. {'; '.join(_actions(result))}."


def one_run_in_words(result: MatrixResult) -> str:
    """How little it shows if no configuration has more than one run that counts; "" if one has more."""
    if max((arm.figures.runs for arm in result.arms if arm.figures is not None), default=0) != 1:
        return ""
    most = f"{share_of(0, 1).high:.0%}"
    return f"one run of each shows little: what it did not show may yet happen in up to {most} of runs"


def _count(numbers: Sequence[int], noun: str) -> str:
    """ "5 runs", "3 to 5 runs"."""
    least, most = min(numbers), max(numbers)
    span = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{span} {noun}{'' if most == 1 else 's'}"


def _actions(result: MatrixResult) -> Iterator[str]:
    spec = MatrixSpec.model_validate(result.spec)
    base = [step.action for step in spec.base.steps]
    levels = [
        (f"{axis}={label}", level)
        for axis, one in spec.axes.items()
        for label, level in one.levels.items()
        if level.faults is not None or level.steps is not None
    ]
    hurt = any(isinstance(action, Inject) or (isinstance(action, Write) and action.faults) for action in base)
    if everywhere := _steps(base):
        yield f"Each run: {everywhere}"
    for name, level in levels[:_MOST_LEVELS]:
        if level.steps is not None:
            instead = " instead" if everywhere else ""
            yield f"{name}{instead}: {_steps([step.action for step in level.steps])}"
        else:
            instead = " instead" if hurt else ""
            yield f"{name}{instead}: {' and '.join(map(_entry, level.faults or ())) or 'no fault'}"
    if len(levels) > _MOST_LEVELS:
        yield f"and {len(levels) - _MOST_LEVELS} more levels with faults of their own"
    if not levels and not hurt:
        yield "no fault"


def _steps(actions: Sequence[object]) -> str:
    """What is written and what is broken, in order; waiting and healing are left out."""
    return ", then ".join(_step(action) for action in actions if isinstance(action, Write | Inject))


def _step(action: Write | Inject) -> str:
    if isinstance(action, Inject):
        return f"`{describe_fault(action.fault)}`"
    amount = f"for {action.seconds:g} s" if action.records is None else _count([action.records], "record")
    faults = " and ".join(map(_entry, action.faults))
    return f"write {amount}" + (f" during {faults}" if faults else "")


def _entry(entry: ScheduleEntry | Part | SequencePart | TogetherPart) -> str:
    """An entry of a write step's faults in words."""
    if isinstance(entry, Random):
        menu = entry.random
        kinds = ", ".join(dict.fromkeys(choice.fault.name() for choice in menu.menu))
        return f"a random choice of {kinds} every {menu.every[0]:g} to {menu.every[1]:g} s"
    if isinstance(entry, SequencePart):
        words = f"({', then '.join(map(_entry, entry.sequence))})"
    elif isinstance(entry, TogetherPart):
        words = f"({' together with '.join(map(_entry, entry.together))})"
    else:
        words = f"`{describe_fault(entry.fault)}`"
    every, at, after = (getattr(entry, name, None) for name in ("every", "at", "after"))
    words += f" every {every:g} s" if every is not None else ""
    words += f" at {at:g} s" if at is not None else ""
    words += f" for {entry.lasting:g} s" if isinstance(entry, Part) else ""
    return words + (f" when {after}" if after is not None else "")
