"""Is a new result worse than a base? Judged over runs, arm by arm, with few false alarms in total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from checkers import ALPHA, rank_test, rate_difference, runs_needed, shared_level
from harness.many.matrix.result import MatrixArmResult, MatrixResult, RunRow
from harness.many.matrix.service_levels import held_bounds
from harness.many.matrix.spec import MatrixSpec
from harness.model.errors import BadInput
from harness.model.finding_class import Breaks, FindingClass
from harness.model.frozen import Frozen

OTHER = tuple(
    finding
    for finding in FindingClass
    if finding.breaks is not Breaks.NEVER
    and finding not in (FindingClass.LOST, FindingClass.UNCONFIRMED_ABSENT, FindingClass.DUPLICATE)
)
"""Findings that share one test: a test for each would only cost power."""
SMALLEST_SECONDS = 0.5
"""Medians of unavailable seconds that differ by less are not worse, however certain the difference is."""


class MeasureComparison(Frozen):
    """One measure of one arm in both results. `p` is the chance to see the new so much worse if nothing had
    changed; `verdict`: `worse` (p at most the level), `no worse`, or `cannot tell` (no p could have been so
    small with so few runs). `gap` is new less base, with its 95 % interval (None: too few runs)."""

    arm: str
    measure: str
    base: float
    new: float
    gap: float | None
    low: float | None
    high: float | None
    p: float
    least_p: float
    verdict: Literal["worse", "no worse", "cannot tell"]


class SloBreach(Frozen):
    """A bound of the spec that an arm of the new result does not keep."""

    arm: str
    bound: str
    allowed: float
    found: float


class MatrixComparison(Frozen):
    """The result of `compare`. `level` is what each of the `tests` that count was judged at. `missing` arms
    are in one result only, or have no run that counts in one of them."""

    base: str
    new: str
    level: float
    tests: int
    alpha: float
    measured: tuple[MeasureComparison, ...]
    breaches: tuple[SloBreach, ...]
    missing: tuple[str, ...]
    left_out: tuple[str, ...]
    runs_for_a_verdict: int | None

    @property
    def worse(self) -> tuple[MeasureComparison, ...]:
        return tuple(comparison for comparison in self.measured if comparison.verdict == "worse")

    def exit_code(self) -> int:
        """1 an arm is worse or breaks an SLO, 3 an arm could not be compared at all, else 0."""
        if self.worse or self.breaches:
            return 1
        return 3 if self.missing else 0


@dataclass(frozen=True, slots=True)
class _Measure:
    """A measure of a run: how many `findings` there are of a million records, which are `relative_to` a
    count of the run; without any, seconds."""

    name: str
    findings: tuple[FindingClass, ...] = ()
    relative_to: str = "sent"

    def of(self, run: RunRow) -> float:
        """Its value in a run that tells it: findings per record, or seconds."""
        if not self.findings:
            return run.unavailable_seconds or 0.0
        records = self.records(run)
        return self.events(run) / records if records else 0.0

    def known_runs(self, runs: Sequence[RunRow]) -> list[RunRow]:
        """The runs of which it is known: of some it is not known how long nothing was acknowledged."""
        return [run for run in runs if self.findings or run.unavailable_seconds is not None]

    def events(self, run: RunRow) -> int:
        return sum(map(run.count, self.findings))

    def records(self, run: RunRow) -> int:
        return run.counted[self.relative_to] or run.sent


_MEASURES = (
    _Measure("lost per million", (FindingClass.LOST,), "acked"),
    _Measure("unconfirmed and absent per million", (FindingClass.UNCONFIRMED_ABSENT,), "unconfirmed"),
    _Measure("duplicates per million", (FindingClass.DUPLICATE,)),
    _Measure("other findings per million", OTHER),
    _Measure("unavailable seconds"),
)


def compare(
    base: MatrixResult, new: MatrixResult, *, alpha: float = ALPHA, names: tuple[str, str]
) -> MatrixComparison:
    """Compare the arms that both results have.

    For each arm and measure an exact one-sided rank test over runs (of "lost in some runs or none" it is
    Fisher's exact test); all together raise a false alarm at most as often as `alpha` (Tarone 1990), if
    runs are independent and nothing has changed. The SLOs of the new result's spec are held against the new
    alone: they are bounds, not statistics.

    Raises:
        BadInput: the results have no arm in common.
    """
    sides = [{arm.name: arm for arm in result.arms if arm.state == "ran"} for result in (base, new)]
    common = [name for name in sides[1] if name in sides[0]]
    if not common:
        raise BadInput(
            "the two results have no arm in common",
            where=f"{names[0]}, {names[1]}",
            expected="two results of one matrix",
            found=f"{', '.join(list(sides[0])[:3]) or 'none'}; {', '.join(list(sides[1])[:3]) or 'none'}",
            next_step="compare results of the same matrix",
        )
    missing = [
        f"{name} ran only in {where}"
        for where, mine, other in ((names[0], *sides), (names[1], *sides[::-1]))
        for name in mine
        if name not in other
    ]
    drafts = []
    for name in common:
        before, after = ([run for run in side[name].runs if run.counts] for side in sides)
        if not (before and after):
            missing.append(f"{name} has no run that counts in {names[1] if before else names[0]}")
            continue
        for measure in _MEASURES:
            known = [
                (where, measure.known_runs(runs)) for where, runs in zip(names, (before, after), strict=True)
            ]
            missing += [
                f"{measure.name} of {name} are not known in {where}" for where, runs in known if not runs
            ]
            if all(runs for _, runs in known):
                drafts.append((name, measure, known[1][1], known[0][1]))
    spec = MatrixSpec.model_validate(new.spec)
    missing += undecided(spec, new.arms)
    tests = [
        rank_test(list(map(measure.of, mine)), list(map(measure.of, other)), seed=new.seed)
        for _, measure, mine, other in drafts
    ]
    level, count = shared_level([test.least for test in tests], alpha)
    measured = tuple(
        _measured(draft, test.p, test.least, level)
        for draft, test in zip(drafts, tests, strict=True)
        if test.least < 1 or any(draft[1].of(run) for run in draft[2])
    )
    varied = sum(test.least < 1 for test in tests)
    blind = any(comparison.verdict == "cannot tell" for comparison in measured)
    return MatrixComparison(
        base=names[0],
        new=names[1],
        level=level,
        tests=count,
        alpha=alpha,
        measured=measured,
        breaches=tuple(breaches(spec, new.arms)),
        missing=tuple(missing),
        left_out=tuple(
            f"{where}: {arm.name}, {line}"
            for where, result in zip(names, (base, new), strict=True)
            for arm in result.arms
            for line in arm.left_out
        ),
        runs_for_a_verdict=runs_needed(varied, alpha) if blind else None,
    )


def _measured(
    draft: tuple[str, _Measure, list[RunRow], list[RunRow]], p: float, least: float, level: float
) -> MeasureComparison:
    name, measure, new, base = draft
    sides = _gap(measure, new, base)
    verdict: Literal["worse", "no worse", "cannot tell"] = "no worse"
    # If all values are equal there is no difference to detect, whatever the number of runs.
    if least > level and sides["new"] > sides["base"]:
        verdict = "cannot tell"
    elif p <= level and sides["new"] - sides["base"] >= (0 if measure.findings else SMALLEST_SECONDS):
        verdict = "worse"
    return MeasureComparison(arm=name, measure=measure.name, p=p, least_p=least, verdict=verdict, **sides)


def _gap(measure: _Measure, new: list[RunRow], base: list[RunRow]) -> dict[str, Any]:
    """Both sides in the measure's unit, and their difference."""
    if measure.findings:
        sides = [(list(map(measure.events, runs)), list(map(measure.records, runs))) for runs in (new, base)]
        values = [sum(events) / sum(records) * 1e6 if sum(records) else 0.0 for events, records in sides]
        gap, interval = rate_difference(sides[0], sides[1]) or (None, None)
        if not any(values):
            interval = None
    else:
        values = [median(map(measure.of, runs)) for runs in (new, base)]
        gap, interval = values[0] - values[1], None
    return {
        "new": values[0],
        "base": values[1],
        "gap": gap,
        "low": interval and interval.low,
        "high": interval and interval.high,
    }


def breaches(spec: MatrixSpec, arms: Sequence[MatrixArmResult]) -> Iterator[SloBreach]:
    """Every bound that an arm's runs exceed; runs of verdict `unknown` are ignored."""
    for bound in held_bounds(spec.slo, arms):
        if bound.found is not None and bound.kept is False:
            yield SloBreach(arm=bound.arm, bound=bound.bound, allowed=bound.allowed, found=bound.found)


def undecided(spec: MatrixSpec, arms: Sequence[MatrixArmResult]) -> Iterator[str]:
    """A sentence for every bound on seconds of an arm in none of whose runs they are known."""
    ran = {arm.name for arm in arms if arm.figures is not None and arm.figures.runs}
    for bound in held_bounds(spec.slo, arms):
        if bound.arm in ran and bound.found is None:
            yield f"{bound.arm}: whether it keeps {bound.bound} {bound.allowed:g} is not known"
