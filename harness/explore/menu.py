"""The menu that schedules are drawn from: ordinary settings and ordinary faults, with weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from faults.schedules.entries import Choice
from faults.schedules.fields import NAME, IfImpossible
from faults.schedules.problems import Problem
from harness.config.safe_yaml import label_of
from harness.config.yaml_files import FileKind
from harness.explore.trial import Trial, TrialFault
from harness.model.errors import located_words_of
from harness.model.frozen import Frozen, Setting
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Arm, Experiment
from harness.spec.topic import TopicSpec
from workloads.config.reader_spec import ReaderSpec
from workloads.config.share_spec import ShareSpec
from workloads.config.workload_spec import WorkloadSpec


class Level(Frozen):
    """What one level of a setting sets over the menu's base, by Kafka's names. Drawn in proportion to its
    weight."""

    producer: dict[str, Any] = Field(default={}, description="producer properties")
    topic: dict[str, Setting] = Field(default={}, description="topic configuration")
    workload: dict[str, Any] = Field(default={}, description="as `workload` in an experiment file")
    readers: dict[str, Any] = Field(default={}, description="what it sets of every reader")
    share: dict[str, Any] = Field(default={}, description="what it sets of every share group")
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class MenuFault(Choice):
    """A fault with its target and parameters. `for` is drawn uniformly between the two times."""

    name: str = Field(pattern=NAME, description="its name in tables and results")
    if_impossible: IfImpossible = Field(
        default="skip", description="skip: left out if it is impossible on this machine"
    )


def _labelled(value: Any) -> Any:
    """YAML's `1:` and `true:` as names of levels; an empty level sets nothing."""
    if not isinstance(value, dict):
        return value
    return {label_of(key): {} if body is None else body for key, body in value.items()}


Levels = Annotated[dict[str, Level], BeforeValidator(_labelled), Field(min_length=1)]


class ExploreMenu(Frozen):
    """What is explored. Every schedule has one level of each setting, and one to `most_faults` faults.

    The first level of a setting is its default: what a violation is shrunk towards. `rates` are records/s
    over all producers. `rest` is the number of seconds of writing after the last fault. `at_most_down`
    is the number of brokers that may be down at once: a fault that would exceed it waits.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,29}$")
    title: str
    description: str = ""
    cluster: ClusterSpec = ClusterSpec()
    topic: TopicSpec = TopicSpec()
    workload: WorkloadSpec = WorkloadSpec()
    readers: tuple[ReaderSpec, ...] = Field(default=(), description="as `readers` in an experiment file")
    share: tuple[ShareSpec, ...] = Field(default=(), description="as `share` in an experiment file")
    producer: dict[str, Any] = Field(default={}, description="producer properties of every run")
    settings: dict[Annotated[str, Field(pattern=NAME)], Levels] = Field(default={})
    faults: tuple[MenuFault, ...] = Field(min_length=1)
    most_faults: int = Field(default=3, ge=1, le=8)
    rates: tuple[Annotated[int, Field(ge=1, le=1_000_000)], ...] = Field(default=(2000,), min_length=1)
    rest: float = Field(default=2.0, ge=0, le=600, allow_inf_nan=False)
    at_most_down: int | None = Field(default=None, ge=1)

    @property
    def grouped(self) -> bool:
        """Whether consumer groups read."""
        return any(reader.group is not None for reader in self.readers)

    @model_validator(mode="after")
    def _possible(self) -> ExploreMenu:
        problems = list(self._problems())
        if problems:
            what = "; ".join(problem.message for problem in problems)
            raise PydanticCustomError("inconsistent", "{what}", {"what": what, "problems": problems})
        return self

    def _problems(self) -> Iterator[Problem]:
        """What is not possible, with its path in the file."""
        if self.cluster.existing is not None:
            yield Problem(
                "cluster.existing",
                "exploration deletes every topic between two trials, so it needs clusters of its own; `run`, "
                "`matrix` and `claims` leave the topics of an existing cluster alone",
            )
        seen: set[str] = set()
        for number, fault in enumerate(self.faults):
            where = f"faults[{number}]"
            if fault.name in seen:
                yield Problem(f"{where}.name", f"two faults are named {fault.name!r}")
            seen.add(fault.name)
            planned = TrialFault(name=fault.name, at=1.0, lasting=fault.lasting[0])
            if why := _why_impossible(lambda one=planned: experiment_of(self, Trial(faults=(one,)))):
                yield Problem(where, why)
        some = (TrialFault(name=self.faults[0].name, at=1.0, lasting=self.faults[0].lasting[0]),)
        for axis, levels in self.settings.items():
            for label in levels:
                chosen = Trial(settings={axis: label}, faults=some)
                if why := _why_impossible(lambda one=chosen: experiment_of(self, one)):
                    yield Problem(
                        f"settings.{axis}.{label}",
                        f"it is not possible with the defaults of the other settings: {why}",
                    )

    def default_of(self, axis: str) -> str:
        return next(iter(self.settings[axis]))

    def labels(self, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The level of every setting, defaults too."""
        for axis in self.settings:
            yield axis, settings.get(axis, self.default_of(axis))

    def fault(self, name: str) -> MenuFault:
        return next(fault for fault in self.faults if fault.name == name)


