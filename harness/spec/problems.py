"""What is wrong with the faults and the readers of an experiment, before a cluster starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faults.schedules.problems import Problem, schedule_problems
from faults.schedules.tracks import tracks
from faults.shared.fault_spec import FaultSpec
from faults.targets.target_context import ClusterShape
from harness.spec.cluster import ClusterSpec, Metadata
from harness.spec.step import Step
from harness.spec.steps import Heal, Inject, Write
from workloads.records.config.reader_spec import ReaderSpec


def left_open(steps: Sequence[Step], index: int) -> dict[str, Inject]:
    """The inject steps before this step whose faults are still open, by their path in the file."""
    opened: dict[str, Inject] = {}
    for number, step in enumerate(steps[:index]):
        if step.inject is not None:
            opened[f"steps[{number}].inject"] = step.inject
        elif step.heal is not None:
            only = step.heal.only
            opened = {where: inject for where, inject in opened.items() if only and inject.name not in only}
    return opened


def faults_before(steps: Sequence[Step], index: int) -> dict[str, FaultSpec]:
    """The faults of `left_open`."""
    return {where: inject.fault for where, inject in left_open(steps, index).items()}


def fault_problems(steps: Sequence[Step], shape: ClusterShape, *, together: bool) -> Iterator[Problem]:
    """Faults that are impossible on a cluster of this shape, or at their times; `together`: all arms are in
    one run."""
    for number, step in enumerate(steps):
        where = f"steps[{number}]"
        if isinstance(step.action, Inject):
            try:
                step.action.fault.warnings(shape)
            except ValueError as error:
                yield Problem(f"{where}.inject", str(error))
        elif isinstance(step.action, Heal):
            names = {inject.name for inject in left_open(steps, number).values()}
            for name in step.action.only:
                if name not in names:
                    yield Problem(f"{where}.heal.only", f"no fault called {name!r} is open at this step")
        elif isinstance(step.action, Write):
            picks = (pick for track in tracks(step.action.faults) for pick in track.picks)
            if together and any(pick.fault.of_topic for pick in picks):
                yield Problem(
                    where, "with `together: true` faults on the topic are possible in inject steps only"
                )
            problems = schedule_problems(
                step.action.faults,
                shape,
                seconds=step.action.ends,
                at_most_down=step.action.at_most_down,
                before=faults_before(steps, number),
            )
            yield from (Problem(f"{where}.write.{problem.where}", problem.what) for problem in problems)


def reader_problems(readers: Sequence[ReaderSpec], cluster: ClusterSpec, where: str) -> Iterator[Problem]:
    """Readers that the cluster does not support, and names that are used twice; `where` is their key in the
    file."""
    taken: set[str] = set()
    for number, reader in enumerate(readers):
        twice = taken.intersection(reader.member_names)
        if twice:
            yield Problem(f"{where}[{number}].name", f"two readers are named {min(twice)!r}")
        taken.update(reader.member_names)
        if reader.protocol == "consumer" and not cluster.has_consumer_protocol:
            mode = " with ZooKeeper" if cluster.metadata is Metadata.ZOOKEEPER else ""
            yield Problem(
                f"{where}[{number}].protocol",
                f"Kafka {cluster.version}{mode} has no consumer group protocol, 4.0 was the first "
                "(KIP-848): set `version` below `cluster`, or `protocol: classic`",
            )
        if reader.rack is None:
            continue
        if not cluster.racks:
            yield Problem(
                f"{where}[{number}].rack",
                "the cluster has no racks: set `racks: true` below `cluster`, or leave rack out",
            )
        elif reader.rack not in cluster.rack_names:
            yield Problem(
                f"{where}[{number}].rack",
                f"there is no rack {reader.rack!r}: the racks are {', '.join(cluster.rack_names)}",
            )
