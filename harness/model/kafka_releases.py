"""The release lines of Kafka with KRaft, and the levels of features that each knows (KIP-584, KIP-778,
KIP-1022).

Source: `MetadataVersion` and `Feature` in the jars of Kafka 3.9.2, 4.0.0, 4.1.1, 4.3.1 and 4.4.0
(`kafka-storage.sh version-mapping` prints a part of it). `kraft.version` is left out, since it stays 0 in
clusters with a static quorum.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

METADATA = "metadata.version"
_TRANSACTION, _GROUP, _ELR = "transaction.version", "group.version", "eligible.leader.replicas.version"
_SHARE, _STREAMS = "share.version", "streams.version"
_CHANGED = frozenset({8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""Levels of metadata.version that changed the records of the metadata log (`didMetadataChange`)."""
_FIRST_OF_3_3 = 4
_FULL_VERSION = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Release:
    """A release line ("4.1"). `metadata` is its newest metadata.version, which new storage gets; `oldest` is
    the oldest one that it runs with. `others` are the other features that it knows: the level that
    `kafka-features.sh upgrade --release-version` sets, and the highest that it runs with."""

    line: str
    metadata: int
    oldest: int = 7
    others: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def default(self, feature: str) -> int:
        """The level of a feature in a new cluster of this release; 0: off, or not known."""
        return self.metadata if feature == METADATA else self.others.get(feature, (0, 0))[0]

    def refusal(self, levels: Mapping[str, int]) -> str | None:
        """Why nodes of this release cannot run in a cluster with these levels; None: they can."""
        level = levels.get(METADATA, self.metadata)
        if level > self.metadata:
            newest = level_name(self.metadata)
            return f"Kafka {self.line} supports {METADATA} up to {newest}, not {level_name(level)}"
        if level < self.oldest:
            oldest = level_name(self.oldest)
            return f"Kafka {self.line} supports {METADATA} from {oldest} on, not {level_name(level)}"
        for feature, given in levels.items():
            if feature != METADATA and given > (most := self.others.get(feature, (0, 0))[1]):
                return f"Kafka {self.line} supports {feature} up to {most}, not {given}"
        return None


_FROM_4_1 = {_TRANSACTION: (2, 2), _GROUP: (1, 1), _ELR: (1, 1)}
RELEASES = {
    release.line: release
    for release in (
        *(
            Release(line, level, 1)
            for line, level in {
                "3.3": 7, "3.4": 8, "3.5": 11, "3.6": 14, "3.7": 19, "3.8": 20, "3.9": 21
            }.items()
        ),
        Release("4.0", 25, others=_FROM_4_1 | {_ELR: (0, 1)}),
        Release("4.1", 27, others=_FROM_4_1 | {_SHARE: (0, 1), _STREAMS: (0, 0)}),
        Release("4.2", 29, others=_FROM_4_1 | {_SHARE: (1, 1), _STREAMS: (1, 1)}),
        Release("4.3", 30, others=_FROM_4_1 | {_SHARE: (1, 1), _STREAMS: (1, 1)}),
        Release("4.4", 33, others=_FROM_4_1 | {_SHARE: (2, 2), _STREAMS: (1, 1)}),
    )
}  # fmt: skip
"""By line, the oldest first."""


def release_of(version: str) -> Release:
    """The release line of a version ("4.1.1" or "4.1").

    Raises:
        ValueError: it is not a version, or of a line that is not in the table.
    """
    line = ".".join(version.split(".")[:2])
    if line not in RELEASES or not re.fullmatch(r"\d+\.\d+(\.\d+)?", version):
        lines = list(RELEASES)
        raise ValueError(
            f"{version!r} is not a version whose features are known: {lines[0]} to {lines[-1]} are"
        )
    return RELEASES[line]


def is_full_version(text: str) -> bool:
    """Whether it is three numbers, as releases have."""
    return _FULL_VERSION.fullmatch(text) is not None


def version_key(version: str) -> tuple[int, ...]:
    """For comparing versions: "3.9.2" is before "3.10.0"."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def level_name(level: int) -> str:
    """The name of a level of metadata.version: 27 is "4.1-IV1"; the number, if it is not in the table."""
    first = _FIRST_OF_3_3
    for release in RELEASES.values():
        if first <= level <= release.metadata:
            return f"{release.line}-IV{level - first}"
        first = release.metadata + 1
    return str(level)


def level_of(name: str) -> int | None:
    """The level that has this name; None: it is not in the table."""
    newest = list(RELEASES.values())[-1].metadata
    return next((level for level in range(_FIRST_OF_3_3, newest + 1) if level_name(level) == name), None)


def lossy_level(current: int, target: int) -> int | None:
    """The newest level above `target`, up to `current`, that changed the records of the metadata log. Kafka
    refuses to lower metadata.version past it, also as an unsafe downgrade (`FeatureControlManager` of 3.9 to
    4.4; KIP-778 foresees that it might be allowed one day, KIP-1155 how). None: it may be lowered."""
    return max((level for level in _CHANGED if target < level <= current), default=None)


def new_levels(current: Mapping[str, int], release: Release, *, metadata_only: bool) -> dict[str, int]:
    """The levels to set so that a cluster with the finalised levels `current` has those of `release`: those
    that differ, in the order in which they must be set (metadata.version first on the way up, last on the way
    down). On the way up no other feature is lowered, on the way down none is raised."""
    down = release.metadata < current.get(METADATA, 0)
    names = [METADATA, *([] if metadata_only else sorted({*release.others, *current} - {METADATA}))]
    pick = min if down else max
    wanted = {name: pick(release.default(name), current.get(name, 0)) for name in names}
    levels = {name: level for name, level in wanted.items() if level != current.get(name, 0)}
    return dict(reversed(levels.items())) if down else levels
