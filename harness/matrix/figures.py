"""The figures of an arm, from its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from checkers import per_million, percentile, percentile_interval, share_of
from harness.matrix.expand import MatrixArm
from harness.matrix.result import ArmFigures, MatrixArmResult, RateFigure, RunRow, SecondsFigure, ShareFigure
from harness.model.journal import SendOutcome
from harness.model.result import FindingClass

ArmState = Literal["refused", "impossible"]


def figures_of(runs: Sequence[RunRow], seed: int = 0) -> ArmFigures:
    """All figures of one arm; runs of verdict `unknown` are left out. `seed` is that of the bootstrap."""
    good = [run for run in runs if run.counts]
    return ArmFigures(
        runs=len(good),
        left_out=len(runs) - len(good),
        with_loss=_share_with(good, FindingClass.LOST),
        with_unconfirmed_absent=_share_with(good, FindingClass.UNCONFIRMED_ABSENT),
        with_duplicates=_share_with(good, FindingClass.DUPLICATE),
        as_promised=_share([run.as_promised is True for run in good]),
        lost_per_million=_rate(good, FindingClass.LOST, seed),
        unconfirmed_absent_per_million=_rate(good, FindingClass.UNCONFIRMED_ABSENT, seed),
        duplicates_per_million=_rate(good, FindingClass.DUPLICATE, seed),
        unavailable_seconds=seconds_of([run.unavailable_seconds for run in good]),
    )


def loss_width(runs: Sequence[RunRow]) -> float:
    """Width of the interval of the share of runs with loss: the wider of lost, and unconfirmed and absent."""
    good = [run for run in runs if run.counts]
    shares = (_share_with(good, one) for one in (FindingClass.LOST, FindingClass.UNCONFIRMED_ABSENT))
    return max(share.high - share.low for share in shares)


def denominator(run: RunRow, finding: FindingClass) -> int:
    """The number of records that a finding's rate is relative to."""
    if finding is FindingClass.LOST:
        return run.outcomes.get(SendOutcome.ACKED, 0)
    if finding is FindingClass.UNCONFIRMED_ABSENT:
        return run.outcomes.get(SendOutcome.UNCONFIRMED, 0)
    return run.sent


def seconds_of(values: Sequence[float]) -> SecondsFigure:
    """Median with its interval, 95th percentile and largest."""
    around = percentile_interval(values, 0.5)
    return SecondsFigure(
        median=percentile(values, 0.5),
        low=around.low if around else None,
        high=around.high if around else None,
        p95=percentile(values, 0.95),
        most=max(values, default=None),
    )


def _share_with(runs: Sequence[RunRow], finding: FindingClass) -> ShareFigure:
    return _share([run.count(finding) > 0 for run in runs])


def _share(outcomes: Sequence[bool]) -> ShareFigure:
    found = share_of(sum(outcomes), len(outcomes))
    high = found.interval.high if found.interval.high is not None else 1.0
    return ShareFigure(k=found.k, n=found.n, low=found.interval.low, high=high, one_sided=found.one_sided)


def _rate(runs: Sequence[RunRow], finding: FindingClass, seed: int) -> RateFigure:
    events = [run.count(finding) for run in runs]
    found = per_million(events, [denominator(run, finding) for run in runs], seed=seed)
    return RateFigure(
        value=found.value,
        low=found.interval.low if found.interval else None,
        high=found.interval.high if found.interval else None,
        events=found.events,
        records=found.records,
    )


def arm_results(
    arms: Sequence[MatrixArm], rows: Sequence[RunRow], out: Mapping[str, tuple[ArmState, str]], seed: int
) -> tuple[MatrixArmResult, ...]:
    """The results of all arms so far."""
    found = []
    for arm in arms:
        runs = sorted((row for row in rows if row.arm == arm.name), key=lambda row: row.repeat)
        state, reason = out.get(arm.name, ("ran" if runs else "waiting", None))
        found.append(
            MatrixArmResult(
                name=arm.name,
                labels=arm.labels,
                state=state,
                reason=reason,
                runs=tuple(runs),
                left_out=tuple(
                    f"run {row.repeat + 1}: {'; '.join(row.reasons)}" for row in runs if not row.counts
                ),
                figures=figures_of(runs, seed) if runs else None,
            )
        )
    return tuple(found)
