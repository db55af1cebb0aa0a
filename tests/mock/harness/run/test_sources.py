"""Applications that read a file or an HTTP endpoint, from the first record to the check; brokers are a mock
cluster."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, TopicPartition

from checkers import EngineChoice, check_run, judge, start_engine
from harness.model.application_journal import OUTPUTS_DIR
from harness.model.application_meta import ApplicationMeta
from harness.model.finding_class import FindingClass
from harness.model.journal import SENDS_DIR
from harness.model.node_layout import FIRST_APPLICATION_ID
from harness.model.result import Summary, VerdictWord
from harness.model.run import UNKNOWN_CLUSTER
from harness.run.arm_run import ArmRun
from harness.run.arm_setting import ArmSetting
from harness.run.client_factory import producers
from harness.run.reads.final_read import FinalReadTarget
from harness.spec.experiment import Experiment
from tests.support.history import run_meta
from tests.support.paths import ROOT
from workloads.applications import arm_application
from workloads.applications.arm_application import ArmApplication
from workloads.applications.output_read import OutputRead
from workloads.applications.outputs.output_identity import OutputIdentity, output_rows
from workloads.records.producer.send_journal import SendJournal

pytestmark = pytest.mark.mock

PROGRAM = ROOT / "tests" / "support" / "source_application.py"
RECORDS, RATE = 300, 150.0


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    started = start_engine(EngineChoice("sail"), scratch=tmp_path_factory.mktemp("sail"))
    yield started.session()
    started.stop()


def _outputs(bootstrap: str, topic: str) -> list[Any]:
    """Everything that the topic holds."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "x", "enable.partition.eof": True})
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found, ended = [], 0
    while ended < len(partitions):
        for message in consumer.consume(1000, 0.5):
            ended += message.error() is not None
            found += [] if message.error() else [message]
    consumer.close()
    return found


def _named(made: Callable[[ArmSetting], None], topic: str) -> Callable[[ArmSetting], None]:
    """Names the topic of a run, which has one of its own otherwise."""

    def named(setting: ArmSetting) -> None:
        made(setting)
        setting.topic = topic

    return named


Run = Callable[..., tuple[ApplicationMeta, Summary]]


