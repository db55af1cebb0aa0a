"""A cluster with one topic, `t`, for imports that read a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.model.run import UNKNOWN_CLUSTER, FinalRead
from harness.run.reads.final_read import FinalReadTarget
from harness.spec.cluster import ClusterSpec
from tests.support.builders.views import quiet


class TopicStandIn:
    """What an import asks of a cluster. `policy` is the topic's cleanup.policy, `start` where its log begins,
    and `target` what the final read was asked for."""

    bootstrap = "there:9092"

    def __init__(self) -> None:
        self.policy = "delete"
        self.start = 0
        self.target: FinalReadTarget | None = None

    def stand_in(
        self,
        monkeypatch: pytest.MonkeyPatch,
        module: ModuleType,
        read: Callable[[Any, FinalReadTarget, Path], FinalRead],
    ) -> None:
        """Let the import in `module` connect to this one, and read by `read`."""

        @contextmanager
        def running(_spec: ClusterSpec, _logs: Path) -> Iterator[TopicStandIn]:
            yield self

        monkeypatch.setattr(module, "running_cluster", running)
        monkeypatch.setattr(module, "final_read", read)
        monkeypatch.setattr(module, "external_cluster_spec", lambda *_: ClusterSpec())

    def view(self, _topics: Any, timeout: float) -> Any:
        assert timeout
        return quiet()

    def admin(self) -> TopicStandIn:
        return self

    def config(self, _topic: str) -> dict[str, str]:
        return {"cleanup.policy": self.policy}

    def info(self) -> Any:
        return UNKNOWN_CLUSTER

    def remarks(self) -> tuple[str, ...]:
        return ()
