"""What a suite is: its items as data, and the results of their arms. Pure.

An item (a claim, or a known bug) has arms of experiments, each with expectations. The arms of one role
(`claim`, `affected`) must come out as the item says. Those of the other role (`control`, `fixed`) are its
controls: they differ in one thing and must come out the other way. If a control does not, nothing was shown,
and the item is `unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self, TypeVar

from markupsafe import Markup
from pydantic import ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from harness.lab.suite.expectations import Observation
from harness.lab.suite.written_expectations import WrittenExpectation
from harness.model.errors import BadInput, did_you_mean
from harness.model.frozen import Frozen
from harness.spec.experiment import Experiment


class Role(StrEnum):
    """The purpose of an arm: the first two are those of claims, the others those of known bugs."""

    CLAIM = "claim"
    CONTROL = "control"
    AFFECTED = "affected"
    FIXED = "fixed"


class SuiteVerdict(StrEnum):
    """Whether a claim holds, a bug was reproduced, or a later version is as the one that had it fixed."""

    YES = "yes"
    NO = "no"
    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    AS_FIXED = "as fixed"
    NOT_AS_FIXED = "not as fixed"
    UNKNOWN = "unknown"

    @property
    def passed(self) -> bool:
        return self in (SuiteVerdict.YES, SuiteVerdict.REPRODUCED, SuiteVerdict.AS_FIXED)

    @property
    def failed(self) -> bool:
        return self in (SuiteVerdict.NO, SuiteVerdict.NOT_REPRODUCED, SuiteVerdict.NOT_AS_FIXED)


class _OrName:
    """The JSON schema of what a file may also name: the value itself, or a text."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [handler(core), {"type": "string"}]}


class SuiteArm(Frozen):
    """One arm of an experiment, and what is expected of it. A table shows the first expectation that is not a
    precondition. `curve`: the write step whose acknowledgements are plotted."""

    model_config = ConfigDict(json_schema_extra=lambda schema: schema["required"].remove("experiment"))

    role: Role
    experiment: Annotated[Experiment, _OrName()] = Field(
        description="its name in `experiments`, or the experiment itself; default: the only one there"
    )
    arm: str = Field("", description="its name in the experiment; default: its only arm")
    values: dict[str, Any] = Field(
        default_factory=dict, alias="with", description="what `$name` stands for in this arm"
    )
    expects: tuple[Annotated[WrittenExpectation, _OrName()], ...] = Field(alias="expect")
    curve: str = ""

    @model_validator(mode="after")
    def _shows_something(self) -> Self:
        names = [own.name for own in self.experiment.arms]
        arm = self.arm or (names[0] if len(names) == 1 else "")
        if arm not in names:
            raise ValueError(f"`arm` is {arm!r}, and the experiment's arms are {', '.join(names)}")
        if all(expectation.given for expectation in self.expects):
            raise ValueError(f"nothing is expected of the arm {arm}, or nothing but preconditions")
        return self.model_copy(update={"arm": arm})


class SuiteArmResult(Frozen):
    """The result of one arm.

    `folder` is relative to that of the whole run. `doubts` say why the run proves nothing (empty: it does
    prove something). `story` is what happened, as lines of text. `curve` is for a plot: (seconds,
    acknowledged records per second).
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    experiment: str
    arm: str
    folder: str
    doubts: tuple[str, ...]
    rows: tuple[Observation, ...]
    story: tuple[str, ...] = ()
    role: Role
    curve: tuple[tuple[float, float], ...] = ()

    @property
    def findings(self) -> tuple[Observation, ...]:
        """All observations but those of preconditions."""
        return tuple(row for row in self.rows if not row.given)

    @property
    def headline(self) -> Observation | None:
        """The observation that a table shows: the first that is not as expected, else the first."""
        rows = self.findings
        return next((row for row in rows if not row.ok), rows[0] if rows else None)

    @property
    def sound(self) -> bool:
        """Whether the arm shows anything."""
        observed = all(row.ok is not None for row in self.rows)
        return not self.doubts and observed and all(row.ok for row in self.rows if row.given)


class SuiteResult(Frozen):
    """The result of one run of an item. `seconds` are those of its experiments, without the start of clusters
    and without the experiments that an earlier item of the list shares with it."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    id: str
    title: str
    verdict: SuiteVerdict
    reasons: tuple[str, ...]
    arms: tuple[SuiteArmResult, ...]
    seconds: float
    kafka: str

    def of(self, role: Role) -> tuple[SuiteArmResult, ...]:
        return tuple(arm for arm in self.arms if arm.role is role)


