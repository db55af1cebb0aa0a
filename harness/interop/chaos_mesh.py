"""Faults as custom resources of Chaos Mesh, for Kafka on Kubernetes: an experiment's faults become `command`
faults whose commands apply, check and delete a resource with kubectl.

The resources are PodChaos and NetworkChaos of chaos-mesh.org/v1alpha1. The pods that they select are only
known when the fault is injected, so the commands fill in their names. Not tested on a real Kubernetes: a test
compares the resources with the fields of the published definitions
(tests/pure/harness/interop/test_chaos_mesh.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

import faults
from faults.shared.fault_spec import KINDS, FaultSpec
from faults.slow_links import mbit_of
from harness.model.errors import BadInput
from harness.spec.experiment import Experiment

API = "chaos-mesh.org/v1alpha1"
_TARGETS, _OTHERS = "@TARGETS@", "@OTHERS@"
_WAIT_SECONDS = 60
_DNS = re.compile(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")
_DIRECTIONS = {"both": "both", "from_to": "to", "to_from": "from", "out": "to", "in": "from"}


@dataclass(frozen=True, slots=True)
class PodNaming:
    """The namespace and the names of pods: `pod` is the name of a broker's pod, with `{broker}` for its
    id."""

    namespace: str
    pod: str

    def validate(self) -> None:
        """Check that both can be names of Kubernetes.

        Raises:
            BadInput: one cannot; the error names it.
        """
        for option, value, example in (
            ("--namespace", self.namespace, "kafka"),
            ("--pod", self.pod.replace("{broker}", "0"), "my-cluster-kafka-{broker}"),
        ):
            if not _DNS.match(value) or (option == "--pod" and "{broker}" not in self.pod):
                raise BadInput(
                    f"{option} cannot be used",
                    expected=f"a name of Kubernetes, like {example}",
                    found=self.pod if option == "--pod" else value,
                )


Resource = tuple[str, dict[str, Any]]
"""A resource's kind and its `spec`."""


def to_chaos_mesh(experiment: Experiment, naming: PodNaming) -> dict[str, Any]:
    """The experiment as the data of its file, without `cluster` and with commands in place of its faults.

    Raises:
        BadInput: Chaos Mesh has no such fault.
    """
    naming.validate()
    data = experiment.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"cluster"})
    return dict(_walked(data, naming, experiment.name))


def text_of(data: dict[str, Any]) -> str:
    """The text of an experiment file."""
    return yaml.safe_dump(data, sort_keys=False, width=100, allow_unicode=True)


def _walked(data: Any, naming: PodNaming, where: str) -> Any:
    if isinstance(data, dict):
        if data.get("kind") in KINDS:
            fault = KINDS[data["kind"]].model_validate(data)
            return {"command": command_of(fault, naming, where)}
        return {key: _walked(value, naming, f"{where}.{key}") for key, value in data.items()}
    if isinstance(data, list):
        return [_walked(value, naming, f"{where}[{number}]") for number, value in enumerate(data)]
    return data


def command_of(fault: FaultSpec, naming: PodNaming, where: str) -> dict[str, Any]:
    """The fields of a `command` fault that does the same.

    Raises:
        BadInput: Chaos Mesh has no such fault.
    """
    if fault.name() == "command":
        return fault.model_dump(mode="json", exclude_none=True, exclude={"kind"})
    kind, spec = resource_of(fault, naming, where)
    manifest = json.dumps(
        {
            "apiVersion": API,
            "kind": kind,
            "metadata": {"name": "$name", "namespace": naming.namespace},
            "spec": spec,
        }
    )
    for mark, variable in ((_TARGETS, "KAFKA_CHAOS_TARGETS"), (_OTHERS, "KAFKA_CHAOS_OTHERS")):
        pods = naming.pod.replace("{broker}", "%s")
        manifest = manifest.replace(f'"{mark}"', f"$(printf '\"{pods}\",' ${variable} | sed 's/,$//')")
    named = 'name=$(printf %s "$KAFKA_CHAOS_FAULT" | tr _ -); '
    one = f"{kind.lower()}.chaos-mesh.org"
    wait = f'kubectl wait -n {naming.namespace} --for=condition=AllInjected --timeout=5s {one} "$name"'
    gone = f'kubectl delete -n {naming.namespace} --ignore-not-found --timeout={_WAIT_SECONDS}s {one} "$name"'
    sides = zip(("target", "other"), _sides(fault), strict=True)
    return {
        **{key: side.model_dump(mode="json", by_alias=True) for key, side in sides if side is not None},
        "inject": f"{named}kubectl apply -f - <<END\n{manifest}\nEND\n",
        "verify": named + wait,
        "heal": named + gone,
        "seconds": float(2 * _WAIT_SECONDS),
        "stops": isinstance(fault, faults.Kill | faults.Stop),
    }


