"""What is wrong with what the workloads of an experiment ask for: each workload says it itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from faults.schedules.problems import Problem
from harness.model.errors import located_words_of
from workloads.applications.application_problems import application_problems, source_problems
from workloads.groups.group_problems import commit_problems, restart_problems
from workloads.java.drive_problems import client_problem, driving_problems, rival_problems
from workloads.own.own_problems import own_problems
from workloads.share.share_problems import altered_problems, share_problems

# An experiment is `harness.spec.experiment.Experiment`, which imports this module.
Check = Callable[[Any], Iterator[Problem]]


def of_applications(experiment: Any) -> Iterator[Problem]:
    """Of the application of each arm."""
    for number, arm in enumerate(experiment.arms):
        where = f"arms[{number}].application"
        try:
            application = experiment.application_of(arm)
        except ValidationError as error:
            yield Problem(where, f"arm {arm.name!r}: {located_words_of(error)}")
            continue
        if application is None:
            continue
        key = "application" if arm.application is None else where
        readers = experiment.readers_of(arm)
        yield from application_problems(application, readers, experiment.cluster, arm=arm.name, where=key)
        if application.input is not None:
            beside = bool(readers or experiment.share_of(arm))
            workload = experiment.workload_of(arm)
            yield from source_problems(workload, arm.producer, beside, f"{key}.input")


def of_clients(experiment: Any) -> Iterator[Problem]:
    """Of settings that the client of an arm does not have, and of programs of the user's."""
    for number, arm in enumerate(experiment.arms):
        if (own := experiment.workload_of(arm).own) is not None:
            key = "workload.own" if arm.workload is None else f"arms[{number}].workload.own"
            yield from own_problems(own, experiment.cluster, key)
        what = client_problem(experiment.workload_of(arm), arm.producer)
        if what is not None:
            yield Problem(f"arms[{number}].producer", f"arm {arm.name!r}: {what}")


def of_share_groups(experiment: Any) -> Iterator[Problem]:
    """Of share groups, and of the steps that change them."""
    yield from share_problems(experiment.share, experiment.cluster, "share")
    for number, arm in enumerate(experiment.arms):
        yield from share_problems(arm.share or (), experiment.cluster, f"arms[{number}].share")
    groups = {arm.name: experiment.share_of(arm) for arm in experiment.arms}
    yield from altered_problems(experiment.steps, groups, experiment.cluster)


def of_driven_producers(experiment: Any) -> Iterator[Problem]:
    """Of drive steps and rivals."""
    workloads = [experiment.workload_of(arm) for arm in experiment.arms]
    yield from driving_problems(experiment.steps, workloads, experiment.topic.partitions)
    yield from rival_problems(experiment.steps, workloads)


def of_groups(experiment: Any) -> Iterator[Problem]:
    """Of steps about consumer groups."""
    readers = {arm.name: experiment.readers_of(arm) for arm in experiment.arms}
    yield from restart_problems(experiment.steps, readers)
    yield from commit_problems(experiment.steps, experiment.topic.partitions)


SHAPE_CHECKS: tuple[Check, ...] = (of_applications,)
"""What all other checks assume."""
CHECKS: tuple[Check, ...] = (of_clients, of_share_groups, of_driven_producers, of_groups)
CLUSTER_CHECKS: tuple[Check, ...] = (of_share_groups,)
"""What another version of Kafka may change."""
