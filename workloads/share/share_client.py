"""What the members of a share group run: a client of librdkafka, or the Java client."""

from __future__ import annotations

from typing import Any

from harness.cluster.live import LiveCluster
from harness.model.errors import BadInput
from workloads.java.java_clients import client_jar_of
from workloads.share.member_process import LIBRDKAFKA_MEMBER
from workloads.share.share_spec import ShareSpec


def share_client(spec: ShareSpec, cluster: LiveCluster) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The command of a share group's members, and what their client needs besides.

    Raises:
        BadInput: the cluster's version, which the Java client must have, is not known.
        PrerequisiteMissing: the Java client is not available.
    """
    if spec.client == "librdkafka":
        return LIBRDKAFKA_MEMBER, {}
    unknown = BadInput(
        "the Java client cannot join a share group of this cluster",
        where=f"share group {spec.name}: client",
        expected="a version of the client, or a cluster that kafka-chaos starts, which has the same",
        found="an existing cluster, and no version",
        next_step="set `version`, or use `client: librdkafka`",
    )
    jar = client_jar_of(cluster, spec.version, unknown)
    # It loads py4j, which no other client needs.
    from workloads.share.java_member import SHARE_MEMBER

    return SHARE_MEMBER, {"jar": str(jar), "access": cluster.access.java()}
