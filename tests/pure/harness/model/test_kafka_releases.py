"""The table of releases: names of levels, what each release runs with, and which levels can be lowered."""

from __future__ import annotations

import pytest

from harness.model.kafka_releases import (
    METADATA,
    RELEASES,
    level_name,
    level_of,
    lossy_level,
    new_levels,
    release_of,
    version_key,
)

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("level", "name"),
    [(4, "3.3-IV0"), (7, "3.3-IV3"), (8, "3.4-IV0"), (19, "3.7-IV4"), (21, "3.9-IV0"), (25, "4.0-IV3"),
     (27, "4.1-IV1"), (29, "4.2-IV1"), (30, "4.3-IV0"), (33, "4.4-IV2")],
)  # fmt: skip
def test_names_of_levels(level: int, name: str) -> None:
    assert level_name(level) == name
    assert level_of(name) == level


def test_unknown_levels() -> None:
    assert level_name(99) == "99"
    assert level_of("4.4-IV9") is None
    with pytest.raises(ValueError, match=r"'4.x' is not a version whose features are known: 3.3 to 4.4 are"):
        release_of("4.x")
    assert release_of("4.1.1") is RELEASES["4.1"]
    assert version_key("3.9.2") < version_key("3.10.0")


@pytest.mark.parametrize(
    ("line", "levels", "told"),
    [
        ("3.9", {METADATA: 21}, None),
        ("4.1", {METADATA: 21}, None),
        ("3.9", {METADATA: 22}, "Kafka 3.9 supports metadata.version up to 3.9-IV0, not 4.0-IV0"),
        ("4.0", {METADATA: 6}, "Kafka 4.0 supports metadata.version from 3.3-IV3 on, not 3.3-IV2"),
        ("4.1", {METADATA: 27, "streams.version": 1}, "Kafka 4.1 supports streams.version up to 0, not 1"),
        ("4.1", {METADATA: 27, "share.version": 1}, None),
        ("3.9", {METADATA: 21, "group.version": 1}, "Kafka 3.9 supports group.version up to 0, not 1"),
    ],
)
def test_what_a_release_starts_with(line: str, levels: dict[str, int], told: str | None) -> None:
    found = RELEASES[line].refusal(levels)
    assert (found is None) if told is None else told in str(found)


@pytest.mark.parametrize(
    ("current", "target", "lossy"),
    [(27, 25, None), (29, 23, None), (27, 22, 23), (30, 29, 30), (33, 31, 33), (32, 31, 32), (21, 17, None)],
)
def test_what_kafka_lowers(current: int, target: int, lossy: int | None) -> None:
    assert lossy_level(current, target) == lossy


def test_on_the_way_up_nothing_is_lowered() -> None:
    preview = {METADATA: 25, "share.version": 1, "transaction.version": 2, "group.version": 1}
    assert new_levels(preview, RELEASES["4.1"], metadata_only=False) == {
        METADATA: 27,
        "eligible.leader.replicas.version": 1,
    }
    assert new_levels({METADATA: 27}, RELEASES["4.1"], metadata_only=True) == {}
