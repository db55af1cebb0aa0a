"""Documents of other chaos tools: Chaos Mesh, Litmus, Kafka's Trogdor, the Chaos Toolkit."""

from __future__ import annotations

from typing import Any


def chaos_mesh(kind: str, **spec: Any) -> dict[str, Any]:
    """A resource of Chaos Mesh on one pod of Kafka."""
    selected = {"mode": "one", "selector": {"labelSelectors": {"app": "kafka"}}}
    metadata = {"name": "mine", "namespace": "kafka"}
    return {
        "apiVersion": "chaos-mesh.org/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": {**selected, **spec},
    }


def litmus(experiment: str, kind: str = "ChaosEngine", **env: str) -> dict[str, Any]:
    """A resource of Litmus with one experiment and its variables."""
    listed = [{"name": key, "value": value} for key, value in env.items()]
    spec = {"name": experiment, "spec": {"components": {"env": listed}}}
    selected = {"appns": "kafka", "applabel": "app=kafka"}
    return {
        "apiVersion": "litmuschaos.io/v1alpha1",
        "kind": kind,
        "spec": {"appinfo": selected, "experiments": [spec]},
    }


def trogdor(kind: str, **fields: Any) -> dict[str, Any]:
    """A task of Trogdor."""
    return {"class": f"org.apache.kafka.trogdor.fault.{kind}", "durationMs": 20000, **fields}


CHAOS_TOOLKIT: dict[str, Any] = {
    "title": "What if brokers go?",
    "configuration": {"ids": ["2"], "rest": 20},
    "method": [
        {
            "type": "action",
            "name": "kill",
            "provider": {"type": "process", "path": "docker", "arguments": "kill kafka-1"},
            "pauses": {"after": 12},
        },
        {"type": "probe", "name": "well", "provider": {"type": "http", "url": "http://shop"}},
        {
            "type": "action",
            "name": "reboot",
            "provider": {
                "type": "python",
                "func": "reboot_msk_broker",
                "arguments": {"broker_ids": "${ids}"},
            },
        },
    ],
    "rollbacks": [],
}

WITH_EQUALS: tuple[tuple[dict[str, Any], str], ...] = (
    (chaos_mesh("PodChaos", action="pod-kill"), "a PodChaos of Chaos Mesh"),
    (
        chaos_mesh("NetworkChaos", action="partition", direction="both", duration="2m"),
        "a NetworkChaos of Chaos Mesh",
    ),
    (chaos_mesh("TimeChaos", timeOffset="-10m", duration="30s"), "a TimeChaos of Chaos Mesh"),
    (chaos_mesh("StressChaos", stressors={"cpu": {"workers": 2}}), "a StressChaos of Chaos Mesh"),
    (chaos_mesh("IOChaos", action="fault", errno=28, volumePath="/data"), "an IOChaos of Chaos Mesh"),
    (
        chaos_mesh("Schedule", schedule="@every 1m", type="PodChaos", podChaos={"action": "pod-kill"}),
        "a Schedule of Chaos Mesh",
    ),
    (litmus("pod-network-latency", NETWORK_LATENCY="300"), "a ChaosEngine of Litmus"),
    (litmus("pod-delete", kind="ChaosSchedule"), "a ChaosSchedule of Litmus"),
    (trogdor("ProcessStopFaultSpec", nodeNames=["node-7"]), "a ProcessStopFaultSpec of Trogdor"),
    (
        trogdor("NetworkPartitionFaultSpec", partitions=[["b10"], ["b9"]]),
        "a NetworkPartitionFaultSpec of Trogdor",
    ),
    (
        trogdor("DegradedNetworkFaultSpec", nodeSpecs={"n1": {"latencyMs": 100}}),
        "a DegradedNetworkFaultSpec of Trogdor",
    ),
    (CHAOS_TOOLKIT, "an experiment of the Chaos Toolkit"),
)
"""Documents of which an experiment can do the same, and what each is called."""

WITHOUT_EQUALS: tuple[tuple[dict[str, Any], str], ...] = (
    (chaos_mesh("HTTPChaos", action="x"), "an HTTPChaos of Chaos Mesh"),
    (chaos_mesh("Workflow"), "a Workflow of Chaos Mesh"),
    (litmus("x", kind="ChaosResult"), "a ChaosResult of Litmus"),
    (trogdor("FilesUnreadableFaultSpec"), "a FilesUnreadableFaultSpec of Trogdor"),
    ({"apiVersion": "v1", "kind": "Pod"}, "a Pod of Kubernetes"),
    ({"services": {"a": {"image": "x"}}}, "a Compose file"),
    ({"services": {"a": {"command": "x"}, "b": {"build": "."}}}, "a Compose file"),
)
"""Documents of which nothing is the same, and what each is called."""
