"""Results of a matrix whose runs are drawn, and results that break a promise."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from harness.many.matrix.expand import MatrixArm, expand_matrix
from harness.many.matrix.figures import arm_results
from harness.many.matrix.result import MatrixResult, RunRow
from harness.many.matrix.spec import MatrixSpec
from harness.model.finding_class import FindingClass
from harness.model.result import VerdictWord
from tests.support.builders.matrices import parsed_matrix

Draw = Callable[[str, np.random.Generator], dict[str, Any]]


@cache
def small_matrix(changes: str) -> tuple[MatrixSpec, tuple[MatrixArm, ...]]:
    """SMALL with changes (JSON), and its arms."""
    spec = parsed_matrix(**json.loads(changes))
    return spec, expand_matrix(spec, "small.yaml")


def drawn_result(draw: Draw, seed: int, runs: int = 5, unknown: int = 0, **changes: Any) -> MatrixResult:
    """A result of SMALL whose runs are drawn, as `drawn_result_of`."""
    return drawn_result_of(*small_matrix(json.dumps(changes)), draw, seed, runs, unknown)


def drawn_result_of(
    spec: MatrixSpec, arms: Sequence[MatrixArm], draw: Draw, seed: int, runs: int = 5, unknown: int = 0
) -> MatrixResult:
    """A result whose runs are drawn: `draw` gives lost, duplicates, reordered, other, unconfirmed, absent and
    failed records, and unavailable seconds."""
    generator = np.random.default_rng(seed)
    rows = []
    for arm in arms:
        for repeat in range(runs + unknown):
            told = defaultdict(int, {"unavailable": 4.0} | draw(arm.name, generator))
            findings = {
                FindingClass.LOST: told["lost"],
                FindingClass.UNCONFIRMED_ABSENT: told["absent"],
                FindingClass.DUPLICATE: told["duplicates"],
                FindingClass.REORDERED: told["reordered"],
                FindingClass.PHANTOM: told["other"],
            }
            outcomes = {
                "acked": 10_000 - told["failed"] - told["unconfirmed"],
                "indeterminate": told["failed"],
                "unconfirmed": told["unconfirmed"],
            }
            rows.append(
                RunRow(
                    arm=arm.name,
                    labels=arm.labels,
                    repeat=repeat,
                    folder=f"runs/{arm.name}/{repeat + 1:03d}",
                    seed=seed,
                    verdict=VerdictWord.UNKNOWN if repeat >= runs else VerdictWord.VALID,
                    as_promised=None if repeat >= runs else True,
                    reasons=("a fault was not shown",) if repeat >= runs else (),
                    sent=10_000,
                    outcomes={outcome: int(count) for outcome, count in outcomes.items() if count},
                    findings={finding: int(count) for finding, count in findings.items() if count},
                    unavailable_seconds=float(told["unavailable"]),
                    started_ns=time.time_ns(),
                    seconds=15,
                )
            )
    return MatrixResult(
        name=spec.name,
        title=spec.title,
        description="",
        spec=spec.model_dump(mode="json", by_alias=True, exclude_unset=True),
        seed=seed,
        command="",
        started_ns=0,
        seconds=1,
        ended="all runs made",
        arms=arm_results(arms, rows, {}, 0),
    )


def with_broken_promise(result: MatrixResult, name: str, finding: str) -> MatrixResult:
    """The result if the first run of this arm had broken its promise on this class."""

    def broken(run: RunRow, number: int) -> RunRow:
        reasons = (f"{finding}: promised 0, seen 7", "7 records are wrong")
        return run if number else run.model_copy(update={"as_promised": False, "reasons": reasons})

    arms = [
        arm.model_copy(update={"runs": tuple(map(broken, arm.runs, count()))}) if arm.name == name else arm
        for arm in result.arms
    ]
    return result.model_copy(update={"arms": tuple(arms)})
