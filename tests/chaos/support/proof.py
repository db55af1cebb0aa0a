"""What every fault owes: proof of its effect, healing by another process, and no harm in healing again."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from faults.shared.fault_spec import FaultSpec
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.run.faults import healing
from tests.chaos.support import crashing_harness
from tests.chaos.support.evidence import FaultTable

_SECONDS = 150.0
_FORKS = multiprocessing.get_context("forkserver")
"""Gives processes that have imported the harness already, which takes longer than most faults."""
_FORKS.set_forkserver_preload([crashing_harness.__name__])


@dataclass
class Shown:
    """What the process that injected the fault said before it was killed; `heal_ms` comes at the end."""

    kind: str
    spec: dict[str, Any]
    target: str
    nodes: list[int]
    what: str
    facts: dict[str, Any]
    inject_ms: float
    seen_ms: float
    heal_ms: float = field(default=0.0)
    healed: str = field(default="")


Prove = Callable[[FaultSpec], AbstractContextManager[Shown]]
"""The fixture `prove`: `with prove(spec) as shown:` is `proved` on the shared cluster."""


@contextmanager
def proved(cluster: ManagedCluster, topic: str, spec: FaultSpec, table: FaultTable) -> Iterator[Shown]:
    """A process injects and verifies the fault and is killed by SIGKILL; the body runs while it is open; then
    it is healed from the record that is left, twice, and the cluster must be clean and settled.

    The test is skipped if the table is of another fault only.
    """
    if table.only not in (None, spec.name()):
        pytest.skip(f"only {table.only} is proved")
    tag = f"kafka-chaos-{topic[:24]}-{time.time_ns() % 10**9:x}"
    shown = _doomed(cluster, topic, tag, spec)
    try:
        yield shown
    finally:
        began = time.monotonic()
        first = healing.heal_cluster(cluster)
        shown.heal_ms = (time.monotonic() - began) * 1e3
    assert first.clean, first
    assert len(first.healed) == 1, first
    shown.healed = first.healed[0].partition(": ")[2]
    if spec.injection.proved_when_healed:
        shown.what = shown.healed
    again = healing.heal_cluster(cluster)
    assert again.clean, again
    assert not again.healed, "nothing is left to heal"
    settle(cluster, topic, 1, 3, 90)
    table.rows.append({key: value for key, value in asdict(shown).items() if key not in ("nodes", "facts")})


def _doomed(cluster: ManagedCluster, topic: str, tag: str, spec: FaultSpec) -> Shown:
    written = json.loads(spec.model_dump_json(by_alias=True))
    receiver, sender = _FORKS.Pipe(duplex=False)
    given = (sender, cluster.name, topic, tag, type(spec).__module__, written)
    process = _FORKS.Process(target=crashing_harness.main, args=given)
    process.start()
    sender.close()
    try:
        said = receiver.recv()
    except EOFError:
        healing.heal_cluster(cluster)
        raise AssertionError("the injecting process ended early; its error is printed") from None
    finally:
        process.kill()
        process.join(_SECONDS)
    if not said.pop("seen"):
        healing.heal_cluster(cluster)
        raise AssertionError(f"the effect was not seen: {said}")
    return Shown(kind=spec.name(), spec=written, **said)
