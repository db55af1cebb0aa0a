"""A matrix as data: what varies (axes), what of it is left out, how often each arm is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from faults.schedules.entries import ScheduleEntry
from harness.model.config.yaml_files import FileKind, label_of
from harness.model.errors import did_you_mean
from harness.model.frozen import Frozen, Setting
from harness.model.secrets import without_secret_values
from harness.spec.cluster import ClusterSpec
from harness.spec.step import Step
from harness.spec.topic import TopicSpec
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.config.workload_spec import WorkloadSpec

NAME = r"^[a-z0-9][a-z0-9=+._-]{0,39}$"
MOST_ARMS = 10_000


def _labelled(value: Any) -> Any:
    return {label_of(key): body for key, body in value.items()} if isinstance(value, Mapping) else value


class Patch(Frozen):
    """What a level sets over the base, by Kafka's names. `faults` are those of the (only) write step;
    `steps` take the place of all steps."""

    producer: dict[str, Any] = Field(default={}, description="producer properties")
    topic: dict[str, Setting] = Field(default={}, description="topic configuration")
    broker: dict[str, Setting] = Field(default={}, description="broker properties")
    cluster: dict[str, Any] = Field(default={}, description="as `cluster` in an experiment file")
    workload: dict[str, Any] = Field(default={}, description="as `workload` in an experiment file")
    readers: tuple[ReaderSpec, ...] | None = None
    steps: tuple[Step, ...] | None = None
    faults: tuple[ScheduleEntry, ...] | None = None
    promise: dict[str, Setting] = {}


_SHORT = ("producer", "topic", "broker", "cluster", "workload")


def _spelt_out(value: Any) -> Any:
    """Short forms of an axis: `{producer: NAME, values: [...]}`, `{version: [...]}`, `{client: [...]}`."""
    if not isinstance(value, Mapping):
        return value
    for key, inside in (("version", "cluster"), ("client", "workload")):
        if set(value) == {key} and isinstance(value[key], (list, tuple)):
            return _levels(inside, key, value[key])
    what = [key for key in _SHORT if isinstance(value.get(key), str)]
    if len(what) == 1 and set(value) == {what[0], "values"} and isinstance(value["values"], (list, tuple)):
        return _levels(what[0], value[what[0]], value["values"])
    others = [str(key) for key in value if key not in what]
    if len(what) == 1 and len(others) == 1 and "levels" not in value and "values" not in value:
        meant = did_you_mean(others[0], ["values"], "its levels are a list below `values`")
        raise ValueError(f"beside `{what[0]}` an axis has no key {others[0]!r}: {meant}")
    return value


def _levels(inside: str, key: str, values: Sequence[Any]) -> dict[str, Any]:
    labels = [label_of(value) for value in values]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ValueError(f"the value {twice} is given twice")
    return {"levels": {label: {inside: {key: one}} for label, one in zip(labels, values, strict=True)}}


class Axis(Frozen):
    """One thing that varies, as named levels. In a file also `{producer: NAME, values: [...]}` (or topic,
    broker, cluster, workload), `{version: [...]}` and `{client: [...]}`."""

    levels: Annotated[dict[str, Patch], BeforeValidator(_labelled)] = Field(min_length=1)


class Base(Frozen):
    """What all arms share. `producer` takes Kafka's names; levels set over it."""

    cluster: ClusterSpec = ClusterSpec()
    topic: TopicSpec = TopicSpec()
    workload: WorkloadSpec = WorkloadSpec()
    readers: tuple[ReaderSpec, ...] = ()
    steps: tuple[Step, ...] = ()
    producer: dict[str, Any] = {}
    promise: dict[str, Setting] = {}


