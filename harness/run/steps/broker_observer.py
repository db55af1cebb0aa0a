"""What single brokers of a live cluster report, for the conditions of wait steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from faults.shared.fault_spec import InjectionContext
from harness.cluster.live import LiveCluster
from harness.model.broker_views import TopologyView
from harness.model.errors import FaultError
from harness.protocol.client_requests import fetch
from workloads.log_format.checkpoints import EPOCH_FILE, epoch_rows, offset_rows

_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class BrokerObserver:
    """Implements `harness.spec.wait_conditions.ConditionView` for one topic. `context` returns what targets
    are resolved in. Brokers' logs are read from `since_ns` (epoch ns) on."""

    cluster: LiveCluster
    topic: str
    context: Callable[[], InjectionContext]
    since_ns: int

    def view(self) -> TopologyView:
        return self.cluster.view((self.topic,))

    def nodes(self, target: Any) -> tuple[int, ...]:
        with suppress(FaultError):
            found: tuple[int, ...] = target.resolve(self.context().snapshot())
            return found
        return ()

    def high_watermark(self, broker: int, partition: int) -> int | None:
        if broker not in self.cluster.broker_ids:
            return None
        with suppress(OSError), self.cluster.connection(broker, _SECONDS) as connection:
            found = fetch(connection, self.topic, partition, 0, max_bytes=1)
            return found.high_watermark if found.error is None else None
        return None

    def checkpoint(self, broker: int, file: str, partition: int) -> int | None:
        rows: Iterable[dict[str, Any]]
        if file == EPOCH_FILE:
            text = self.cluster.log_files(broker, self.topic, partition).get(file, b"").decode()
            rows = epoch_rows(broker, self.topic, partition, text)
            return max((row["leader_epoch"] for row in rows), default=None)
        text = self.cluster.log_dir_file(broker, file).decode()
        rows = offset_rows(broker, file, text, self.topic)
        return next((row["offset"] for row in rows if row["partition"] == partition), None)

    def log(self, broker: int) -> str:
        return self.cluster.log_since(broker, self.since_ns)
