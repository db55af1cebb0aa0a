"""What is known of an application's outputs after every record was examined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checkers.facts.tasks import TaskReport


@dataclass(frozen=True)
class RunOutputs:
    """What is known of an application's outputs: `inputs` that it had to process, how many of them it
    `processed`, the blocks with facts to look at, and for each partition of its output the blocks that have
    outputs there (none if it promises no order)."""

    inputs: int
    processed: int
    blocks: tuple[int, ...]
    spots: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, reports: Sequence[TaskReport]) -> RunOutputs:
        spots: dict[int, list[int]] = defaultdict(list)
        for report in sorted(reports, key=lambda report: report.number):
            for spot in report.output_spots:
                spots[spot].append(report.number)
        return cls(
            inputs=sum(report.inputs for report in reports),
            processed=sum(report.processed for report in reports),
            blocks=tuple(sorted(report.number for report in reports if report.outputs)),
            spots={spot: tuple(spots[spot]) for spot in sorted(spots)},
        )
