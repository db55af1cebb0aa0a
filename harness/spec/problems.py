"""What is wrong with the steps, the readers, the share groups and the application of an experiment, before a
cluster starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from faults.schedules.problems import Problem, schedule_problems
from faults.schedules.tracks import tracks
from faults.shared.fault_spec import FaultSpec
from faults.targets.target_context import ClusterShape
from harness.spec.application import ApplicationSpec
from harness.spec.cluster import SMALLEST_LOCK_PROPERTY, ClusterSpec, Metadata
from harness.spec.steps import Heal, Inject, Step, Write
from workloads.config.reader_spec import ReaderSpec
from workloads.config.share_spec import LIMIT_PROPERTY, SMALLEST_LOCK_SECONDS, ShareSpec
from workloads.config.workload_spec import ProducerSettings, WorkloadSpec


def driving_problems(
    steps: Sequence[Step], workloads: Sequence[WorkloadSpec], partitions: int
) -> Iterator[Problem]:
    """Write steps and drive steps need different clients; `workloads` are those of the arms, `partitions` is
    the number of the topic's."""
    driven = {one.client == "driven" for one in workloads}
    own = any(one.client == "own" for one in workloads)
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
        if init is not None and not all(one.drive.transactional for one in workloads):
            needs = "it needs `client: driven` with `driven: {transactional: true}`"
            yield Problem(f"{where}.init_producer_id", needs)
        drive = step.drive
        if drive is None:
            continue
        if False in driven:
            yield Problem(f"{where}.drive", "drive steps need `client: driven`: set it below `workload`")
        for partition in [one.partition for one in drive.sends] + [one.partition for one in drive.offsets]:
            if partition >= partitions:
                yield Problem(f"{where}.drive.do", f"the topic has partitions 0 to {partitions - 1}")
        in_transaction = drive.offsets or {"begin", "commit", "abort"}.intersection(drive.do)
        if in_transaction and not all(one.transactional for one in workloads):
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
        where = f"steps[{number}].ask_offsets.of"
        for name in () if step.ask_offsets is None else step.ask_offsets.of:
            if name not in earlier:
                yield Problem(where, f"no earlier step commits offsets as {name!r}")
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
            if together and any(pick.fault.of_topic for pick in picks):
                yield Problem(
                    where, "with `together: true` faults on the topic are possible in inject steps only"
                )
            found = schedule_problems(
                step.action.faults,
                shape,
                seconds=step.action.ends,
                at_most_down=step.action.at_most_down,
                before=faults_before(steps, number),
            )
            yield from (Problem(f"{where}.write.{one.where}", one.what) for one in found)


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


def share_problems(groups: Sequence[ShareSpec], cluster: ClusterSpec, where: str) -> Iterator[Problem]:
    """Groups that the cluster does not support, and names that are used twice; `where` is their key in the
    file."""
    names: set[str] = set()
    taken: set[str] = set()
    for number, spec in enumerate(groups):
        here = f"{where}[{number}]"
        if (refusal := cluster.without_share_groups) is not None:
            yield Problem(here, refusal)
            return
        if spec.name in names:
            yield Problem(f"{here}.name", f"two share groups are named {spec.name!r}")
        elif (group := spec.group or spec.name) in taken:
            yield Problem(f"{here}.group", f"two entries of `share` have the group {group!r}")
        names.add(spec.name)
        taken.add(spec.group or spec.name)
        yield from _limit_problem(spec.delivery_limit, cluster, f"{here}.delivery_limit")
        smallest = _smallest_lock(cluster)
        if spec.lock is not None and smallest is not None and spec.lock < smallest:
            yield Problem(
                f"{here}.lock",
                f"a lock of {spec.lock:g} s is below the {smallest:g} s that brokers allow: set "
                f"`properties: {{{SMALLEST_LOCK_PROPERTY}: {round(spec.lock * 1000)}}}` below `cluster`",
            )


def _limit_problem(limit: int | None, cluster: ClusterSpec, where: str) -> Iterator[Problem]:
    if limit is not None and not cluster.has_group_limits:
        yield Problem(
            where,
            f"share groups of Kafka {cluster.version} have no delivery limit of their own, 4.3 is the first "
            f"(KIP-1240): leave it out, and set `properties: {{{LIMIT_PROPERTY}: {limit}}}` below `cluster`",
        )


def altered_problems(
    steps: Sequence[Step], arms: Mapping[str, Sequence[ShareSpec]], cluster: ClusterSpec
) -> Iterator[Problem]:
    """Steps that change a share group which an arm does not have, or in a way that the cluster does not
    support; `arms` are the groups by the arm's name."""
    for number, change in enumerate(step.alter_share_group for step in steps):
        if change is None:
            continue
        where = f"steps[{number}].alter_share_group"
        yield from _limit_problem(change.delivery_limit, cluster, f"{where}.delivery_limit")
        for arm, groups in arms.items():
            names = sorted({spec.group or spec.name for spec in groups} | {spec.name for spec in groups})
            if change.group not in names:
                yield Problem(
                    f"{where}.group",
                    f"arm {arm!r} has no share group {change.group!r}; it has {', '.join(names) or 'none'}",
                )


def _smallest_lock(cluster: ClusterSpec) -> float | None:
    """The shortest lock that brokers allow, in seconds; None: not known."""
    if cluster.existing is not None:
        return None
    given = cluster.properties.get(SMALLEST_LOCK_PROPERTY)
    if given is None:
        return SMALLEST_LOCK_SECONDS
    return int(given) / 1000 if given.isdigit() else None


def source_problems(
    workload: WorkloadSpec, settings: ProducerSettings, beside: bool, where: str
) -> Iterator[Problem]:
    """Why the input of an application that reads a file or an endpoint cannot be written by this workload;
    `beside`: the arm has readers or share groups."""
    for given, what in (
        (
            workload.client != "librdkafka" or workload.transactional,
            "`client` and transactions have no meaning",
        ),
        (workload.producers > 1, "there is one writer: leave `producers` out"),
        (settings != ProducerSettings(), "nothing is produced to Kafka: leave the arm's `producer` out"),
        (beside, "the records of the topic are the application's: leave `readers` and `share` out"),
    ):
        if given:
            yield Problem(where, f"with `input` {what}")


def application_problems(
    application: ApplicationSpec, readers: Sequence[ReaderSpec], cluster: ClusterSpec, *, arm: str, where: str
) -> Iterator[Problem]:
    """Why the cluster cannot have this application beside these readers of an arm; `where` is its key in the
    file."""
    if cluster.security is not None:
        yield Problem(where, "an application cannot be tested on a cluster with `security` yet")
    if cluster.existing is not None and application.in_container:
        yield Problem(f"{where}.run", "a container needs the network of a cluster that kafka-chaos starts")
    if cluster.existing is not None and application.output.cluster is not None:
        yield Problem(f"{where}.output.cluster", "a second cluster needs a first one that kafka-chaos starts")
    replicas = application.output.of_topic.replication_factor
    if replicas is not None and replicas > cluster.brokers:
        yield Problem(
            f"{where}.output.topic.replication_factor",
            f"it is {replicas}, but the cluster has {cluster.brokers} broker(s)",
        )
    if application.group in {reader.group for reader in readers} - {None}:
        yield Problem(
            f"{where}.group",
            f"a reader of arm {arm!r} is in the group {application.group!r} too, "
            "so each would get a part of the records",
        )
