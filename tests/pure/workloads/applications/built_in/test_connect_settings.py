"""Settings of Connect workers, connectors and MirrorMaker."""

from __future__ import annotations

import re

import pytest

from workloads.applications.built_in import connect_settings as settings
from workloads.applications.built_in.connect_settings import FILE_SINK, FILE_SOURCE, MIRROR, Clusters

pytestmark = pytest.mark.pure

CLUSTERS = Clusters("a:1", "b:1", source_replicas=3, target_replicas=1)


def _worker(*, exactly_once: bool) -> dict[str, str]:
    return settings.worker_settings(clusters=CLUSTERS, group="g", exactly_once=exactly_once, commit_ms=1000)


def _connector(kind: str, *, exactly_once: bool = False) -> dict[str, str]:
    return settings.connector_settings(
        kind, clusters=CLUSTERS, topic="in.x", output="out", group="g", exactly_once=exactly_once
    )


def test_a_file_source_takes_the_lines_that_are_asked_for_at_once() -> None:
    source = settings.connector_settings(
        FILE_SOURCE, clusters=CLUSTERS, topic="f", output="out", group="g", exactly_once=False, batch_size=7
    )
    assert source["batch.size"] == "7"


def _mirrormaker(*, exactly_once: bool, topic: str = "in.x") -> dict[str, str]:
    return settings.mirrormaker_settings(
        clusters=CLUSTERS, topic=topic, output="out", exactly_once=exactly_once, commit_ms=1000
    )


def test_runs_of_one_cluster_have_internal_topics_of_their_own() -> None:
    assert not set(settings.aliases("one")) & set(settings.aliases("two"))
    assert _mirrormaker(exactly_once=False)["clusters"] == ",".join(settings.aliases("in.x"))


def test_the_copy_that_mirrormaker_names_itself_goes_to_the_output() -> None:
    source, _ = settings.aliases("in.x")
    connector = _connector(MIRROR)
    assert re.fullmatch(connector["transforms.route.regex"], f"{source}.in.x")
    assert not re.fullmatch(connector["transforms.route.regex"], f"{source}.in-x")
    assert connector["transforms.route.replacement"] == "out"


def test_exactly_once_of_mirrormaker_is_set_under_the_target() -> None:
    source, target = settings.aliases("in.x")
    once = _mirrormaker(exactly_once=True)
    assert once[f"{target}.exactly.once.source.support"] == "enabled"
    assert once[f"{source}->{target}.consumer.isolation.level"] == "read_committed"
    assert not any("exactly" in name for name in _mirrormaker(exactly_once=False))


def test_only_what_is_read_and_the_offset_syncs_are_on_the_cluster_of_the_input() -> None:
    source, target = settings.aliases("in.x")
    mirrormaker, connector = _mirrormaker(exactly_once=False), _connector(MIRROR)
    assert (
        mirrormaker[f"{source}.bootstrap.servers"] == connector["source.cluster.bootstrap.servers"] == "a:1"
    )
    assert (
        mirrormaker[f"{target}.bootstrap.servers"] == connector["target.cluster.bootstrap.servers"] == "b:1"
    )
    for made in (mirrormaker, connector):
        assert made["offset-syncs.topic.replication.factor"] == "3"
        assert made["replication.factor"] == "1"
    worker = _worker(exactly_once=False)
    assert (worker["bootstrap.servers"], worker["offset.storage.replication.factor"]) == ("b:1", "1")


def test_heartbeats_do_not_mirror_themselves() -> None:
    assert _mirrormaker(exactly_once=False)["heartbeats.replication.enabled"] == "false"


@pytest.mark.parametrize("kind", [MIRROR, FILE_SOURCE])
def test_exactly_once_of_a_source_is_required(kind: str) -> None:
    assert _connector(kind, exactly_once=True)["exactly.once.support"] == "required"
    assert "exactly.once.support" not in _connector(kind)


def test_a_worker_waits_for_a_killed_ones_transaction_for_seconds_only() -> None:
    assert _worker(exactly_once=True)["producer.transaction.timeout.ms"] == "10000"
    assert "producer.transaction.timeout.ms" not in _worker(exactly_once=False)


def test_the_sink_reads_in_the_applications_group() -> None:
    assert _connector(FILE_SINK)["consumer.override.group.id"] == "g"
