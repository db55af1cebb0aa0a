"""Consume-process-produce against librdkafka's mock cluster, which keeps no offsets of transactions."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.client_security import PLAIN_TEXT
from harness.run.arm_setting import ArmSetting
from harness.run.run_clients import RunClients
from harness.spec.experiment import Experiment
from tests.support.processed_keys import source_of
from workloads.transactions.processor import key_of_input
from workloads.transactions.processors import Processors

pytestmark = pytest.mark.mock

RECORDS = 400
Rows = list[dict[str, Any]]


@given(st.integers(0, 9999), st.integers(0, 2**48 - 1))
def test_the_key_says_which_record_it_was_made_from(partition: int, offset: int) -> None:
    key = key_of_input(partition, offset)
    assert source_of(key) == (partition, offset)
    assert 0 <= key < 2**63


def experiment(**process: Any) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "eos",
            "title": "t",
            "topic": {"partitions": 4},
            "workload": {"rate": 400, "process": {"records": 20, **process}},
            "steps": [{"write": {"name": "w", "records": RECORDS}}],
            "arms": [{"name": "a", "producer": {"linger.ms": 0}}],
        }
    )


def ran(made: Experiment, bootstrap: str, topic: str, folder: Path) -> ArmSetting:
    # All that librdkafka's clients need of a cluster.
    cluster = cast(ManagedCluster, SimpleNamespace(bootstrap=bootstrap, access=PLAIN_TEXT))
    setting = ArmSetting(cluster, made, made.arms[0], folder, seed=1)
    setting.topic, setting.run_id = topic, 5
    processing = Processors.of(setting)
    assert processing is not None
    with RunClients(setting, [processing]) as traffic:
        traffic.start()
        traffic.producers.start(0, records=RECORDS)
        assert traffic.producers.finish(time.monotonic() + 60)
        assert traffic.end() == []
        assert traffic.problems == ()
        infos = {info.name: info for info in traffic.readers.infos()}
        assert {(info.group, info.commits, info.committed) for info in infos.values()} == {
            ("processors", "transaction", True)
        }
    return setting


def rows(folder: Path) -> Rows:
    found: Rows = ds.dataset(folder, format="parquet").to_table().to_pylist()
    return found


def test_each_source_record_is_processed_in_exactly_one_committed_transaction(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str
) -> None:
    setting = ran(experiment(), mock_bootstrap, mock_topic, tmp_path)
    assert setting.written == (mock_topic, setting.processed_topic)
    sends = rows(tmp_path / "sends")
    source = {(row["partition"], row["offset"]) for row in sends if row["topic"] == mock_topic}
    written = [row for row in sends if row["topic"] == setting.processed_topic]
    assert len(source) == RECORDS
    assert {row["producer"] for row in written} == {1}
    assert sorted(row["seq"] for row in written) == list(range(len(written)))
    ended = {row["txn"]: row for row in rows(tmp_path / "transactions")}
    assert {row["outcome"] for row in ended.values()} == {"committed"}
    assert Counter(row["txn"] for row in written) == {txn: row["records"] for txn, row in ended.items()}
    assert sorted(source_of(row["key"]) for row in written) == sorted(source)
    given_out = [(row["partition"], row["offset"]) for row in rows(tmp_path / "live/processor-0")]
    assert sorted(given_out) == sorted(source)
    ordered = sorted(rows(tmp_path / "commits"), key=lambda row: row["at_ns"])
    commits = {row["partition"]: row["offset"] for row in ordered}
    assert commits == dict.fromkeys(range(4), RECORDS // 4)


def test_the_control_a_group_that_does_not_go_back_skips_what_was_aborted(
    tmp_path: Path, own_mock_bootstrap: str, mock_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workloads.transactions.processor import Processor

    monkeypatch.setattr(Processor, "_rewind", lambda _: None)
    setting = ran(experiment(abort=0.4), own_mock_bootstrap, mock_topic, tmp_path)
    ended = {row["txn"]: row["outcome"] for row in rows(tmp_path / "transactions")}
    written = [row for row in rows(tmp_path / "sends") if row["topic"] == setting.processed_topic]
    done = [row for row in written if ended[row["txn"]] == "committed"]
    assert 0 < len(done) < RECORDS