@pytest.fixture
def run(
    mock_bootstrap: str, mock_topic: str, tmp_path: Path, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """run(source, style, ..., killed=...) -> the application's metadata and what the check counted."""

    def made(
        source: dict[str, str], style: str, killed: bool = False, **more: Any
    ) -> tuple[ApplicationMeta, Summary]:
        kind = next(iter(source))
        arguments = [kind, style, "{bootstrap}", "{output}", "{input}", "{state}"]
        application = {
            "run": {"process": [sys.executable, str(PROGRAM), *arguments]},
            "input": source,
            "drained": {"quiet": 3},
            **({"identity": more.pop("identity")} if "identity" in more else {}),
        }
        experiment = Experiment.model_validate(
            {
                "name": "sources",
                "title": "a source",
                "application": application,
                "steps": [{"write": {"name": "w", "records": RECORDS}}],
                "arms": [{"name": "a"}],
                **more,
            }
        )
        cluster = SimpleNamespace(
            bootstrap=mock_bootstrap,
            access=SimpleNamespace(properties={}),
            name="kc-mock",
            memory_mib=lambda: 1.0,
            info=lambda: UNKNOWN_CLUSTER,
        )
        monkeypatch.setattr(ArmSetting, "__post_init__", _named(ArmSetting.__post_init__, mock_topic))
        setting = ArmRun(cast(Any, cluster), experiment, experiment.arms[0], tmp_path, 1)
        assert setting.topics == (mock_topic,)
        tested = setting.the(ArmApplication)
        with ExitStack() as stack:
            tested.create(stack, 1.0)  # The output is the run's topic, which is there.
            tested.open(stack)
            journal = stack.enter_context(SendJournal(tmp_path / SENDS_DIR, setting.input_name))
            clients = SimpleNamespace(sends=journal, transactions=None)
            workload = producers(setting, cast(Any, clients), ())
            stack.callback(workload.close)
            tested.start()
            running = tested.running
            assert running is not None
            workload.start(0, records=RECORDS, rate=RATE)
            if killed:
                time.sleep(0.5)
                running.end_instance(FIRST_APPLICATION_ID, lambda one: one.kill(), "killed")
                time.sleep(0.5)
                running.start_instance(FIRST_APPLICATION_ID)
            assert workload.finish(time.monotonic() + 120)
            workload.close()
            tested.end()

        def read_output(
            _: object, target: FinalReadTarget, identity: OutputIdentity, folder: Path
        ) -> OutputRead:
            outputs = _outputs(mock_bootstrap, target.topic)
            everything = np.ones(len(outputs), np.bool_)
            rows = output_rows(outputs, identity.map(outputs, target.run_id), everything, time.time_ns())
            (folder / OUTPUTS_DIR).mkdir()
            pq.write_table(rows, folder / OUTPUTS_DIR / "part-00000.parquet")
            return OutputRead(len(outputs))

        monkeypatch.setattr(arm_application, "read_output_topic", read_output)
        setting.sampler = cast(Any, SimpleNamespace(failure=None))
        setting.meta = run_meta(run_id=setting.run_id, topic=mock_topic, started_ns=1)
        meta = setting.finish({})
        found = meta.application
        assert found is not None
        summary = check_run(engine, tmp_path)
        assert summary.problems == ()
        judgement = judge(meta, summary)
        lost = summary.count(FindingClass.UNPROCESSED)
        assert judgement.verdict is (VerdictWord.INVALID if lost else VerdictWord.VALID), judgement
        if not lost:
            kind = {"file": "file", "http": "HTTP endpoint"}[kind]
            taken = summary.outcomes["acked"]
            assert judgement.reasons[0] == f"the application's {kind} has taken {taken:,} records"
        others = set(summary.findings) - {FindingClass.UNPROCESSED, FindingClass.REPROCESSED}
        assert others <= {FindingClass.RECOVERED}
        return found, summary

    return made


HTTP = {"http": "http://{host}:{port}/ingest"}
JSON = {"payload": {"json": {"id": "$identity", "n": "$seq"}}}


def test_every_line_of_a_file_is_processed(run: Run) -> None:
    application, summary = run({"file": "app.log"}, "careful")
    assert (application.source, application.drained, application.problems) == ("file", True, ())
    assert (summary.outcomes, summary.inputs, summary.processed) == ({"acked": RECORDS}, RECORDS, RECORDS)
    assert summary.findings == {}


def test_a_killed_reader_of_a_file_that_knows_its_position_leaves_nothing_out(run: Run) -> None:
    identity = {"json": "$.log"}
    _, summary = run({"file": "app.log"}, "careful", killed=True, identity=identity, workload=JSON)
    assert (summary.inputs, summary.processed) == (RECORDS, RECORDS)


def test_one_that_begins_at_the_end_leaves_out_what_was_written_meanwhile(run: Run) -> None:
    _, summary = run({"file": "app.log"}, "forgetful", killed=True)
    assert summary.inputs == RECORDS
    assert 0 < summary.count(FindingClass.UNPROCESSED) < RECORDS


def test_an_endpoint_that_answers_when_the_output_is_safe_keeps_its_promise(run: Run) -> None:
    application, summary = run(HTTP, "careful", killed=True, workload=JSON)
    assert application.source == "HTTP endpoint"
    # What the application held when it was killed has no answer.
    assert summary.outcomes["acked"] >= RECORDS - 1
    assert summary.sent == RECORDS
    assert summary.count(FindingClass.UNPROCESSED) == 0


def test_one_that_answers_before_loses_what_it_held(run: Run) -> None:
    _, summary = run(HTTP, "forgetful", killed=True)
    assert summary.count(FindingClass.UNPROCESSED) > 0