@dataclass(frozen=True)
class Suite:
    """The words and the file format of a suite.

    `heading` is that of its page. `roles`: that of the arms which show an item, and that of its controls, if
    it has any. `texts`: fields of an item by their names in `--list --json`. `counted`: tables have one row
    per item, which counts what its arms showed over all runs; otherwise one row per run. `draw` makes
    drawings by the id of their item.
    """

    item: str
    heading: str
    roles: tuple[Role, ...]
    passed: SuiteVerdict
    failed: SuiteVerdict
    result: type[SuiteResult]
    arm_result: type[SuiteArmResult]
    texts: Mapping[str, str]
    counted: bool = False
    draw: Callable[[Sequence[SuiteResult]], Mapping[str, Markup]] = lambda _: {}

    @property
    def name(self) -> str:
        """The suite's name, which is its command's too."""
        return f"{self.item}s"


class SuiteItem(Frozen):
    """An item of a suite and how it is put to the test.

    `words` is what it says, `set_up` describes the steps. `alone`: it measures times, so nothing else may run
    meanwhile. `since`: the first Kafka version on which it can be tried (empty: any). `pinned`: its arms name
    their Kafka versions themselves, and it can be tried on no other. Its arms name what is in `experiments`
    and `with` (`harness.lab.suite.item_files`).
    """

    suite: ClassVar[Suite]

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$")
    title: str
    words: str
    set_up: str
    alone: bool = False
    since: str = ""
    pinned: bool = False
    values: dict[str, Any] = Field(
        default_factory=dict, alias="with", description="what `$name` stands for in all arms"
    )
    named_experiments: dict[str, Any] = Field(default_factory=dict, alias="experiments")
    arms: tuple[SuiteArm, ...]

    @model_validator(mode="after")
    def _both_roles(self) -> Self:
        roles = {arm.role for arm in self.arms}
        if roles != set(self.suite.roles):
            expected = " and ".join(self.suite.roles)
            found = ", ".join(sorted(roles)) or "none"
            raise ValueError(
                f"a {self.suite.item} needs arms of the roles {expected}, and no others; these have {found}"
            )
        experiments: dict[str, Experiment] = {}
        for arm in self.arms:
            name = arm.experiment.name
            if experiments.setdefault(name, arm.experiment) != arm.experiment:
                raise ValueError(f"two experiments are called {name}: put a value into the name")
        return self

    def too_old(self) -> str | None:
        """Why the Kafka version of the arms cannot show the item (None: it can)."""
        version = self.arms[0].experiment.cluster.version
        if not self.since or _version_numbers(version) >= _version_numbers(self.since):
            return None
        return f"it needs Kafka {self.since} or later, and this is {version}"

    @property
    def kafka(self) -> str:
        """The Kafka versions of its arms; that of an existing cluster is not known here."""
        clusters = (arm.experiment.cluster for arm in self.arms)
        return ", ".join(
            dict.fromkeys("existing" if cluster.existing else cluster.version for cluster in clusters)
        )

    @property
    def held_since(self) -> str:
        """The version from which on it is known to have passed, before any run here (empty: not known)."""
        return ""

    @property
    def replay(self) -> str:
        """The command that runs it again."""
        return f"kafka-chaos {self.suite.name} {self.id}"

    def of(self, role: Role) -> tuple[SuiteArm, ...]:
        return tuple(arm for arm in self.arms if arm.role is role)

    def to_json(self) -> dict[str, Any]:
        """The item as `--list --json` prints it."""
        arms = self.suite.result.model_fields["arms"].alias or "arms"
        role = self.suite.arm_result.model_fields["role"].alias or "role"
        return {
            "id": self.id,
            "title": self.title,
            **{name: getattr(self, field) for name, field in self.suite.texts.items()},
            "set_up": self.set_up,
            "kafka": self.kafka,
            arms: [
                {role: arm.role.value, "experiment": arm.experiment.name, "arm": arm.arm} for arm in self.arms
            ],
        }

    def experiments(self) -> tuple[tuple[Experiment, tuple[str, ...]], ...]:
        """Each experiment once, in order, with the names of the arms that are used."""
        by_name: dict[str, tuple[Experiment, dict[str, None]]] = {}
        for arm in self.arms:
            _, arms = by_name.setdefault(arm.experiment.name, (arm.experiment, {}))
            arms[arm.arm] = None
        return tuple((experiment, tuple(arms)) for experiment, arms in by_name.values())


Item = TypeVar("Item", bound=SuiteItem)


def choose(items: Sequence[Item], ids: Sequence[str]) -> tuple[Item, ...]:
    """The items with these ids, in upper or lower case; all items if no id is given.

    Raises:
        BadInput: there is no such item.
    """
    suite = items[0].suite
    known = {item.id.upper(): item for item in items}
    for name in ids:
        if name.upper() not in known:
            raise BadInput(
                f"there is no {suite.item} {name!r}",
                expected=f"one of {', '.join(item.id for item in items)}",
                next_step=did_you_mean(name.upper(), known, f"`kafka-chaos {suite.name} --list` lists them"),
            )
    return tuple(known[name] for name in dict.fromkeys(map(str.upper, ids))) or tuple(items)


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
