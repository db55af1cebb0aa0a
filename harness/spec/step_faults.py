"""The faults of an experiment's steps with their paths in the file, and what those that act on single
requests need of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from faults.proxied.apis import refusal, unreadable
from faults.requests import Requests
from faults.schedules.entries import IfImpossible
from faults.schedules.problems import Problem
from faults.schedules.tracks import tracks
from faults.shared.fault_spec import FaultSpec
from harness.spec.cluster import ClusterSpec
from harness.spec.step import Step


class LocatedFault(NamedTuple):
    """A fault, its path (`steps[1].write.faults[0].fault`), and what to do if it is impossible."""

    where: str
    fault: FaultSpec
    if_impossible: IfImpossible


def faults_of_steps(steps: Sequence[Step]) -> Iterator[LocatedFault]:
    """Every fault of every step, including those of menus, sequences and groups, in the order of the file."""
    for number, step in enumerate(steps):
        if step.inject is not None:
            yield LocatedFault(f"steps[{number}].inject", step.inject.fault, step.inject.if_impossible)
        elif step.write is not None:
            for pick in (pick for track in tracks(step.write.faults) for pick in track.picks):
                yield LocatedFault(f"steps[{number}].write.{pick.where}", pick.fault, pick.if_impossible)


def needs_proxy(steps: Sequence[Step]) -> bool:
    """Whether a step acts on single requests, or waits for them."""
    return any(step.wait is not None and step.wait.request is not None for step in steps) or any(
        located.fault.uses_proxy for located in faults_of_steps(steps)
    )


def request_problems(steps: Sequence[Step], cluster: ClusterSpec) -> Iterator[Problem]:
    """APIs that the cluster's version of Kafka does not speak, and waits for requests that nothing holds."""
    named = [(located.where, located.fault.api) for located in faults_of_steps(steps)]
    waits = {number: step.wait for number, step in enumerate(steps) if step.wait and step.wait.request}
    for number, wait in waits.items():
        assert wait.request is not None
        named.append((f"steps[{number}].wait.request.api", wait.request.api))
        earlier = [located.fault for located in faults_of_steps(steps[:number])]
        if wait.held and not any(
            isinstance(fault, Requests) and fault.holds(wait.request) for fault in earlier
        ):
            what = f"no earlier step holds {wait.request}: inject `requests` with this `on` and `do: hold`"
            yield Problem(f"steps[{number}].wait.held", what)
    version = cluster.version_numbers if cluster.existing is None else ()
    by_body = [
        (located.where, located.fault.api)
        for located in faults_of_steps(steps)
        if isinstance(located.fault, Requests) and located.fault.needs_body
    ]
    by_body += [
        (f"steps[{number}].wait.request", wait.request.api)
        for number, wait in waits.items()
        if wait.request is not None and wait.request.names_topics
    ]
    for where, name in by_body:
        if (unread := unreadable(name, version)) is not None:
            older = "leave out `topic`, `partition` and `do: error`"
            yield Problem(where, f"{unread}: {older}, or set an older `version` below `cluster`")
    for where, api in named:
        why = None if api is None else refusal(api, version, cluster.metadata.value)
        if why is not None:
            yield Problem(where, f"{why}: name another API, or set another `version` below `cluster`")
