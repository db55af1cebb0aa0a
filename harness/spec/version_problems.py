"""Upgrades and downgrades that Kafka would refuse, found before a cluster starts.

The faults are followed in the order of the file: `restart` with a `version`, and `finalize`. What Kafka
allows is in `harness.model.kafka_releases`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from faults import Finalize, Restart
from faults.restart import EVERY_BROKER
from faults.schedules.problems import Problem
from faults.schedules.tracks import tracks
from faults.shared.fault_spec import FaultSpec
from harness.model.kafka_releases import (
    METADATA,
    Release,
    level_name,
    level_of,
    lossy_level,
    new_levels,
    release_of,
)
from harness.spec.cluster import ClusterSpec, Metadata
from harness.spec.step import Step


def versions_named(steps: Sequence[Step]) -> tuple[str, ...]:
    """Every version that a `restart` of the steps names, once each."""
    faults = (fault for _, fault, _ in _in_order(steps))
    return tuple(
        dict.fromkeys(fault.version for fault in faults if isinstance(fault, Restart) and fault.version)
    )


def version_problems(steps: Sequence[Step], cluster: ClusterSpec) -> Iterator[Problem]:
    """Why Kafka cannot make the changes of versions and of finalised levels that the steps ask for."""
    changes = [
        change
        for change in _in_order(steps)
        if isinstance(change[1], Finalize) or _version(change[1]) is not None
    ]
    if not changes or cluster.metadata is Metadata.ZOOKEEPER or cluster.existing is not None:
        return  # the faults refuse these clusters themselves
    where = changes[0][0]
    if cluster.image is not None:
        yield Problem(
            where,
            "nodes with an `image` of your own cannot get another version: name a `version` below `cluster`",
        )
        return
    try:
        first = release_of(cluster.version)
    except ValueError as error:
        yield Problem(where, f"the cluster's version cannot be changed: {error}")
        return
    running = {first.line: first}
    formatted, level = first, first.metadata
    if (name := cluster.metadata_version) is not None:
        given = level_of(name)
        if given is None:
            yield Problem(where, f"metadata_version {name} is not known here")
            return
        formatted, level = release_of(name.partition("-")[0]), given
    levels = {METADATA: level} | {name: most[0] for name, most in formatted.others.items() if most[0]}
    highest = {**levels, METADATA: max(level, cluster.features.get(METADATA, 0))}
    levels |= cluster.features
    for where, fault, from_menu in changes:
        if from_menu:
            what = "restart with a version" if isinstance(fault, Restart) else fault.name()
            yield Problem(where, f"{what} cannot be drawn from a random menu: what it needs must come first")
            continue
        if isinstance(fault, Finalize):
            yield from _finalized(where, fault, levels, running.values())
            levels |= new_levels(levels, release_of(fault.release), metadata_only=fault.only_metadata)
            highest |= {name: max(given, highest.get(name, 0)) for name, given in levels.items()}
            continue
        assert isinstance(fault, Restart)
        wanted = release_of(str(fault.version))
        if (why := wanted.refusal(levels)) is not None:
            yield Problem(where, f"Kafka {fault.version} does not start with the finalised levels: {why}")
        elif (why := wanted.refusal(highest)) is not None:
            # In bootstrap.checkpoint and the metadata log: a node ends at a level that it does not know.
            yield Problem(
                where,
                f"Kafka {fault.version} does not start, since a node may read every level that storage was "
                f"formatted with or that was finalised before, also those lowered since: {why}",
            )
        running = {wanted.line: wanted} if fault.target == EVERY_BROKER else running | {wanted.line: wanted}


def _finalized(
    where: str, fault: Finalize, levels: Mapping[str, int], running: Collection[Release]
) -> Iterator[Problem]:
    """Why the levels of a release cannot be finalised; `running` are the releases that nodes may run."""
    release, current = release_of(fault.release), levels[METADATA]
    wanted = {**levels, **new_levels(levels, release, metadata_only=fault.only_metadata)}
    if wanted == levels:
        yield Problem(where, f"the features of Kafka {release.line} are finalised already")
    lossy = lossy_level(current, wanted[METADATA])
    if lossy is not None:
        yield Problem(
            where,
            f"metadata.version cannot be lowered from {level_name(current)} to "
            f"{level_name(wanted[METADATA])}: {level_name(lossy)} changed the records of the metadata log, "
            "and Kafka refuses to lose them",
        )
    for candidate in running:
        if (why := candidate.refusal(wanted)) is not None:
            yield Problem(where, f"a node may run Kafka {candidate.line} at this point, and {why}")


def _version(fault: FaultSpec) -> str | None:
    return fault.version if isinstance(fault, Restart) else None


def _in_order(steps: Sequence[Step]) -> Iterator[tuple[str, FaultSpec, bool]]:
    """Every fault with its path, in the order of the file, and whether it is one of a random menu."""
    for number, step in enumerate(steps):
        if step.inject is not None:
            yield f"steps[{number}].inject", step.inject.fault, False
        elif step.write is not None:
            for track in tracks(step.write.faults):
                for pick in track.picks:
                    yield f"steps[{number}].write.{pick.where}", pick.fault, track.from_menu
