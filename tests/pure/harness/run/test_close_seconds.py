"""How long the producers of an arm may take to end: as the experiment says, else as long as a send may."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.run.run_clients import RunClients
from workloads.own.own_producers import OwnProducers
from workloads.own.producer_folder import PRODUCERS_DIR, ProducerFolder, ProducerTarget
from workloads.records.config.own_producer_spec import OwnProducerSpec
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(("given", "expected"), [({}, 35.0), ({"close_seconds": 70}, 70.0)])
def test_producers_have_the_time_to_end_that_the_experiment_gives_them(
    given: dict[str, Any], expected: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[float] = []
    monkeypatch.setattr(OwnProducers, "close", lambda _, seconds=0.0: closed.append(seconds))
    ProducerFolder(tmp_path / PRODUCERS_DIR).create(ProducerTarget(5, "t"))
    setting: Any = SimpleNamespace(
        arm=SimpleNamespace(producer=ProducerSettings()),
        cluster=SimpleNamespace(bootstrap="127.0.0.1:1", access=SimpleNamespace(properties={})),
        experiment=SimpleNamespace(readers_of=lambda _: (), commits_offsets=False),
        folder=tmp_path,
        input_name="t",
        partitions=1,
        run_id=5,
        topic="t",
        transaction_seconds=None,
        workload_spec=WorkloadSpec(client="own", own=OwnProducerSpec(**given)),
    )
    with RunClients(setting) as clients:
        assert clients.end() == []
        assert closed == [expected]
        clients.abort()
        assert closed == [expected, 0.5], "a run that breaks waits for nobody"
