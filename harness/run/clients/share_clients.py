"""Which program a member of a share group is."""

from __future__ import annotations

from typing import Any

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.containers import engine
from harness.model.errors import BadInput
from workloads.config.share_spec import ShareSpec
from workloads.share.member_process import LIBRDKAFKA_MEMBER


def share_client(spec: ShareSpec, cluster: LiveCluster) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The command of a member's process, and what its client needs besides.

    Raises:
        BadInput: the cluster's version, which the Java client must have, is not known.
        PrerequisiteMissing: the Java client is not available.
    """
    if spec.client == "librdkafka":
        return LIBRDKAFKA_MEMBER, {}
    version = spec.version
    if version is None and isinstance(cluster, ManagedCluster):
        version = cluster.image.kafka_version
    if version is None:
        raise BadInput(
            "the Java client cannot join a share group of this cluster",
            where=f"share group {spec.name}: client",
            expected="a version of the client, or a cluster that kafka-chaos starts, which has the same",
            found="an existing cluster, and no version",
            next_step="set `version`, or use `client: librdkafka`",
        )
    # Imported here because they load py4j, which nothing else needs.
    from harness.java.jvm import client_jar
    from harness.java.share_member import SHARE_MEMBER

    jar = client_jar(engine.connect(), version)
    return SHARE_MEMBER, {"jar": str(jar), "access": cluster.access.java()}
