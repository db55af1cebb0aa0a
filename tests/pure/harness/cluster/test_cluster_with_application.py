"""What faults ask of a node is answered for instances of an application too."""

from __future__ import annotations

import inspect

import pytest

from faults.targets.fault_cluster import FaultCluster
from harness.cluster.cluster_with_application import ClusterWithApplication

pytestmark = pytest.mark.pure

OF_BROKERS_ONLY = {
    "access_rules", "change_settings", "client_quotas", "client_socket", "endpoint", "features", "host_name",
    "refusal", "replace_node", "settings", "throttle_ms",
}  # fmt: skip
"""What no fault asks of an application: it has no listener, no Kafka version and no settings of a broker."""


def test_no_question_about_an_instance_is_passed_on_to_the_cluster() -> None:
    asked = {
        name
        for name, method in vars(FaultCluster).items()
        if inspect.isfunction(method) and "number" in inspect.signature(method).parameters
    }
    assert asked > OF_BROKERS_ONLY
    assert asked - OF_BROKERS_ONLY - set(vars(ClusterWithApplication)) == set()
