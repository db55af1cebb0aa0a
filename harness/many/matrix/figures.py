"""The figures of an arm, from its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from checkers import EventRate, Share, figures_of, percentile, percentile_interval, share_of, share_with
from harness.many.matrix.expand import MatrixArm
from harness.many.matrix.result import (
    ArmFigures,
    MatrixArmResult,
    RateFigure,
    RunRow,
    SecondsFigure,
    ShareFigure,
)

ArmState = Literal["refused", "impossible"]


def arm_figures(runs: Sequence[RunRow], seed: int = 0) -> ArmFigures:
    """All figures of one arm; runs of verdict `unknown` are left out. `seed` is that of the bootstrap."""
    found = figures_of([run.counted for run in runs], seed)
    as_promised = share_of(sum(run.as_promised is True for run in runs if run.counts), found.runs)
    shares = {what: _share(share) for what, share in found.with_any.items()}
    rates = {what: _rate(rate) for what, rate in found.per_million.items()}
    return ArmFigures(
        runs=found.runs,
        left_out=found.left_out,
        with_loss=shares["lost"],
        with_unconfirmed_absent=shares["unconfirmed_absent"],
        with_duplicates=shares["duplicates"],
        as_promised=_share(as_promised),
        lost_per_million=rates["lost"],
        unconfirmed_absent_per_million=rates["unconfirmed_absent"],
        duplicates_per_million=rates["duplicates"],
        unavailable_seconds=_seconds(found.unavailable),
    )


def loss_width(runs: Sequence[RunRow]) -> float:
    """Width of the interval of the share of runs with loss: the wider of lost, and unconfirmed and absent."""
    good = [run.counted for run in runs if run.counts]
    shares = (_share(share_with(good, what)) for what in ("lost", "unconfirmed_absent"))
    return max(share.high - share.low for share in shares)


def _seconds(values: Sequence[float]) -> SecondsFigure:
    """Median with its interval, 95th percentile and largest."""
    around = percentile_interval(values, 0.5)
    return SecondsFigure(
        median=percentile(values, 0.5),
        low=around.low if around else None,
        high=around.high if around else None,
        p95=percentile(values, 0.95),
        most=max(values, default=None),
    )


def _share(found: Share) -> ShareFigure:
    high = found.interval.high if found.interval.high is not None else 1.0
    return ShareFigure(k=found.k, n=found.n, low=found.interval.low, high=high, one_sided=found.one_sided)


def _rate(found: EventRate) -> RateFigure:
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
                figures=arm_figures(runs, seed) if runs else None,
            )
        )
    return tuple(found)
