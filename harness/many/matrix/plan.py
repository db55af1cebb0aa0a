"""From the options of `kafka-chaos matrix` to the plan: what is run, and how long it will take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.many.matrix.expand import MatrixArm, expand_matrix
from harness.many.matrix.result import MatrixResult, load_result
from harness.many.matrix.spec import MATRIX, MatrixSpec, Repeats
from harness.many.run_store import refuse_another
from harness.many.run_time import DAY, format_duration, run_seconds
from harness.model.errors import BadInput, JournalError, words_of
from harness.model.secrets import masked_at
from harness.spec.overrides import AS_WRITTEN, ClusterOptions, override_cluster

_CLUSTER_START = 15.0


@dataclass(frozen=True, slots=True)
class MatrixOptions:
    """Options that override the spec (None: as written)."""

    repeat: int | None = None
    budget: float | None = None
    seed: int | None = None
    cluster: ClusterOptions = AS_WRITTEN


@dataclass(frozen=True, slots=True)
class Estimate:
    """Total `seconds`, of at most `runs` runs with `starts` cluster starts."""

    seconds: float
    runs: int
    starts: int


def estimate(arms: Sequence[MatrixArm], repeats: Repeats) -> Estimate:
    """For all runs of all arms that are not refused; with a budget, no more than that."""
    experiments = [arm.experiment for arm in arms if arm.experiment is not None]
    rounds = repeats.most
    one = sum(run_seconds(experiment) for experiment in experiments)
    clusters = len({experiment.cluster.model_dump_json() for experiment in experiments})
    # A round begins on the cluster that the round before it ended on.
    starts = clusters + (rounds - 1) * (clusters - 1) if clusters else 0
    seconds = one * rounds + starts * _CLUSTER_START
    runs = len(experiments) * rounds
    budget = (repeats.budget_minutes or 0) * 60
    if not budget or seconds <= budget:
        return Estimate(seconds, runs, starts)
    runs, starts = (max(1, round(count * budget / seconds)) for count in (runs, starts))
    return Estimate(budget, runs, starts)


@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """The plan of a matrix. `before` is the result so far of an earlier process; None: it is new."""

    spec: MatrixSpec
    arms: tuple[MatrixArm, ...]
    seed: int
    needed: Estimate
    before: MatrixResult | None = None

    def lines(self) -> list[str]:
        """For people: the arms, then how long it will take."""
        lines = [
            f"  {arm.name}" + ("" if arm.refusal is None else f"  refused by the client: {arm.refusal}")
            for arm in self.arms
        ]
        refused = sum(arm.refusal is not None for arm in self.arms)
        finished = sum(len(arm.runs) for arm in self.before.arms) if self.before is not None else 0
        return [
            f"{self.spec.name}: {self.spec.title}",
            *lines,
            f"{len(self.arms)} arms{f' ({refused} refused)' if refused else ''}, "
            f"at most {self.needed.runs:,} runs{f', {finished} of which are over' if finished else ''}, "
            f"{self.needed.starts:,} cluster start(s), seed {self.seed}: "
            f"about {format_duration(self.needed.seconds)}",
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.spec.name,
            "seed": self.seed,
            "arms": [{"name": arm.name, "labels": arm.labels, "refusal": arm.refusal} for arm in self.arms],
            "estimate": asdict(self.needed),
        }

    def refuse_days(self, yes: bool) -> None:
        """Raise BadInput when it would take more than a day, unless `yes` confirms that."""
        if self.needed.seconds > DAY and not yes:
            raise BadInput(
                f"this would take about {format_duration(self.needed.seconds)}",
                where=self.spec.name,
                expected="at most a day, or --yes",
                found=self.lines()[-1],
                next_step="take fewer levels or repeats, set --budget MINUTES, or add --yes",
            )


def plan_matrix(spec: str | None, resume: Path | None, changes: MatrixOptions, seed: int) -> MatrixPlan:
    """The plan of a new matrix, or of the one in the folder `resume`.

    Raises:
        BadInput: neither a spec nor a folder, another spec or seed than the folder's, a bad matrix.
        JournalError: no such folder to resume, or one of another version.
    """
    if resume is None:
        if spec is None:
            raise BadInput(
                "no matrix is named",
                expected="the name of a built-in matrix, a YAML file, or --resume FOLDER",
                next_step="`kafka-chaos matrix --list`",
            )
        return new_plan(*MATRIX.load(spec), changes, seed)
    before = load_result(resume)
    with JournalError.for_errors(
        ValidationError,
        "the matrix in this folder cannot be read",
        where=resume,
        expected="the spec as it was written there",
        found=words_of,
        next_step="resume with the version that began it, or begin it anew",
    ):
        begun = _with_secrets(spec, before, resume) or MatrixSpec.model_validate(before.spec)
    refuse_another(
        "matrix",
        resume,
        (changes.seed, before.seed),
        changes.cluster,
        f"{spec} has other axes" if spec is not None and MATRIX.load(spec)[0].axes != begun.axes else "",
    )
    changed = _changed(begun, MatrixOptions(repeat=changes.repeat, budget=changes.budget))
    arms = expand_matrix(changed, str(resume))
    return MatrixPlan(changed, arms, before.seed, estimate(arms, changed.repeats), before)


def new_plan(spec: MatrixSpec, origin: str, changes: MatrixOptions, seed: int) -> MatrixPlan:
    """The plan of a new matrix; `origin` names it in messages.

    Raises:
        BadInput: a bad matrix, or options that it cannot have.
    """
    changed = _changed(spec, changes)
    arms = expand_matrix(changed, origin)
    return MatrixPlan(changed, arms, seed, estimate(arms, changed.repeats))


def _with_secrets(spec: str | None, before: MatrixResult, resume: Path) -> MatrixSpec | None:
    """The matrix as its file has it, where secrets in it were masked in the folder; None: there are none."""
    where = masked_at(before.spec)
    if where is None:
        return None
    again = None if spec is None else MATRIX.load(spec)[0]
    if again is None or again.stored_form() != before.spec:
        raise BadInput(
            "secrets of this matrix are not in its folder",
            where=f"{resume}: {where}",
            expected="the file that it was begun with, unchanged",
            found="none" if spec is None else spec,
            next_step="name that file too: `kafka-chaos matrix FILE --resume FOLDER`",
        )
    return again


def _changed(spec: MatrixSpec, changes: MatrixOptions) -> MatrixSpec:
    """The spec with what the options set.

    Raises:
        BadInput: there is no such profile or version.
    """
    if changes.cluster.version is not None and spec.names_versions:
        raise BadInput(
            "the version is an axis of this matrix",
            where=spec.name,
            found=f"--kafka-version {changes.cluster.version}",
            next_step="leave --kafka-version out, or `exclude` the others in a copy of the matrix",
        )
    repeats: dict[str, Any] = {}
    if changes.repeat is not None:
        repeats |= {"at_least": changes.repeat, "at_most": changes.repeat, "narrower_than": None}
    if changes.budget is not None:
        repeats["budget_minutes"] = changes.budget
    data = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if repeats:
        data["repeats"] = {**data.get("repeats", {}), **repeats}
    base = data.get("base", {})
    cluster = override_cluster(base.get("cluster", {}), changes.cluster, where=spec.name)
    if cluster:
        data["base"] = {**base, "cluster": cluster}
    return MatrixSpec.model_validate(data)
