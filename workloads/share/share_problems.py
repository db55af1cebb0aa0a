"""What is wrong with the share groups of an experiment, and with steps that change them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from faults.schedules.problems import Problem
from harness.spec.cluster import SMALLEST_LOCK_PROPERTY, ClusterSpec
from harness.spec.step import Step
from workloads.share.share_spec import LIMIT_PROPERTY, SMALLEST_LOCK_SECONDS, ShareSpec


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
