"""A menu of settings and faults with weights, and the experiment that runs a schedule drawn from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from faults.schedules.entries import NAME, Choice, IfImpossible
from faults.schedules.problems import Problem
from faults.shared.fault_spec import FaultSpec
from harness.lab.explore.trial import Trial, TrialFault
from harness.lab.explore.waiting import MORE_SECONDS, DueFault, last_end
from harness.model.config.yaml_files import FileKind, label_of
from harness.model.errors import located_words_of
from harness.model.frozen import Frozen, Setting
from harness.spec.cluster import ClusterSpec
from harness.spec.cluster_shape import shape_of
from harness.spec.experiment import Arm, Experiment
from harness.spec.topic import TopicSpec
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.share.share_spec import ShareSpec


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
    """A fault with its target and parameters. `for` is drawn uniformly between the two times. A schedule that
    has a fault with `from` runs on a cluster that begins with that version, as an upgrade does."""

    name: str = Field(pattern=NAME, description="its name in tables and results")
    from_version: str | None = Field(
        default=None,
        alias="from",
        description="the version that the cluster begins with; default: the menu's",
    )
    if_impossible: IfImpossible = Field(
        default="skip", description="skip: left out if it is impossible on this machine"
    )

    def alone(self, /, **settings: str) -> Trial:
        """A schedule of this fault alone."""
        return Trial(settings=settings, faults=(TrialFault(name=self.name, at=1.0, lasting=self.lasting[0]),))


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
    def _turn_proxies_on(self) -> ExploreMenu:
        """So that all schedules run on the same cluster."""
        if not self.cluster.proxy and any(fault.fault.uses_proxy for fault in self.faults):
            object.__setattr__(self, "cluster", self.cluster.model_copy(update={"proxy": True}))
        return self

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
            if why := self.why_impossible(fault.alone()):
                yield Problem(where, why)
        for axis, levels in self.settings.items():
            for label in levels:
                if why := self.why_impossible(self.faults[0].alone(**{axis: label})):
                    yield Problem(
                        f"settings.{axis}.{label}",
                        f"it is not possible with the defaults of the other settings: {why}",
                    )

    def why_impossible(self, trial: Trial) -> str | None:
        """Why a schedule makes no valid experiment; None: it does."""
        try:
            experiment_of(self, trial)
        except ValidationError as error:
            return located_words_of(error)
        except ValueError as error:
            return str(error)
        return None

    def default_of(self, axis: str) -> str:
        return next(iter(self.settings[axis]))

    def labels(self, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The level of every setting, defaults too."""
        for axis in self.settings:
            yield axis, settings.get(axis, self.default_of(axis))

    def with_faults(self, faults: Mapping[str, FaultSpec]) -> ExploreMenu:
        """The menu with these faults in place of those of the same names."""
        changed = (
            fault.model_copy(update={"fault": faults.get(fault.name, fault.fault)}) for fault in self.faults
        )
        return self.model_copy(update={"faults": tuple(changed)})

    def fault(self, name: str) -> MenuFault:
        return next(fault for fault in self.faults if fault.name == name)


MENU = FileKind(
    ExploreMenu,
    one="a menu",
    expected="a mapping with name, title and faults",
    example="`kafka-chaos explore --show` prints the built-in menu",
    schema="kafka-chaos explore --schema",
    folder="harness/lab/menus",
)
BUILT_IN = "ordinary"


def seconds_of(menu: ExploreMenu, trial: Trial) -> float:
    """Seconds of writing: until the last fault has ended, as far as is known beforehand, and the rest."""
    planned, shape = [], shape_of(menu.cluster, menu.topic)
    for entry in trial.faults:
        fault = menu.fault(entry.name).fault
        takes, downs = fault.seconds_to_effect(shape), fault.max_brokers_down(shape)
        planned.append(DueFault(entry.at, entry.lasting, takes, downs))
    rest = menu.rest if trial.rest is None else trial.rest
    return max(1.0, last_end(planned, menu.at_most_down) + rest)


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
    clients = _clients(menu, trial.settings)
    write = {
        "name": "steady",
        "seconds": seconds_of(menu, trial),
        "rate": rate_of(menu, trial),
        "at_most_down": menu.at_most_down,
        "until_faults_end": None if clients["workload"].get("client") == "own" else MORE_SECONDS,
        "faults": [{"fault": menu.fault(f.name).fault, "at": f.at, "for": f.lasting} for f in trial.faults],
    }
    return Experiment.model_validate(
        {
            "name": name,
            "title": str(trial),
            "cluster": _cluster(menu, trial),
            "topic": menu.topic.model_dump(),
            **clients,
            "steps": [{"write": write}],
            "arms": [_arm(menu, label, settings, clients) for label, settings in arms],
        }
    )


def _cluster(menu: ExploreMenu, trial: Trial) -> dict[str, Any]:
    """The cluster that a schedule needs, by the keys of an experiment file."""
    versions = {menu.fault(fault.name).from_version for fault in trial.faults} - {None}
    if len(versions) > 1:
        raise ValueError(f"its faults begin with different versions: {', '.join(sorted(map(str, versions)))}")
    return menu.cluster.model_dump() | ({"version": versions.pop()} if versions else {})


def _clients(menu: ExploreMenu, settings: Mapping[str, str]) -> dict[str, Any]:
    """Producers and readers under these settings, by the keys of an experiment file."""
    clients: dict[str, Any] = {
        "workload": _merged(menu, settings, "workload", menu.workload.model_dump(exclude_unset=True))
    }
    for what, specs in (("readers", menu.readers), ("share", menu.share)):
        patch = _merged(menu, settings, what)
        clients[what] = [{**spec.model_dump(exclude_unset=True), **patch} for spec in specs]
    return clients


def _arm(menu: ExploreMenu, name: str, settings: Mapping[str, str], shared: Mapping[str, Any]) -> Arm:
    """An arm, with what of its clients differs from those that all arms share."""
    return Arm.model_validate(
        {
            "name": name,
            "producer": _merged(menu, settings, "producer", menu.producer),
            "topic": _merged(menu, settings, "topic"),
            **{key: own for key, own in _clients(menu, settings).items() if own != shared[key]},
        }
    )


def _merged(
    menu: ExploreMenu, settings: Mapping[str, str], what: str, base: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The base with what all levels set of `what`; ValueError: two set the same key to different values."""
    set_by: dict[str, Any] = {}
    for axis, label in menu.labels(settings):
        for key, value in getattr(menu.settings[axis][label], what).items():
            if key in set_by and set_by[key] != value:
                raise ValueError(f"two settings set {what}.{key}: to {set_by[key]} and to {value}")
            set_by[key] = value
    return {**(base or {}), **set_by}
