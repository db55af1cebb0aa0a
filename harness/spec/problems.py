"""What is wrong with the steps of an experiment, before a cluster starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from faults.schedules.problems import Problem, schedule_problems
from faults.schedules.tracks import tracks
from faults.shared.fault_spec import FaultSpec
from faults.shared.partition_fault import PartitionFault
from faults.targets.target_context import ClusterShape
from harness.spec.steps import Heal, Inject, Step, Write
from workloads.config.reader_spec import ReaderSpec
from workloads.config.workload_spec import WorkloadSpec


def driving_problems(
    steps: Sequence[Step], workloads: Sequence[WorkloadSpec], partitions: int
) -> Iterator[Problem]:
    """Write steps and drive steps need different clients; `workloads` are those of the arms, `partitions` is
    the number of the topic's."""
    driven = {one.client == "driven" for one in workloads}
    own = any(one.client == "own" for one in workloads)
    for number, step in enumerate(steps):
        where = f"steps[{number}]"
        for name in ("records", "rate") if own and step.write is not None else ():
            if getattr(step.write, name) is not None:
                yield Problem(
                    f"{where}.write.{name}",
                    f"`client: own` has no `{name}`: your program decides, and `seconds` is the most",
                )
        if step.write is not None and True in driven:
            yield Problem(f"{where}.write", "`client: driven` has no write steps, only drive steps")
        if step.drive is None:
            continue
        if False in driven:
            yield Problem(f"{where}.drive", "drive steps need `client: driven`: set it below `workload`")
        numbers = [
            *(send.partition for send in step.drive.sends),
            *(one.partition for one in step.drive.offsets),
        ]
        for partition in numbers:
            if partition >= partitions:
                yield Problem(f"{where}.drive.do", f"the topic has partitions 0 to {partitions - 1}")
        calls = {"begin", "commit", "abort"}
        if (step.drive.offsets or not calls.isdisjoint(step.drive.do)) and not all(
            one.transactional for one in workloads
        ):
            yield Problem(f"{where}.drive.do", "transactions need `driven: {transactional: true}`")


def restart_problems(steps: Sequence[Step], arms: Mapping[str, Sequence[ReaderSpec]]) -> Iterator[Problem]:
    """Steps that restart a reader which an arm does not have, or whose clients cannot be killed; `arms`
    are the readers by the arm's name."""
    for number, restart in enumerate(step.restart_reader for step in steps):
        if restart is None:
            continue
        where = f"steps[{number}].restart_reader"
        for arm, readers in arms.items():
            found = {reader.name: reader for reader in readers}.get(restart.reader)
            if found is None:
                yield Problem(f"{where}.reader", f"arm {arm!r} has no reader {restart.reader!r}")
            elif restart.crash and not found.apart:
                yield Problem(
                    f"{where}.crash",
                    f"a crash needs a reader whose clients have their own processes: set `process: true` "
                    f"for reader {restart.reader!r}",
                )


def commit_problems(steps: Sequence[Step], partitions: int) -> Iterator[Problem]:
    """Steps that commit or ask for offsets of a partition that the topic does not have, or through the broker
    of a later step."""
    earlier: set[str] = set()
    for number, step in enumerate(steps):
        commit = step.commit_offsets
        for name in () if step.ask_offsets is None else step.ask_offsets.of:
            if name not in earlier:
                yield Problem(
                    f"steps[{number}].ask_offsets.of", f"no earlier step commits offsets as {name!r}"
                )
        if commit is None:
            continue
        where = f"steps[{number}].commit_offsets"
        if commit.partition >= partitions:
            yield Problem(f"{where}.partition", f"the topic has partitions 0 to {partitions - 1}")
        for key in ("same_as", "other_than"):
            name = getattr(commit, key)
            if name is not None and name not in earlier:
                yield Problem(f"{where}.{key}", f"no earlier step commits offsets as {name!r}")
        if commit.name in earlier:
            yield Problem(f"{where}.name", f"two such steps are named {commit.name!r}")
        earlier.add(commit.name)


def left_open(steps: Sequence[Step], index: int) -> dict[str, Inject]:
    """The inject steps before this step whose faults are still open, by their path in the file."""
    found: dict[str, Inject] = {}
    for number, step in enumerate(steps[:index]):
        if step.inject is not None:
            found[f"steps[{number}].inject"] = step.inject
        elif step.heal is not None:
            only = step.heal.only
            found = {where: one for where, one in found.items() if only and one.name not in only}
    return found


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
            names = {one.name for one in left_open(steps, number).values()}
            for name in step.action.only:
                if name not in names:
                    yield Problem(f"{where}.heal.only", f"no fault called {name!r} is open at this step")
        elif isinstance(step.action, Write):
            picks = (pick for track in tracks(step.action.faults) for pick in track.picks)
            if together and any(isinstance(pick.fault, PartitionFault) for pick in picks):
                yield Problem(
                    where, "with `together: true` faults on partitions are possible in inject steps only"
                )
            found = schedule_problems(
                step.action.faults,
                shape,
                seconds=step.action.ends,
                at_most_down=step.action.at_most_down,
                before=faults_before(steps, number),
            )
            yield from (Problem(f"{where}.write.{one.where}", one.what) for one in found)
