"""One schedule drawn from a menu, as data, and the experiment that it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from harness.experiment import Arm, Experiment

if TYPE_CHECKING:
    from harness.explore.menu import Level, Menu

GRID = 0.5
"""Seconds: moments and windows are multiples of it, so that there is an end to making them smaller."""
WRITE = "steady"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Planned(_Frozen):
    """A fault of the menu (by its name) `at` so many seconds after writing began, for `lasting` seconds."""

    name: str
    at: float = Field(ge=0)
    lasting: float = Field(gt=0)

    @property
    def end(self) -> float:
        return self.at + self.lasting


class Trial(_Frozen):
    """A schedule. `settings` names the level of each setting that has not its default; `rate` is in records/s
    (0: the menu's first); `rest` is for how long writing goes on after the last fault (None: the menu's)."""

    settings: dict[str, str] = {}
    faults: tuple[Planned, ...] = ()
    rate: int = Field(default=0, ge=0)
    rest: float | None = None

    def __hash__(self) -> int:
        return hash((frozenset(self.settings.items()), self.faults, self.rate, self.rest))

    def __str__(self) -> str:
        faults = ", ".join(f"{one.name} at {one.at:g} s for {one.lasting:g} s" for one in self.faults)
        return f"{settings_told(self.settings)}: {faults or 'no fault'}"

    def holds(self, other: Trial) -> bool:
        """Whether this has all that another has: its settings, and as many of each of its faults."""
        mine = [one.name for one in self.faults]
        theirs = [one.name for one in other.faults]
        return all(self.settings.get(axis) == label for axis, label in other.settings.items()) and all(
            mine.count(name) >= theirs.count(name) for name in theirs
        )


def settings_told(settings: Mapping[str, str]) -> str:
    """`acks=1, min-isr=1`."""
    return ", ".join(f"{axis}={label}" for axis, label in settings.items()) or "defaults"


def seconds_of(menu: Menu, trial: Trial) -> float:
    """How long is written."""
    rest = menu.rest if trial.rest is None else trial.rest
    return max(1.0, max((one.end for one in trial.faults), default=0.0) + rest)


def rate_of(menu: Menu, trial: Trial) -> int:
    return trial.rate or menu.rates[0]


def experiment_of(
    menu: Menu, trial: Trial, *, name: str = "explore", arm: str = "found", control: bool = False
) -> Experiment:
    """The experiment that runs a schedule; `control` adds an arm with every setting at its default.

    Raises:
        ValueError (also as pydantic's ValidationError): it is not possible.
    """
    arms = [(arm, trial.settings)]
    if control and trial.settings:
        arms.append(("defaults", {}))
    base = _workload(menu, trial.settings)
    return Experiment.model_validate(
        {
            "name": name,
            "title": str(trial),
            "cluster": menu.cluster.model_dump(),
            "topic": menu.topic.model_dump(),
            "workload": base,
            "steps": [{"write": _write(menu, trial)}],
            "arms": [_arm(menu, label, settings, base) for label, settings in arms],
        }
    )


def _write(menu: Menu, trial: Trial) -> dict[str, Any]:
    return {
        "name": WRITE,
        "seconds": seconds_of(menu, trial),
        "rate": rate_of(menu, trial),
        "at_most_down": menu.at_most_down,
        "faults": [
            {"fault": menu.fault(one.name).fault, "at": one.at, "for": one.lasting} for one in trial.faults
        ],
    }


def _arm(menu: Menu, name: str, settings: Mapping[str, str], base: dict[str, Any]) -> Arm:
    levels = list(_levels(menu, settings))
    producer = _over(menu.producer, (level.producer for level in levels), "producer")
    workload = _workload(menu, settings)
    given: dict[str, Any] = {
        "name": name,
        "producer": producer,
        "topic": _over({}, (level.topic for level in levels), "topic"),
    }
    return Arm.model_validate(given if workload == base else given | {"workload": workload})


def _workload(menu: Menu, settings: Mapping[str, str]) -> dict[str, Any]:
    base = menu.workload.model_dump(exclude_unset=True)
    return _over(base, (level.workload for level in _levels(menu, settings)), "workload")


def _levels(menu: Menu, settings: Mapping[str, str]) -> Iterable[Level]:
    for axis, levels in menu.settings.items():
        label = settings.get(axis, menu.default_of(axis))
        yield levels[label]


def _over(base: Mapping[str, Any], patches: Iterable[Mapping[str, Any]], what: str) -> dict[str, Any]:
    """The base with all patches; two that set one thing differently are refused."""
    set_by: dict[str, Any] = {}
    for patch in patches:
        for key, value in patch.items():
            if key in set_by and set_by[key] != value:
                raise ValueError(f"two settings set {what}.{key}: to {set_by[key]} and to {value}")
            set_by[key] = value
    return {**base, **set_by}
