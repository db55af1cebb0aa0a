"""What findings look like on real brokers: examples/findings/, and what no YAML can do.

`--results FOLDER` keeps what they leave, of which docs/findings.md takes its examples
(`python -m harness.findingdocs --from FOLDER`).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.cluster import Cluster
from harness.execution import Options, execute, run_on
from harness.loading import load, parse
from harness.model.result import FindingClass
from workloads.identity import ValueBuilder

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "findings").glob("*.yaml"))
PLAIN = """
name: phantom
title: Somebody else writes with a producer's identity
topic: {partitions: 1}
steps:
  - write: {name: w, records: 100}
arms:
  - {name: second-writer, producer: {acks: all}, promise: {phantom: 1}}
  - {name: alone, producer: {acks: all}}
"""


@pytest.fixture
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where results go: a folder that was asked for, or one that is thrown away."""
    asked = request.config.getoption("--findings")
    return tmp_path if asked is None else Path(asked).resolve()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_shows_what_it_promises(path: Path, kept: Path) -> None:
    options = Options(results=kept, seed=3)
    ((_, result),) = execute([load(str(path))], options)
    for arm in result.arms:
        assert arm.judgement.as_promised, (arm.meta.arm, arm.judgement)


def test_a_record_that_no_producer_of_ours_sent_is_a_phantom(cluster: Cluster, kept: Path) -> None:
    bootstrap = cluster.bootstrap

    def intrude(arm: str, topic: str) -> None:
        if arm == "alone":
            return
        run_id = int(topic.rpartition("-")[2], 16)
        client = Producer({"bootstrap.servers": bootstrap})
        client.produce(topic, ValueBuilder(run_id, 0, 100, 1)(1_000_000), partition=0)
        assert client.flush(30) == 0
        client.close()

    _, result = run_on(cluster, parse(PLAIN, "phantom"), Options(results=kept, seed=3, started=intrude))
    intruded, alone = result.arms
    assert intruded.judgement.as_promised, intruded.judgement
    assert intruded.summary is not None
    assert intruded.summary.count(FindingClass.PHANTOM) == 1
    assert alone.summary is not None
    assert alone.summary.findings == {}
