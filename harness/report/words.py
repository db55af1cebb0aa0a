"""The words of all workloads, in the order in which a report has them."""

from __future__ import annotations

from harness.model.result import ArmResult
from harness.model.run import RunMeta
from harness.report.workload_words import Moment, WorkloadWords
from workloads.applications.application_words import APPLICATION
from workloads.groups.group_words import GROUPS
from workloads.own.own_words import PROGRAMS
from workloads.share.share_words import SHARE

WORDS: tuple[WorkloadWords, ...] = (GROUPS, SHARE, PROGRAMS, APPLICATION)


def sentences_of(arm: ArmResult) -> dict[str, str]:
    """What became of the workloads of an arm, by their names."""
    sentences = {words.name: words.sentence(arm) for words in WORDS}
    return {name: sentence for name, sentence in sentences.items() if sentence is not None}


def moments_of(meta: RunMeta) -> tuple[Moment, ...]:
    """What the workloads of a run did by themselves."""
    return tuple(moment for words in WORDS for moment in words.moments(meta))
