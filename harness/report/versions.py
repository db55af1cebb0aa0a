"""Which versions of Kafka ran in which write step of a run that changed them, and what became of records."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.model.finding_class import FindingClass
from harness.model.kafka_releases import METADATA, level_name
from harness.model.result import ArmResult
from harness.model.run import ClusterInfo, RunMeta, VersionChange
from harness.report.page.blocks import Table, grid

_State = Callable[[ClusterInfo, Sequence[VersionChange]], str]
_GONE = (FindingClass.EXPIRED, FindingClass.COMPACTED)
_NOTE = "present: acknowledged and in the final read. A record counts in the write step in which it was sent."


def by_version(arm: ArmResult) -> Table:
    """A row per write step: the versions while it ran, acknowledged, present and lost; empty if the run did
    not change any."""
    meta, summary = arm.meta, arm.summary
    if summary is None or not meta.cluster.changes:
        return Table((), ())
    rows = []
    for step in meta.steps:
        acked = summary.acked_by_step.get(step.name)
        if acked is None:
            continue
        lost = summary.lost_by_step.get(step.name, 0)
        gone = sum(
            count.count for count in summary.counts if count.finding in _GONE and count.step == step.index
        )
        end = step.ended_ns or meta.ended_ns or step.started_ns
        row = {"write step": step.name, "Kafka": _during(meta.cluster, step.started_ns, end, _versions)}
        if any(change.what == METADATA for change in meta.cluster.changes):
            row[METADATA] = _during(meta.cluster, step.started_ns, end, _level)
        rows.append(row | {"acked": f"{acked:,}", "present": f"{acked - lost - gone:,}", "lost": f"{lost:,}"})
    title = f"{arm.folder}: what was acknowledged under which version"
    return Table(*grid(rows), title=title, note=_NOTE, right=("acked", "present", "lost"), heads=1)


def changes(meta: RunMeta) -> Table:
    """When which node got which version, and which features got which levels."""
    rows = (
        {
            "at": f"{(change.at_ns - meta.started_ns) / 1e9:.2f} s",
            "what": change.what,
            "before": _named(change, change.before),
            "after": _named(change, change.after),
        }
        for change in meta.cluster.changes
        if change.at_ns >= meta.started_ns
    )
    return Table(*grid(rows), title="Versions of nodes, and finalised levels of features")


def _during(cluster: ClusterInfo, start: int, end: int, state: _State) -> str:
    before, after = (
        state(cluster, [change for change in cluster.changes if change.at_ns <= at]) for at in (start, end)
    )
    return before if before == after else f"{before} -> {after}"


def _versions(cluster: ClusterInfo, done: Sequence[VersionChange]) -> str:
    """The versions that nodes run after these changes."""
    changed = {change.what: change.after for change in done if not change.what.endswith(".version")}
    nodes = cluster.brokers + (0 if cluster.combined else cluster.controllers)
    others = {cluster.image.kafka_version} if len(changed) < nodes else set()
    return " and ".join(sorted({*changed.values(), *others}))


def _level(cluster: ClusterInfo, done: Sequence[VersionChange]) -> str:
    """metadata.version after these changes."""
    every = [change for change in cluster.changes if change.what == METADATA]
    last = [change.after for change in done if change.what == METADATA]
    return _named(every[0], last[-1] if last else every[0].before)


def _named(change: VersionChange, level: str) -> str:
    return level_name(int(level)) if change.what == METADATA and level.isdigit() else level
