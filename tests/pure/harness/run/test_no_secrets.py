"""A user's secrets are neither written nor printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException

from faults import Kill
from harness.model import secrets
from harness.model.errors import BadInput
from harness.model.secrets import MASK, format_command, masked_at, redact, without_secret_values
from harness.run.executor import Options, job_of
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import parse
from tests.support.builders.results import meta
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.producer.producers import make_client

pytestmark = pytest.mark.pure

PASSWORD = "hunter2-of-the-night"
KEY = "-----BEGIN PRIVATE KEY----- AAAA -----END PRIVATE KEY-----"
TEXT = f"""
name: mine
title: A password in a description is no password
cluster:
  properties:
    ssl.keystore.password: {PASSWORD}
    log.retention.ms: 1000
steps: [{{write: {{name: some, records: 10}}}}]
arms:
  - name: one
    producer:
      extra:
        sasl.password: {PASSWORD}
        ssl.key.pem: "{KEY}"
        client.id: me
"""


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_KNOWN", set())


@pytest.fixture
def experiment() -> Experiment:
    return parse(TEXT, "mine.yaml")


def test_what_a_run_leaves_about_its_experiment_holds_none(experiment: Experiment, tmp_path: Path) -> None:
    job = job_of(experiment, Options(results=tmp_path), [])
    text = (job.folder / "experiment.json").read_text()
    assert PASSWORD not in text
    assert "AAAA" not in text
    kept = json.loads(text)
    assert kept["arms"][0]["producer"]["extra"] == {
        "sasl.password": MASK,
        "ssl.key.pem": MASK,
        "client.id": "me",
    }
    assert kept["cluster"]["properties"] == {"ssl.keystore.password": MASK, "log.retention.ms": "1000"}
    assert kept["title"] == "A password in a description is no password"


def test_a_masked_file_is_not_run_with_the_mask_for_a_password(
    experiment: Experiment, tmp_path: Path
) -> None:
    job = job_of(experiment, Options(results=tmp_path), [])
    with pytest.raises(BadInput, match="masked") as refused:
        parse((job.folder / "experiment.json").read_text(), "experiment.json")
    assert "properties.ssl.keystore.password" in str(refused.value)


def test_metadata_and_messages_are_rid_of_what_was_learnt(experiment: Experiment, tmp_path: Path) -> None:
    assert experiment
    told = meta().model_copy(update={"problems": (f"login as me with {PASSWORD} failed",)})
    told.save(tmp_path)
    assert PASSWORD not in (tmp_path / "run.json").read_text()
    assert redact(f"no: {PASSWORD}") == f"no: {MASK}"
    assert redact("nothing learnt here: acks") == "nothing learnt here: acks"


def test_the_clients_refusal_does_not_quote_it() -> None:
    settings = ProducerSettings(extra={"sasl.password": PASSWORD, "no.such": "x"})

    def refuse(config: dict[str, Any], **_: Any) -> Any:
        from confluent_kafka import KafkaError

        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, f"bad: {config['sasl.password']}"))

    with pytest.raises(BadInput) as refused:
        make_client(refuse, settings, settings.to_librdkafka("a:1"))
    assert PASSWORD not in str(refused.value)
    assert "no.such=x" in str(refused.value)


def test_a_value_of_a_wrong_type_is_not_shown() -> None:
    with pytest.raises(BadInput) as refused:
        parse(TEXT.replace(f"sasl.password: {PASSWORD}", f"sasl.password: [{PASSWORD}]"), "mine.yaml")
    assert PASSWORD not in str(refused.value)
    with pytest.raises(BadInput) as refused:
        parse(TEXT.replace("client.id: me", "client.id: [me]"), "mine.yaml")
    assert "found:    ['me']" in str(refused.value), "what is no secret is shown"


def test_the_command_line_is_shown_without() -> None:
    told = format_command(
        ["kafka-chaos", "run", "a.yaml", f"--spark-conf=spark.secret={PASSWORD}", "x.password=b c"]
    )
    assert PASSWORD not in told
    assert told.startswith("kafka-chaos run a.yaml ")
    assert "b c" not in told
    assert format_command(["run", "acks=all", "my file"]) == "run acks=all 'my file'"


def test_fault_events_hold_none(experiment: Experiment) -> None:
    from harness.run.faults.ledger import FaultLedger

    assert experiment
    rows: list[dict[str, Any]] = []
    ledger = FaultLedger(lambda _: None, rows, "kc-test")  # type: ignore[arg-type,return-value]
    with pytest.raises(AttributeError):
        ledger.inject(Kill.model_validate({"target": {"leader": 0}}), why={"said": f"with {PASSWORD}"})
    assert rows
    assert PASSWORD not in json.dumps(rows)


def test_masking_goes_all_the_way_down() -> None:
    data = {"a": [{"b": {"sasl.jaas.config": "x", "topic": "passwords"}}], "text": "keep the password safe"}
    assert without_secret_values(data) == {
        "a": [{"b": {"sasl.jaas.config": MASK, "topic": "passwords"}}],
        "text": "keep the password safe",
    }
    assert masked_at(without_secret_values(data)) == "a[0].b.sasl.jaas.config"
    assert masked_at(data) is None
