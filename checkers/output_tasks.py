"""What tasks do last about the outputs of an application: each writes its own part of the findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checkers.facts.outputs import OutputFacts, OutputRules
from checkers.facts.run_outputs import RunOutputs
from checkers.finding_tasks import FindingsContext, FindingTask, Found
from checkers.findings.output_findings import OutputNames, invented_values, order_findings, output_findings
from checkers.journals.footers import JournalFile, RowGroup, distinct_words, row_groups
from harness.model.journal import ReadState

_GROUPS = 16
"""Row groups with outputs whose identity cannot be trusted that one task reads."""


def output_tasks(files: Sequence[JournalFile], outputs: RunOutputs | None) -> list[FindingTask]:
    """Tasks for an application's outputs; none if there is no application."""
    if outputs is None:
        return []
    tasks = [FindingTask(f"outputs-{number:06}", OfOutputs(number)) for number in outputs.blocks]
    bad = [file for file in files if distinct_words([file], "state") != {ReadState.OK.value}]
    groups = row_groups(bad, identities=False)
    tasks += [
        FindingTask(f"output-values-{number:06}", OfOutputValues(tuple(groups[begin : begin + _GROUPS])))
        for number, begin in enumerate(range(0, len(groups), _GROUPS))
    ]
    return tasks + [
        FindingTask(f"output-order-{number:06}", OfOutputOrder(spot, blocks))
        for number, (spot, blocks) in enumerate(outputs.spots.items())
    ]


@dataclass(frozen=True)
class OfOutputs:
    """Findings about the inputs of a block and an application's outputs of them."""

    number: int

    def __call__(self, context: FindingsContext) -> Found:
        _, names = _of_application(context)
        return output_findings(OutputFacts.load(context.run.scratch, self.number), names)


@dataclass(frozen=True)
class OfOutputValues:
    """Findings about outputs in these row groups whose identity cannot be trusted."""

    groups: tuple[RowGroup, ...]

    def __call__(self, context: FindingsContext) -> Found:
        rules, names = _of_application(context)
        return invented_values(self.groups, context.run, rules, names)


@dataclass(frozen=True)
class OfOutputOrder:
    """Findings about the order of the outputs in one partition of the output, which these blocks have."""

    spot: int
    blocks: tuple[int, ...]

    def __call__(self, context: FindingsContext) -> Found:
        rules, names = _of_application(context)
        return order_findings(self.spot, self.blocks, context.run, rules, names)


def _of_application(context: FindingsContext) -> tuple[OutputRules, OutputNames]:
    assert context.run.outputs is not None
    assert context.outputs is not None
    return context.run.outputs, context.outputs
