"""The experiments of a comparison of consumers: in each situation all clients, each with its own topic."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.lab.clients.client import Committer
from harness.lab.clients.comparison import ClientArm, importable
from harness.lab.clients.installing import InstalledClient, require_tools
from harness.lab.consumers.situation import ConsumerSituation
from harness.spec.experiment import Experiment

_STARTING = "harness.lab.consumers.starting"
_QUIET_SECONDS = 3.0
_DRAINED_SECONDS = 120.0
_READY_SECONDS = 1.0
_RESTARTS = 5
"""A program whose client gives up is started again, as it is by what runs programs elsewhere."""
_LATER = ({"write": {"name": "later", "records": 20, "rate": 100}}, {"sleep": {"seconds": 5.0}})
"""A few records at the end show that a consumer's position is behind what it has passed over."""


@dataclass(frozen=True, slots=True)
class ConsumerArm(ClientArm):
    """One client in one mode that consumes. `commits` says who commits. A member that has died is given up
    after `session_seconds`."""

    commits: Committer = "client"
    session_seconds: float = 45.0


def consumer_arms(client: InstalledClient, modes: Sequence[str] = ()) -> tuple[ConsumerArm, ...]:
    """The arms of a client that consumes, in these modes; none named: in all that it has.

    Raises:
        PrerequisiteMissing: it was installed in a container; programs that consume run on this machine.
    """
    consumer = client.named.spec.consumer
    if consumer is None:
        return ()
    if client.image is not None:
        require_tools(client.named.spec, client.named.name)
    return tuple(
        ConsumerArm(
            client.named.label,
            mode,
            client.filled(consumer.command),
            {**client.env, "KAFKA_CHAOS_MODE": mode},
            says=how.says,
            commits=how.commits,
            session_seconds=consumer.session_seconds,
        )
        for mode, how in consumer.modes.items()
        if not modes or mode in modes
    )


def consumer_experiments(
    name: str, situation: ConsumerSituation, arms: Sequence[ConsumerArm], version: str, at_once: int
) -> Iterator[Experiment]:
    """The experiments of one situation, which share out the arms, `at_once` of them at most in each. Those
    that wait long for a dead member are together."""
    by_session = sorted(arms, key=lambda arm: arm.session_seconds)
    size = -(-len(arms) // -(-len(arms) // at_once))
    for first in range(0, len(by_session), size):
        yield _experiment(name, situation, by_session[first : first + size], version)


def _experiment(
    name: str, situation: ConsumerSituation, arms: Sequence[ConsumerArm], version: str
) -> Experiment:
    waits = situation.handled_in
    if situation.session:
        waits += max(arm.session_seconds for arm in arms)
    steps = [step.model_dump(mode="json", by_alias=True, exclude_unset=True) for step in situation.steps]
    return Experiment.model_validate(
        {
            "name": name,
            "title": f"Consumers compared: {situation.title}",
            "description": situation.description,
            "cluster": {"version": version, "profile": "kafka", **situation.cluster},
            "topic": {"partitions": situation.partitions},
            "workload": situation.workload,
            "together": situation.beside,
            "steps": [*steps, {"sleep": {"seconds": waits}}, *(_LATER if situation.beside else ())],
            "arms": [_arm(arm, situation) for arm in arms],
        }
    )


def _arm(arm: ConsumerArm, situation: ConsumerSituation) -> dict[str, Any]:
    env = {
        "KAFKA_CHAOS_BOOTSTRAP": "{bootstrap}",
        "KAFKA_CHAOS_TOPIC": "{input}",
        "KAFKA_CHAOS_GROUP": "{group}",
        "KAFKA_CHAOS_DELIVERIES": "{output}",
        "KAFKA_CHAOS_INSTANCE": "{instance}",
        "KAFKA_CHAOS_PARTITIONS": str(situation.partitions),
        "KAFKA_CHAOS_RECORDS": str(situation.records),
        "KAFKA_CHAOS_LOG_START": str(situation.log_start),
        "KAFKA_CHAOS_JOIN_MS": str(situation.join_ms),
        "KAFKA_CHAOS_HANDLE_MS": str(situation.handle_ms),
        "KAFKA_CHAOS_ENDS": situation.ends or "",
        "KAFKA_CHAOS_AFTER": str(situation.after),
        "KAFKA_CHAOS_ISOLATION": "read_committed" if situation.read_committed else "",
        **importable(),
        **arm.fixed,
    }
    application = {
        "run": {"process": [sys.executable, "-m", _STARTING, *arm.command]},
        "instances": situation.instances,
        "env": env,
        "output": {"table": "deliveries"},
        "restarts": _RESTARTS,
        "ready": {"runs": _READY_SECONDS},
        "drained": {"quiet": _QUIET_SECONDS, "within": _DRAINED_SECONDS},
    }
    return {"name": arm.name, "application": application}
