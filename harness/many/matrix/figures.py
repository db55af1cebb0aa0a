"""The figures of an arm, from its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from checkers import figures_of, share_of, share_with
from harness.many.matrix.expand import MatrixArm
from harness.many.matrix.result import ArmFigures, MatrixArmResult, RunRow

ArmState = Literal["refused", "impossible"]


def arm_figures(runs: Sequence[RunRow], seed: int = 0) -> ArmFigures:
    """All figures of one arm; runs of verdict `unknown` are left out. `seed` is that of the bootstrap."""
    figures = figures_of([run.counted for run in runs], seed)
    shares, rates = figures.with_any, figures.per_million
    return ArmFigures(
        runs=figures.runs,
        left_out=figures.left_out,
        with_loss=shares["lost"],
        with_unconfirmed_absent=shares["unconfirmed_absent"],
        with_duplicates=shares["duplicates"],
        as_promised=share_of(sum(run.as_promised is True for run in runs if run.counts), figures.runs),
        lost_per_million=rates["lost"],
        unconfirmed_absent_per_million=rates["unconfirmed_absent"],
        duplicates_per_million=rates["duplicates"],
        unavailable_seconds=figures.unavailable,
    )


def loss_width(runs: Sequence[RunRow]) -> float:
    """Width of the interval of the share of runs with loss: the wider of lost, and unconfirmed and absent."""
    good = [run.counted for run in runs if run.counts]
    shares = (share_with(good, what) for what in ("lost", "unconfirmed_absent"))
    return max(share.high - share.low for share in shares)


def arm_results(
    arms: Sequence[MatrixArm], rows: Sequence[RunRow], out: Mapping[str, tuple[ArmState, str]], seed: int
) -> tuple[MatrixArmResult, ...]:
    """The results of all arms so far."""
    results = []
    for arm in arms:
        runs = sorted((row for row in rows if row.arm == arm.name), key=lambda row: row.repeat)
        state, reason = out.get(arm.name, ("ran" if runs else "waiting", None))
        results.append(
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
    return tuple(results)
