"""A driven Java producer in a real JVM, as far as it gets without a broker: librdkafka's mock cluster does
not understand it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow.parquet as pq
import pytest

from harness.cluster.containers import docker_engine
from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.client_security import PLAIN_TEXT
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput, KafkaChaosError
from workloads.java.drive_step import Drive
from workloads.java.jvm import client_jar
from workloads.java.scripted_producers import PyScriptedProducers
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.send_journal import SendJournal

pytestmark = pytest.mark.mock

VERSION = DEFAULT_VERSION
NOBODY = "127.0.0.1:9"


@pytest.fixture(autouse=True)
def jar() -> Path:
    try:
        return client_jar(docker_engine.connect(), VERSION)
    except KafkaChaosError as error:
        pytest.skip(f"no Java client here: {error.what}")


class Driven:
    """A workload with its journals in a folder."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        spec = WorkloadSpec.model_validate({"client": "driven"})
        image = SimpleNamespace(kafka_version=VERSION)
        cluster = SimpleNamespace(bootstrap=NOBODY, access=PLAIN_TEXT, image=image)
        self.sends = SendJournal(folder / "sends", "t")
        self.producers = PyScriptedProducers(
            spec,
            ProducerSettings.model_validate(settings),
            cluster=cast(ManagedCluster, cluster),
            topic="t",
            run_id=7,
            seed=1,
            journal=self.sends,
            transactions=None,
            commits=[],
        )

    def do(self, *calls: Any, by: str = "first") -> list[str]:
        return self.producers.drive(3, Drive.model_validate({"name": "a", "by": by, "do": calls}))

    def close(self) -> list[dict[str, Any]]:
        """Rows of sends."""
        self.producers.close(1)
        self.sends.close()
        rows: list[dict[str, Any]] = pq.read_table(self.folder / "sends").to_pylist()
        return rows


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    made = Driven(tmp_path, extra={"max.block.ms": 300})
    yield made
    made.close()


def test_what_never_left_the_client_is_rejected(driven: Driven) -> None:
    assert driven.do({"send": {"partition": 1, "records": 2, "size": 64}}) == []
    assert driven.producers.finish(time.monotonic() + 60)
    assert driven.producers.progress().rejected == 2
    rows = driven.close()
    assert [(row["seq"], row["partition"], row["size"], row["step"]) for row in rows] == [
        (0, 1, 64, 3),
        (1, 1, 64, 3),
    ]
    assert {(row["outcome"], row["error"], row["offset"]) for row in rows} == {
        ("rejected", "TimeoutException", None)
    }


def test_a_call_that_the_client_refuses_is_told(driven: Driven) -> None:
    (refusal,) = driven.do("begin")
    assert refusal.startswith("step a: begin: IllegalStateException")


def test_settings_that_the_client_refuses_are_bad_input(tmp_path: Path) -> None:
    made = Driven(tmp_path, extra={"max.block.ms": "soon"})
    with pytest.raises(BadInput, match="refuses the producer settings") as raised:
        made.do("flush")
    assert "max.block.ms" in str(raised.value)
    made.close()


def test_its_jvm_ends_with_it(driven: Driven) -> None:
    process = driven.producers._jvm._process
    assert process.poll() is None
    driven.close()
    assert process.poll() is not None
    driven.producers.close()
