"""A broker that is compatible with Kafka and not Apache Kafka: Tansu 0.6.0, docs/how-to/kafka-compatible.md.

KAFKA_CHAOS_TANSU names its binary, which takes half an hour to build; without it these tests are skipped.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkers import EngineChoice
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.errors import BadInput
from harness.model.finding_class import FindingClass
from harness.model.host.ports import HOST, free_ports
from harness.model.polling import wait_until
from harness.model.result import ArmResult, VerdictWord
from harness.run.executor import Options, execute
from harness.run.preflight.feasibility import on_external_cluster
from harness.spec.experiment_files import load, parse
from tests.support.paths import ROOT

BINARY = os.environ.get("KAFKA_CHAOS_TANSU")
pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(BINARY is None, reason="KAFKA_CHAOS_TANSU does not name a binary of Tansu 0.6.0"),
]


@pytest.fixture(params=["memory://tansu/", "sqlite://tansu.db"], ids=["memory", "sqlite"])
def engine_and_bootstrap(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A storage engine, and the address of a new broker with it."""
    assert BINARY is not None
    (port,) = free_ports(1)
    url = f"tcp://{HOST}:{port}"
    command = [BINARY, "broker", "--listener-url", url, "--advertised-listener-url", url]

    def missing() -> str | None:
        with BrokerConnection(111, HOST, port, 5.0) as connection:
            try:
                return None if connection.api_versions() else "it offers nothing"
            except OSError as error:
                return str(error)

    with (tmp_path / "tansu.log").open("wb") as log:
        broker = subprocess.Popen(
            [*command, "--storage-engine", request.param], cwd=tmp_path, stdout=log, stderr=log
        )
        try:
            wait_until(missing, what="an answer of Tansu", seconds=60)
            yield request.node.callspec.id, f"{HOST}:{port}"
        finally:
            broker.kill()
            broker.wait()


def arms_of(name: str, bootstrap: str, results: Path) -> dict[str, ArmResult]:
    experiment = load(str(ROOT / "examples" / "foreign-broker" / f"{name}.yaml"))
    chosen = on_external_cluster([experiment], bootstrap, None, None)
    ((_, result),) = execute(chosen, Options(results=results, engine=EngineChoice("sail")))
    return {arm.meta.arm: arm for arm in result.arms}


def test_what_it_breaks_is_found(engine_and_bootstrap: tuple[str, str], results: Path) -> None:
    engine, bootstrap = engine_and_bootstrap
    found = arms_of("ends_too_low", bootstrap, results)
    assert found["one-by-one"].judgement.verdict == VerdictWord.VALID, found["one-by-one"].judgement
    batches = found["batches"]
    told = [reason for reason in batches.judgement.reasons if "Fetch with the high watermark 900" in reason]
    if engine == "memory":
        assert batches.judgement.verdict == VerdictWord.UNKNOWN
        assert len(told) == 1
    else:
        assert batches.judgement.verdict == VerdictWord.VALID, batches.judgement
    (aborted,) = arms_of("aborted_read", bootstrap, results).values()
    assert aborted.judgement.verdict == VerdictWord.INVALID, aborted.judgement
    assert aborted.summary is not None
    assert aborted.summary.count(FindingClass.ABORTED_READ) >= 10
    assert any("offers no version of EndTxn" in one for one in aborted.meta.skipped)


def test_what_it_does_not_offer_is_refused(engine_and_bootstrap: tuple[str, str], results: Path) -> None:
    _, bootstrap = engine_and_bootstrap
    text = """
name: more
title: Partitions are added
topic: {partitions: 1, replication_factor: 1}
steps: [{write: {name: w, seconds: 3, faults: [{fault: {add_partitions: {count: 1}}, at: 1, for: 1}]}}]
arms: [{name: one}]
"""
    chosen = on_external_cluster([parse(text, "more.yaml")], bootstrap, None, None)
    with pytest.raises(BadInput, match="does not offer CreatePartitions"):
        execute(chosen, Options(results=results, engine=EngineChoice("sail")))
