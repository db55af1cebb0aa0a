"""Settings and names of a MirrorMaker 2 that translates the offsets of a consumer group, as data."""

from __future__ import annotations

from harness.subjects.clusters import Clusters
from harness.subjects.connect_settings import aliases, mirrormaker_settings

SYNCED, SAME = "synced", "same"
"""Values of the option `offsets`; the third one is "translated"."""
_SECONDS = "1"
"""Between two looks at the group; by default 60."""


def mirror_of(topic: str) -> str:
    """The topic that MirrorMaker makes for `topic` on the other cluster (DefaultReplicationPolicy)."""
    return f"{aliases(topic)[0]}.{topic}"


def failover_settings(*, clusters: Clusters, topic: str, group: str, commit_ms: int) -> dict[str, str]:
    """MirrorMaker 2 as `mirrormaker_settings`, with checkpoints of `group` and without a name of our own for
    the mirror, since checkpoints hold MirrorMaker's."""
    source, target = aliases(topic)
    flow = f"{source}->{target}"
    plain = mirrormaker_settings(
        clusters=clusters, topic=topic, output="", exactly_once=False, commit_ms=commit_ms
    )
    settings = {name: value for name, value in plain.items() if ".transforms" not in name}
    return {
        **settings,
        f"{flow}.groups": group,
        f"{flow}.emit.checkpoints.enabled": "true",
        f"{flow}.emit.checkpoints.interval.seconds": _SECONDS,
        f"{flow}.sync.group.offsets.enabled": "true",
        f"{flow}.sync.group.offsets.interval.seconds": _SECONDS,
        # As committed records only: the numbers of offsets then differ where there were transactions.
        f"{flow}.consumer.isolation.level": "read_committed",
    }
