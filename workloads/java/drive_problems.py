"""What is wrong with drive steps, rivals, and the clients that they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faults.schedules.problems import Problem
from harness.spec.step import Step
from workloads.java.java_settings import java_problem, settings_problem
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec


def client_problem(workload: WorkloadSpec, settings: ProducerSettings) -> str | None:
    """Why the Java client cannot run a workload with these settings; None: it can, or is not asked to."""
    if workload.client == "driven":
        return settings_problem(settings)
    return java_problem(workload, settings) if workload.client == "java" else None


def driving_problems(
    steps: Sequence[Step], workloads: Sequence[WorkloadSpec], partitions: int
) -> Iterator[Problem]:
    """Write steps and drive steps need different clients; `workloads` are those of the arms, `partitions` is
    the number of the topic's."""
    driven = {workload.client == "driven" for workload in workloads}
    own = any(workload.client == "own" for workload in workloads)
    for number, step in enumerate(steps):
        where = f"steps[{number}]"
        for name in ("records", "rate", "until_faults_end") if own and step.write is not None else ():
            if getattr(step.write, name) is not None:
                yield Problem(
                    f"{where}.write.{name}",
                    f"`client: own` has no `{name}`: your program decides, and `seconds` is the most",
                )
        if step.write is not None and True in driven:
            yield Problem(f"{where}.write", "`client: driven` has no write steps, only drive steps")
        init = step.init_producer_id
        if init is not None and not all(workload.drive.transactional for workload in workloads):
            needs = "it needs `client: driven` with `driven: {transactional: true}`"
            yield Problem(f"{where}.init_producer_id", needs)
        drive = step.drive
        if drive is None:
            continue
        if False in driven:
            yield Problem(f"{where}.drive", "drive steps need `client: driven`: set it below `workload`")
        for partition in [send.partition for send in drive.sends] + [
            offset.partition for offset in drive.offsets
        ]:
            if partition >= partitions:
                yield Problem(f"{where}.drive.do", f"the topic has partitions 0 to {partitions - 1}")
        in_transaction = drive.offsets or {"begin", "commit", "abort"}.intersection(drive.do)
        if in_transaction and not all(workload.transactional for workload in workloads):
            yield Problem(f"{where}.drive.do", "transactions need `driven: {transactional: true}`")


def rival_problems(steps: Sequence[Step], workloads: Sequence[WorkloadSpec]) -> Iterator[Problem]:
    """Rivals of producers that a workload does not have, or that have one already; `workloads` are those of
    the arms."""
    driven: list[str] = []
    taken: set[int] = set()
    for number, step in enumerate(steps):
        if step.drive is not None and step.drive.by not in driven:
            driven.append(step.drive.by)
        rival = step.rival
        if rival is None:
            continue
        where = f"steps[{number}].rival"
        if rival.name in driven:
            yield Problem(f"{where}.name", f"an earlier drive step has a producer {rival.name!r}")
        if rival.of in taken:
            yield Problem(f"{where}.of", f"producer {rival.of} has a rival already")
        for workload in workloads:
            steered = workload.client == "driven"
            count = len(driven) if steered else workload.producers
            if workload.transactions is None and not workload.drive.transactional:
                yield Problem(
                    where,
                    "a rival needs a producer with transactions: set `transactions` below `workload`, or "
                    "`client: driven` with `driven: {transactional: true}`",
                )
            elif rival.of >= count:
                whose = "earlier drive steps name" if steered else "the workload has"
                yield Problem(f"{where}.of", f"{whose} {count} producer(s), of which the first is 0")
        taken.add(rival.of)
        driven.append(rival.name)
