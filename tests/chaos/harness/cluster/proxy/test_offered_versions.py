"""What brokers of the default Kafka offer, and which of it the proxies can read."""

from __future__ import annotations

import pytest

from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.connection import BrokerConnection
from harness.cluster.proxy.bodies import newest_version
from harness.model.host.ports import HOST
from harness.model.kafka_protocol import API_NAMES, NEWER_THAN_KIO

pytestmark = pytest.mark.chaos


def test_the_versions_that_proxies_cannot_read_are_known(cluster: ManagedCluster) -> None:
    port = cluster.node(1).host_port
    assert port is not None
    with BrokerConnection(1, HOST, port, timeout=5.0) as connection:
        offered = connection.api_versions()
    known = {API_NAMES[key]: newest for key, (_, newest) in offered.items() if key in API_NAMES}
    assert len(known) > 50
    unread = {name: newest for name, newest in known.items() if newest > newest_version(_key(name))}
    assert unread == {name: newest for name, (_, newest) in NEWER_THAN_KIO.items() if name in known}


def _key(name: str) -> int:
    return next(key for key, other in API_NAMES.items() if other == name)
