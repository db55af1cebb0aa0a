"""From the options of `kafka-chaos matrix` to what is run, and how long it will take."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.campaign.backend import Backend, DockerBackend
from harness.campaign.run_time import DAY, told
from harness.matrix.estimate import Estimate, estimate
from harness.matrix.expand import MatrixArm, expanded
from harness.matrix.files import MATRIX
from harness.matrix.result import MatrixResult, load_result
from harness.matrix.runner import MatrixInput, MatrixRun
from harness.matrix.spec import MatrixSpec
from harness.matrix.store import MatrixStore
from harness.model.errors import BadInput, JournalError
from harness.model.secrets import masked_at
from harness.spec.overrides import override_cluster


@dataclass(frozen=True, slots=True)
class MatrixOptions:
    """Options that go over the spec's own (None: as written)."""

    repeat: int | None = None
    budget: float | None = None
    seed: int | None = None
    version: str | None = None
    image: str | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """What would be run. `before` is what an earlier process left of it."""

    spec: MatrixSpec
    arms: tuple[MatrixArm, ...]
    seed: int
    needed: Estimate
    before: MatrixResult | None = None

    def lines(self) -> list[str]:
        """For people: the arms, then how long it will take."""
        spec = self.spec
        found = [f"{spec.name}: {spec.title}"]
        found += [
            f"  {arm.name}" + ("" if arm.refusal is None else f"  refused by the client: {arm.refusal}")
            for arm in self.arms
        ]
        refused = sum(arm.refusal is not None for arm in self.arms)
        out = f" ({refused} refused)" if refused else ""
        made = sum(len(arm.runs) for arm in self.before.arms) if self.before is not None else 0
        over = f", {made} of which are over" if made else ""
        return [
            *found,
            f"{len(self.arms)} arms{out}, at most {self.needed.runs:,} runs{over}, {self.needed.starts:,} "
            f"cluster start(s), seed {self.seed}: about {told(self.needed.seconds)}",
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.spec.name,
            "seed": self.seed,
            "arms": [{"name": arm.name, "labels": arm.labels, "refusal": arm.refusal} for arm in self.arms],
            "estimate": asdict(self.needed),
        }

    def refuse_days(self, yes: bool) -> None:
        """Raise BadInput when it would take more than a day and nobody said that it may."""
        if self.needed.seconds > DAY and not yes:
            raise BadInput(
                f"this would take about {told(self.needed.seconds)}",
                where=self.spec.name,
                expected="at most a day, or --yes",
                found=self.lines()[-1],
                next_step="take fewer levels or repeats, set --budget MINUTES, or add --yes",
            )


def planned(spec: str | None, resume: Path | None, changes: MatrixOptions, seed: int) -> MatrixPlan:
    """What the options ask for.

    Raises:
        BadInput: neither a spec nor a folder, another spec or seed than the folder's, a bad matrix.
        JournalError: no such folder to resume, or one of another version.
    """
    if resume is None and spec is None:
        raise BadInput(
            "which matrix?",
            expected="the name of a built-in matrix, a YAML file, or --resume FOLDER",
            next_step="`kafka-chaos matrix --list`",
        )
    if resume is None:
        assert spec is not None
        loaded, source = MATRIX.load(spec)
        changed = _changed(loaded, changes)
        arms = expanded(changed, source)
        return MatrixPlan(changed, arms, seed, estimate(arms, changed.repeats))
    before = load_result(resume)
    try:
        kept = _with_secrets(spec, before, resume) or MatrixSpec.model_validate(before.spec)
    except ValidationError as error:
        raise JournalError(
            "the matrix in this folder cannot be read",
            where=str(resume),
            expected="the spec as it was written there",
            found=error.errors()[0]["msg"],
            next_step="resume with the version that began it, or begin it anew",
        ) from error
    _same(spec, kept, before, changes, resume)
    changed = _changed(kept, MatrixOptions(repeat=changes.repeat, budget=changes.budget))
    arms = expanded(changed, str(resume))
    return MatrixPlan(changed, arms, before.seed, estimate(arms, changed.repeats), before)


def _with_secrets(spec: str | None, before: MatrixResult, resume: Path) -> MatrixSpec | None:
    """The matrix as its file has it, where secrets in it were masked in the folder; None: there are none."""
    place = masked_at(before.spec)
    if place is None:
        return None
    again = None if spec is None else MATRIX.load(spec)[0]
    if again is None or again.kept() != before.spec:
        raise BadInput(
            "secrets of this matrix are not in its folder",
            where=f"{resume}: {place}",
            expected="the file that it was begun with, unchanged",
            found="none" if spec is None else spec,
            next_step="name that file too: `kafka-chaos matrix FILE --resume FOLDER`",
        )
    return again


def _same(
    spec: str | None, kept: MatrixSpec, before: MatrixResult, changes: MatrixOptions, resume: Path
) -> None:
    """Refuse to go on with something else than was begun."""
    if changes.version or changes.image or changes.profile:
        what = "--kafka-version, --image and --profile cannot change in the middle"
    elif changes.seed is not None and changes.seed != before.seed:
        what = f"it was begun with --seed {before.seed}"
    elif spec is not None and MATRIX.load(spec)[0].axes != kept.axes:
        what = f"{spec} has other axes"
    else:
        return
    raise BadInput(
        "this is another matrix than the one in the folder",
        where=str(resume),
        found=what,
        next_step="leave that out, or begin a new matrix without --resume",
    )


def _changed(spec: MatrixSpec, changes: MatrixOptions) -> MatrixSpec:
    """The spec with what the options set.

    Raises:
        BadInput: there is no such profile or version.
    """
    repeats: dict[str, Any] = {}
    if changes.repeat is not None:
        repeats |= {"at_least": changes.repeat, "at_most": changes.repeat, "narrower_than": None}
    if changes.budget is not None:
        repeats["budget_minutes"] = changes.budget
    if changes.version is not None and spec.names_versions:
        raise BadInput(
            "the version is an axis of this matrix",
            where=spec.name,
            found=f"--kafka-version {changes.version}",
            next_step="leave --kafka-version out, or `exclude` the others in a copy of the matrix",
        )
    data = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if repeats:
        given = {**spec.repeats.model_dump(), **repeats}
        if repeats.get("at_most") is None and given["at_most"] is None:
            given.pop("at_most")
        data["repeats"] = given
    base = data.get("base", {})
    fields = override_cluster(
        base.get("cluster", {}), changes.version, changes.image, changes.profile, where=spec.name
    )
    if fields:
        data["base"] = {**base, "cluster": fields}
    return MatrixSpec.model_validate(data)


def executed(
    plan: MatrixPlan,
    store: MatrixStore,
    command: str,
    rig: Backend | None = None,
    clusters: int = 1,
) -> MatrixResult:
    """Run it on up to so many clusters at a time; returns what matrix.json holds. Raises what
    `MatrixRun.execute` raises."""
    kept = plan.before.command if plan.before is not None else command
    given = MatrixInput(plan.spec, plan.arms, store, plan.seed, kept, plan.before, clusters)
    return MatrixRun(given, rig or DockerBackend()).execute()
