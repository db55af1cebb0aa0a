"""The summary of a run, from the counts of its findings."""

from __future__ import annotations

from collections import Counter

from checkers.facts.measure import RunFacts
from checkers.findings.evidence import NOT_COMMITTED
from checkers.judgement.blame import blame
from checkers.judgement.partial import PartialSummary
from harness.model.result import CountRow, Example, FindingClass, OwnerlessTime, ShareCount, Summary
from harness.model.run import RunMeta


def summarise(
    found: PartialSummary,
    meta: RunMeta,
    facts: RunFacts,
    *,
    unavailable_seconds: float,
    ownerless: tuple[OwnerlessTime, ...] | None,
    shares: tuple[ShareCount, ...] | None,
    problems: tuple[str, ...],
) -> Summary:
    """Summary of a run; `check_seconds` is left 0.0 for the caller to fill in.

    Args:
        found: counts of all findings.
        facts: of the same run.
    """
    by_class: Counter[FindingClass] = Counter()
    lost_by_step: Counter[str] = Counter()
    lost_places: Counter[str] = Counter()
    premature_places: Counter[str] = Counter()
    leaders = _leaders(meta)
    held_by_leader = not_committed = 0
    for (name, place, step, partition, held_by), count in found.groups.items():
        finding = FindingClass(name)
        by_class[finding] += count
        if finding is FindingClass.PREMATURE:
            premature_places[str(place)] += count
        if finding is not FindingClass.LOST:
            continue
        # A lost record was sent, so its step and place are known.
        lost_by_step[_step_name(meta, step)] += count
        lost_places[str(place)] += count
        if place == NOT_COMMITTED:
            not_committed += count
        elif partition is not None and leaders.get(partition) in (held_by or ()):
            held_by_leader += count
    inspected = meta.final_read is not None and bool(meta.final_read.replicas_inspected)
    acked_by_step = {step.name: 0 for step in meta.steps if step.kind == "write"}
    for number, count in sorted(facts.acked_by_step.items()):
        acked_by_step[_step_name(meta, number)] = count
    return Summary(
        sent=sum(facts.outcomes.values()),
        outcomes=dict(sorted(facts.outcomes.items())),
        reads=facts.reads,
        findings={finding: by_class[finding] for finding in FindingClass if by_class[finding]},
        acked_by_step=acked_by_step,
        lost_by_step=dict(sorted(lost_by_step.items())),
        lost_places=dict(sorted(lost_places.items())),
        lost_held_by_leader=held_by_leader,
        lost_unexamined=0 if inspected else by_class[FindingClass.LOST] - not_committed,
        extra_copies=found.extra_copies,
        counts=tuple(
            CountRow.model_validate(dict(zip(_CELL, (*cell, count), strict=True)))
            for cell, count in found.largest_cells
        ),
        examples=tuple(
            Example.model_validate(
                {name: example[name] for name in _SHOWN} | {"held_by": example["held_by"] or ()}
            )
            for example in found.examples
        ),
        unavailable_seconds=unavailable_seconds,
        ownerless=ownerless or (),
        shares=shares or (),
        check_seconds=0.0,
        problems=problems,
        blame=blame(found.blamed, meta),
        inputs=None if facts.outputs is None else facts.outputs.inputs,
        processed=None if facts.outputs is None else facts.outputs.processed,
        premature_places=dict(sorted(premature_places.items())),
    )


_SHOWN = tuple(Example.model_fields)
_CELL = ("finding", "producer", "partition", "step", "windows", "count")


def _leaders(meta: RunMeta) -> dict[int, int]:
    bounds = meta.final_read.bounds if meta.final_read is not None else ()
    return {bound.partition: bound.leader for bound in bounds if bound.topic == meta.topic}


def _step_name(meta: RunMeta, index: int | None) -> str:
    return next((step.name for step in meta.steps if step.index == index), f"step {index}")
