"""The check of one subject: the twin of `workloads.base.RunningWorkload`, without a Kafka client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from checkers.classes.base import FindingRule
from checkers.found import Found
from checkers.journals.journal import JournalSpec
from checkers.journals.load import Missing
from checkers.journals.views import Scratch, Views


@dataclass(frozen=True)
class SubjectCheck:
    """The check of one subject: of what readers got, of share groups, of an application.

    Attributes:
        find: its findings, from the views of a run and a folder for intermediate results.
        classes: its classes of findings, in the order in which they apply.
        journals: its journals, by name, beside those of every run.
        missing: what these lack that the run's metadata mention.
        active: when it was given records or wrote some: rows with `begun` and `ended` (bigint, ns), so that a
            fault that met nothing is known (None: it was not, or says nothing about that).
        evidence: makes what adds to findings what it knows of their records; called once per check.
        afterwards: its findings that follow from those of the run's records, which are given as they were
            written.
    """

    find: Callable[[Views, Scratch], Found]
    classes: tuple[FindingRule, ...]
    journals: Mapping[str, JournalSpec] = field(default_factory=dict)
    missing: Missing = lambda _meta, _parts: ()
    active: Callable[[Views], DataFrame | None] = lambda _views: None
    evidence: Callable[[Views, Scratch], Callable[[DataFrame], DataFrame]] = lambda _views, _scratch: (
        lambda findings: findings
    )
    afterwards: Callable[[Views, Scratch, DataFrame], Found] = lambda _views, _scratch, _findings: Found()