class Repeats(Frozen):
    """How often each arm is run: `at_least` times, then until the interval of its share of runs with loss is
    `narrower_than`, or `at_most` times. No run is begun that would end after `budget_minutes`."""

    at_least: int = Field(default=5, ge=1, le=100_000)
    at_most: int | None = Field(default=None, ge=1, le=100_000)
    narrower_than: float | None = Field(default=None, gt=0, lt=1)
    budget_minutes: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _consistent(self) -> Repeats:
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError(f"at_most ({self.at_most}) is less than at_least ({self.at_least})")
        if self.narrower_than is not None and self.at_most is None and self.budget_minutes is None:
            raise ValueError(
                "`narrower_than` needs `at_most` or `budget_minutes`: it may never become that narrow"
            )
        return self

    @property
    def most(self) -> int:
        """The maximum number of runs of one arm."""
        open_end = self.narrower_than is not None or self.budget_minutes is not None
        return self.at_most or (100_000 if open_end else self.at_least)


def _number_or_mapping(value: Any) -> Any:
    return {"at_least": value, "at_most": value} if isinstance(value, int) else value


def _labels_of(value: Any) -> tuple[str, ...]:
    return tuple(map(label_of, value if isinstance(value, (list, tuple)) else [value]))


ArmSelector = dict[str, Annotated[tuple[str, ...], BeforeValidator(_labels_of)]]
"""Selects arms: one or several labels by axis; axes that are not named match any label."""


class ServiceLevel(Frozen):
    """Bounds for the arms `at` (default: all) that a new result must keep in `compare`, whatever the base
    did.

    `lost`: records in any one run; the rates: over all runs; `unavailable_seconds`: the median over runs.
    """

    at: ArmSelector = {}
    lost: int | None = Field(default=None, ge=0)
    lost_per_million: float | None = Field(default=None, ge=0)
    duplicates_per_million: float | None = Field(default=None, ge=0)
    unavailable_seconds: float | None = Field(default=None, ge=0)


AxisName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,39}$")]


class MatrixSpec(Frozen):
    """What `kafka-chaos matrix` runs. With `include`, only arms that one of its entries selects are kept;
    arms that `exclude` selects are left out."""

    name: str = Field(pattern=NAME)
    title: str
    description: str = ""
    base: Base = Base()
    axes: dict[AxisName, Annotated[Axis, BeforeValidator(_spelt_out)]] = Field(min_length=1)
    include: tuple[ArmSelector, ...] = ()
    exclude: tuple[ArmSelector, ...] = ()
    repeats: Annotated[Repeats, BeforeValidator(_number_or_mapping)] = Repeats()
    slo: tuple[ServiceLevel, ...] = ()

    def stored_form(self) -> dict[str, Any]:
        """The spec as `matrix.json` stores it: as written, with its secrets masked."""
        return dict(without_secret_values(self.model_dump(mode="json", by_alias=True, exclude_unset=True)))

    @model_validator(mode="after")
    def _names_exist(self) -> MatrixSpec:
        entries = [
            *((f"include[{number}]", one) for number, one in enumerate(self.include)),
            *((f"exclude[{number}]", one) for number, one in enumerate(self.exclude)),
            *((f"slo[{number}].at", one.at) for number, one in enumerate(self.slo)),
        ]
        for where, labels_of in entries:
            for axis, labels in labels_of.items():
                if axis not in self.axes:
                    raise ValueError(f"{where} names the axis {axis!r}; there are {', '.join(self.axes)}")
                known = self.axes[axis].levels
                for label in labels:
                    if label not in known:
                        raise ValueError(
                            f"{where} names {axis}={label}; the levels of {axis} are {', '.join(known)}"
                        )
        return self

    @property
    def names_versions(self) -> bool:
        """Whether an axis sets the Kafka version."""
        return any(
            "version" in level.cluster for axis in self.axes.values() for level in axis.levels.values()
        )


def matches(where: Mapping[str, tuple[str, ...]], labels: Mapping[str, str]) -> bool:
    """Whether an arm with these labels is selected."""
    return all(labels[axis] in wanted for axis, wanted in where.items())


MATRIX = FileKind(
    MatrixSpec,
    one="a matrix",
    expected="a mapping with name, title, base and axes",
    example="docs/how-to/matrix.md has examples, and `kafka-chaos matrix --show NAME` prints a built-in one",
    schema="kafka-chaos matrix --schema",
    folder="harness/matrices",
)
