"""The experiments of a comparison: for each fault all clients side by side, each with a topic of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import harness
from harness.lab.clients.fault import ClientFault
from harness.lab.clients.installing import InstalledClient
from harness.spec.experiment import Experiment
from harness.spec.step import Step

_ROOT = Path(harness.__file__).parent.parent
_JOINT = "_"
"""Between a client and its mode in the name of an arm; no client has it in its name."""


@dataclass(frozen=True, slots=True)
class ClientArm:
    """One client in one mode, and what starts its program. `fixed` are environment variables of it, `says` is
    what a user writes for this mode. With an `image` it runs in a container, which may read `folders`."""

    client: str
    mode: str
    command: tuple[str, ...]
    fixed: Mapping[str, str] = field(default_factory=dict)
    order: Literal["sent", "none"] = "sent"
    says: str = ""
    image: str | None = None
    folders: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its arm."""
        return f"{self.client}{_JOINT}{self.mode}"

    @property
    def client_id(self) -> str:
        """The client id by which brokers know it."""
        return f"kafka-chaos-{self.client}-{self.mode}"


def client_of(arm: str) -> tuple[str, str]:
    """The client and the mode of an arm with this name."""
    client, _, mode = arm.rpartition(_JOINT)
    return client, mode


@dataclass(frozen=True, slots=True)
class Load:
    """What each program sends, `rate` records per second, and the seconds within which it must have closed
    after the write steps. Kafka has this `version`. At most `at_once` programs run beside each other."""

    version: str
    rate: int = 100
    close_seconds: int = 45
    at_once: int = 8


def arms_of_client(client: InstalledClient, modes: Sequence[str] = ()) -> tuple[ClientArm, ...]:
    """The arms of a client in these modes; none named: in all that it has."""
    python = importable() if client.named.spec.language == "python" else {}
    return tuple(
        ClientArm(
            client.named.label,
            mode,
            client.command,
            {**python, **client.env, "KAFKA_CHAOS_MODE": mode},
            how.order,
            how.says,
            client.image,
            (str(client.folder),) if client.image is not None else (),
        )
        for mode, how in client.named.spec.modes.items()
        if not modes or mode in modes
    )


def importable() -> dict[str, str]:
    """What lets a program in Python import `kafka_chaos`, installed or not."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))}


def experiments_for(
    name: str, fault: ClientFault, arms: Sequence[ClientArm], load: Load
) -> Iterator[Experiment]:
    """The experiments of one fault, which share out the arms evenly, `at_once` of them at most in each."""
    parts = -(-len(arms) // load.at_once)
    for part in range(parts):
        yield _experiment(name, fault, arms[part::parts], load)


def _experiment(name: str, fault: ClientFault, arms: Sequence[ClientArm], load: Load) -> Experiment:
    return Experiment.model_validate(
        {
            "name": name,
            "title": f"Clients compared: {fault.title}",
            "description": fault.description,
            "cluster": {"version": load.version, "profile": "kafka", **fault.cluster},
            # Every topic has the same leader, which the fault hits, and the same followers.
            "topic": {"assignment": [[1, 2, 3]], "config": {"min.insync.replicas": "2"}},
            "together": True,
            "steps": [step for one in fault.steps for step in _for_each(one, arms)],
            "arms": [_arm(arm, load) for arm in arms],
        }
    )


def _for_each(step: Step, arms: Sequence[ClientArm]) -> Iterator[dict[str, Any]]:
    """The step as it is; one that names `{client}` for the client id of each arm."""
    text = json.dumps(step.model_dump(mode="json", by_alias=True, exclude_unset=True))
    for one in dict.fromkeys(text.replace("{client}", arm.client_id) for arm in arms):
        yield json.loads(one)


def _arm(arm: ClientArm, load: Load) -> dict[str, Any]:
    env = {
        "KAFKA_CHAOS_RATE": str(load.rate),
        "KAFKA_CHAOS_CLIENT": arm.client_id,
        "KAFKA_CHAOS_CLOSE": str(load.close_seconds - 5),
        **arm.fixed,
    }
    own = {
        "command": arm.command,
        "env": {name: text.replace("{", "{{").replace("}", "}}") for name, text in env.items()},
        "close_seconds": load.close_seconds,
        "order": arm.order,
        "image": arm.image,
        "folders": arm.folders,
    }
    return {"name": arm.name, "workload": {"client": "own", "own": own}}