def _why_impossible(make: Any) -> str | None:
    """Why an experiment is not valid; None: it is valid."""
    try:
        experiment = make()
    except ValidationError as error:
        return located_words_of(error)
    except ValueError as error:
        return str(error)
    assert isinstance(experiment, Experiment)
    return None


MENU = FileKind(
    ExploreMenu,
    one="a menu",
    expected="a mapping with name, title and faults",
    example="`kafka-chaos explore --show` prints the built-in menu",
    schema="kafka-chaos explore --schema",
    folder="menus",
)
BUILT_IN = "ordinary"


def load(path: Path | str | None) -> ExploreMenu:
    """A menu file, or a built-in menu by its name; None: the ordinary one.

    Raises:
        BadInput: no such file, not YAML, or not a menu: names the path in the file.
    """
    return MENU.builtin(BUILT_IN)[0] if path is None else MENU.load(str(path))[0]


WRITE = "steady"


def seconds_of(menu: ExploreMenu, trial: Trial) -> float:
    """Seconds of writing."""
    rest = menu.rest if trial.rest is None else trial.rest
    return max(1.0, max((one.end for one in trial.faults), default=0.0) + rest)


def rate_of(menu: ExploreMenu, trial: Trial) -> int:
    return trial.rate or menu.rates[0]


def experiment_of(
    menu: ExploreMenu, trial: Trial, *, name: str = "explore", arm: str = "found", control: bool = False
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
            "readers": _readers(menu, trial.settings),
            "share": _share(menu, trial.settings),
            "steps": [{"write": _write(menu, trial)}],
            "arms": [_arm(menu, label, settings, trial) for label, settings in arms],
        }
    )


def _write(menu: ExploreMenu, trial: Trial) -> dict[str, Any]:
    return {
        "name": WRITE,
        "seconds": seconds_of(menu, trial),
        "rate": rate_of(menu, trial),
        "at_most_down": menu.at_most_down,
        "faults": [
            {"fault": menu.fault(one.name).fault, "at": one.at, "for": one.lasting} for one in trial.faults
        ],
    }


def _arm(menu: ExploreMenu, name: str, settings: Mapping[str, str], trial: Trial) -> Arm:
    arm: dict[str, Any] = {
        "name": name,
        "producer": _merged(menu, settings, "producer", menu.producer),
        "topic": _merged(menu, settings, "topic"),
    }
    for key, of in (("workload", _workload), ("readers", _readers), ("share", _share)):
        if (own := of(menu, settings)) != of(menu, trial.settings):
            arm[key] = own
    return Arm.model_validate(arm)


def _readers(menu: ExploreMenu, settings: Mapping[str, str]) -> list[dict[str, Any]]:
    patch = _merged(menu, settings, "readers")
    return [{**reader.model_dump(exclude_unset=True), **patch} for reader in menu.readers]


def _share(menu: ExploreMenu, settings: Mapping[str, str]) -> list[dict[str, Any]]:
    patch = _merged(menu, settings, "share")
    return [{**group.model_dump(exclude_unset=True), **patch} for group in menu.share]


def _workload(menu: ExploreMenu, settings: Mapping[str, str]) -> dict[str, Any]:
    return _merged(menu, settings, "workload", menu.workload.model_dump(exclude_unset=True))


def _merged(
    menu: ExploreMenu, settings: Mapping[str, str], what: str, base: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The base with what all levels set of `what`; two that set the same key to different values are
    refused."""
    set_by: dict[str, Any] = {}
    for axis, label in menu.labels(settings):
        for key, value in getattr(menu.settings[axis][label], what).items():
            if key in set_by and set_by[key] != value:
                raise ValueError(f"two settings set {what}.{key}: to {set_by[key]} and to {value}")
            set_by[key] = value
    return {**(base or {}), **set_by}