def resource_of(fault: FaultSpec, naming: PodNaming, where: str = "") -> Resource:
    """Kind and spec of the resource, with placeholders for the names of pods.

    Raises:
        BadInput: Chaos Mesh has no such fault, or one side of it is the client.
    """
    make = _EQUIVALENTS.get(type(fault))
    if make is None:
        raise BadInput(
            f"the fault {fault.name()!r} has no equivalent in Chaos Mesh",
            where=where,
            expected=f"one of {', '.join(sorted(kind.name() for kind in _EQUIVALENTS))}",
            found=fault.name(),
            next_step="leave it out, or write a `command` for it",
        )
    target, other = _sides(fault)
    if any(side is not None and side.may_include_client() for side in (target, other)):
        raise BadInput(
            "the client is not a pod of Kafka",
            where=where,
            expected="brokers on both sides",
            found=f"{target} and {other}",
            next_step="write a `command` of your own for it",
        )
    kind, spec = make(fault)
    if other is not None:
        spec = {**spec, "target": _selected(naming, _OTHERS)}
    return kind, {**_selected(naming, _TARGETS), **spec}


def _selected(naming: PodNaming, mark: str) -> dict[str, Any]:
    pods = {"namespaces": [naming.namespace], "pods": {naming.namespace: [mark]}}
    return {"mode": "all", "selector": pods}


def _sides(fault: FaultSpec) -> tuple[Any, Any]:
    if isinstance(fault, faults.Partition):
        return fault.side, fault.other
    return getattr(fault, "target", None), getattr(fault, "to", None)


def _network(action: str, direction: str = "to", **fields: Any) -> Resource:
    """`fields` are those of the action."""
    own = {action: fields} if fields else {}
    return "NetworkChaos", {"action": action, "direction": direction, **own}


def _share(action: str, percent: float, direction: str = "to") -> Resource:
    """An action on this share of the packets."""
    return _network(action, direction, **{action: f"{percent:g}", "correlation": "0"})


def _delay(latency_ms: float, jitter_ms: float = 0, reorder: float | None = None) -> Resource:
    delay: dict[str, Any] = {"latency": f"{latency_ms:g}ms", "jitter": f"{jitter_ms:g}ms"}
    delay["correlation"] = "0"
    if reorder is not None:
        delay["reorder"] = {"reorder": f"{reorder:g}", "correlation": "0", "gap": 1}
    return _network("delay", **delay)


def _bandwidth(fault: faults.Bandwidth) -> Resource:
    # Its "bps" means bytes per second. The bucket holds a tenth of a second, and at least one packet.
    per_second = round(mbit_of(fault.rate) * 1e6 / 8)
    bucket = max(1600, per_second // 10)
    return _network("bandwidth", rate=f"{per_second}bps", limit=2 * bucket, buffer=bucket)


_EQUIVALENTS: dict[type[FaultSpec], Callable[[Any], Resource]] = {
    faults.Kill: lambda _: ("PodChaos", {"action": "pod-kill", "gracePeriod": 0}),
    faults.Stop: lambda _: ("PodChaos", {"action": "pod-failure"}),
    faults.Partition: lambda fault: _network("partition", _DIRECTIONS[fault.lost]),
    faults.Loss: lambda fault: _share("loss", fault.percent, _DIRECTIONS[fault.direction]),
    faults.Latency: lambda fault: _delay(fault.delay_ms),
    faults.Jitter: lambda fault: _delay(fault.delay_ms, fault.spread_ms),
    faults.Reorder: lambda fault: _delay(fault.delay_ms, 0, fault.percent),
    faults.CorruptPackets: lambda fault: _share("corrupt", fault.percent),
    faults.DuplicatePackets: lambda fault: _share("duplicate", fault.percent),
    faults.Bandwidth: _bandwidth,
}
