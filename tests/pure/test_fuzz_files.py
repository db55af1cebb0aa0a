"""Whatever a user hands over, the answer is an error of ours or a value, and it comes soon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from harness.cluster import state_records
from harness.cluster.protocol.client_security import client_security_of
from harness.lab.claims.claim import CLAIM
from harness.lab.configs.compared_config import differences, read_configs
from harness.lab.explore.result import load_result as explored
from harness.many.matrix.expand import expand_matrix
from harness.many.matrix.result import load_result
from harness.many.matrix.spec import MATRIX
from harness.model.config.properties import parse_properties, read_properties
from harness.model.errors import BadInput
from harness.model.run import RunMeta
from harness.spec import experiment_files, run_plan
from harness.spec.experiment_files import EXPERIMENT
from harness.tools.audit.audit import audit
from harness.tools.audit.audit_files import audit_files
from harness.tools.audit.clients.catalogue import own_clients
from harness.tools.audit.config_reader import read_config
from harness.tools.interop.import_summary import VerifiableImport
from harness.tools.interop.verifiable_import import import_run
from tests.support.builders.results import meta
from tests.support.foreign_files import WITH_EQUALS, WITHOUT_EQUALS
from tests.support.fuzzing import SCALARS, VALUES, fuzzed, spoilt_bytes, spoilt_tree, told
from tests.support.paths import ROOT
from tests.support.verifiable_output import LOG, START, STOP, assigned, got, polled, sent, summary
from workloads.own.journal_check import check_journals, refuse_unusable

pytestmark = pytest.mark.pure

EXPERIMENTS = [EXPERIMENT.builtin_text(name) for name in EXPERIMENT.builtin_names()]
EXAMPLE = (Path(experiment_files.__file__).parent / "example.yaml").read_text()
CLAIM_FILES = [CLAIM.builtin_text(name) for name in ("r3", "r9", "r21", "a9", "c4")]
MATRICES = [MATRIX.builtin_text(name) for name in MATRIX.builtin_names()]
FUZZ = (
    "tests/pure/test_fuzz_files.py",
    "tests/pure/test_fuzz_bytes.py",
    "tests/pure/faults/schedules/test_decide.py",
)


def as_yaml(tree: Any) -> str:
    return yaml.safe_dump(tree, allow_unicode=True)


def as_properties(pairs: list[tuple[str, Any]]) -> str:
    return "".join(f"{name}={value}\n" for name, value in pairs)


def experiment_or_error(text: str) -> None:
    with told():
        experiment = experiment_files.parse(text, "fuzz.yaml")
        run_plan.lines(run_plan.plan_of(experiment, 1))


@fuzzed(25)
@given(st.data())
def test_spoilt_experiments(data: st.DataObject) -> None:
    whole = yaml.safe_load(data.draw(st.sampled_from(EXPERIMENTS)))
    experiment_or_error(as_yaml(data.draw(spoilt_tree(whole))))


@fuzzed(40)
@given(st.data())
def test_spoilt_text_of_experiments(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([*EXPERIMENTS, EXAMPLE])).encode()
    experiment_or_error(data.draw(spoilt_bytes(whole)).decode("latin-1"))


@fuzzed(50)
@given(st.text() | VALUES.map(as_yaml))
@example("a: 2024-99-99")
@example("a: " + "9" * 5000)
@example("- " * 500)
@example("[" * 500)
@example("a: &a [*a]")
@example("a: &a {b: *a}\nname: *a")
@example("\x00")
@example("? {a: b}\n: c")
@example("{1: 2, null: 3, [a]: 4}")
@example("a: !!binary x")
@example("a: !!set {b}\n")
@example("a: 0o9\nb: 1:60:60\nc: .inf\nd: 0x")
@example("<<: 3")
@example("name: x\nsteps: [{}]\narms: [{name: 1e999}]")
def test_any_text_as_an_experiment(text: str) -> None:
    experiment_or_error(text)


FOREIGN = [document for document, _ in (*WITH_EQUALS, *WITHOUT_EQUALS)]


@fuzzed(80)
@given(st.data())
def test_spoilt_files_of_other_tools(data: st.DataObject) -> None:
    experiment_or_error(as_yaml(data.draw(spoilt_tree(data.draw(st.sampled_from(FOREIGN))))))


def bomb(depth: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, depth)]
    return "\n".join(lines)


def test_aliases_cannot_make_it_take_for_ever() -> None:
    for text in (bomb(6), bomb(6).replace("a5:", "steps:")):
        with pytest.raises(BadInput) as refused:
            experiment_files.parse(text, "bomb.yaml")
        assert "too large" in str(refused.value)
    assert experiment_files.parse(
        "x-base: &it {acks: all}\n".replace("x-base", "arms").replace(
            "&it {acks: all}", "[{name: a, producer: &it {acks: all}}, {name: b, producer: *it}]"
        )
        + "name: n\ntitle: t\nsteps: [{write: {name: w, records: 1}}]",
        "aliases.yaml",
    )


@fuzzed(20)
@given(st.data())
def test_spoilt_matrices(data: st.DataObject) -> None:
    whole = yaml.safe_load(data.draw(st.sampled_from(MATRICES)))
    text = as_yaml(data.draw(spoilt_tree(whole)))
    with told():
        spec = MATRIX.parse(text, "fuzz.yaml")
        expand_matrix(spec, "fuzz.yaml")


@fuzzed(20)
@given(st.data())
def test_spoilt_claims(data: st.DataObject) -> None:
    whole = yaml.safe_load(data.draw(st.sampled_from(CLAIM_FILES)))
    with told():
        CLAIM.parse(as_yaml(data.draw(spoilt_tree(whole))), "fuzz.yaml")


@fuzzed(40)
@given(st.data())
def test_spoilt_text_of_claims(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from(CLAIM_FILES)).encode()
    with told():
        CLAIM.parse(data.draw(spoilt_bytes(whole)).decode("latin-1"), "fuzz.yaml")


@pytest.mark.parametrize(
    "text",
    [
        bomb(6).replace("a5:", "arms:"),
        f"with: {{a: {'x' * 1000}, b: [{'y, ' * 1000}]}}\narms: [{{experiment: {{name: {'$a' * 9000}}}}}]",
        f"with: {{b: [{'y, ' * 9000}]}}\narms: [{{experiment: {{steps: [{'$b, ' * 9000}]}}}}]",
        "arms: [{experiment: {steps: [{repeat: x, times: 999999999999}]}}]",
        "a: &a {experiment: *a}\narms: [*a]",
        "with: &w {a: *w}\narms: [{experiment: $a, with: *w}]",
        "? {a: b}\n: c\narms: [{? [x] : y}]",
        "<<: 3\narms: []",
        "arms: [{<<: [1, 2]}]",
        "experiments: {a: {like: {b: c}}}\narms: [{}]",
        "experiments: {a: {like: r12.cut}}\narms: [{}]",
        "experiments: {a: {cluster: }}\narms: [{expect: [3, {}, {lost: }, {given: }, {given: {given: x}}]}]",
    ],
)
def test_odd_claims(text: str) -> None:
    with pytest.raises(BadInput):
        CLAIM.parse(text, "odd.yaml")


@fuzzed(150)
@given(st.text() | st.lists(st.tuples(st.text(max_size=20), SCALARS)).map(as_properties))
@example("a=\\ud800")
@example("a=\\u00")
@example("\\")
@example("=x")
@example("acks=\\uffff\nlinger.ms=1e999")
def test_any_properties(text: str) -> None:
    try:
        entries = parse_properties(text, "fuzz.properties")
    except BadInput:
        return
    audit(entries)
    with told():
        client_security_of({entry.name: entry.value for entry in entries}, "fuzz.properties")


NAMES = [
    "acks",
    "retries",
    "linger.ms",
    "enable.idempotence",
    "transactional.id",
    "delivery.timeout.ms",
    "min.insync.replicas",
    "replication.factor",
    "isolation.level",
    "max.in.flight.requests.per.connection",
    "security.protocol",
    "batch.size",
    "sasl.jaas.config",
    "sasl.mechanism",
    "ssl.truststore.location",
    "ssl.ca.pem",
    "sasl.password",
    "sasl.username",
]


@fuzzed(150)
@given(
    st.dictionaries(st.sampled_from(NAMES), SCALARS.map(str) | st.sampled_from(["SSL", "SASL_SSL", "PLAIN"]))
)
def test_any_values_of_known_settings(given_: dict[str, str]) -> None:
    text = "".join(f"{name}={value.replace(chr(10), ' ')}\n" for name, value in given_.items())
    with told():
        audit(parse_properties(text, "fuzz.properties"))
        client_security_of(given_, "fuzz.properties")


PRODUCERS = st.dictionaries(st.sampled_from(NAMES), SCALARS.map(str)).map(
    lambda settings: as_properties(list(settings.items()))
)


@fuzzed(60)
@given(PRODUCERS, PRODUCERS)
def test_any_two_producers_compared(one: str, other: str) -> None:
    with tempfile.TemporaryDirectory() as folder, told():
        paths = [Path(folder) / name for name in ("a.properties", "b.properties")]
        for path, text in zip(paths, (one, other), strict=True):
            path.write_text(text, errors="replace")
        differences(read_configs(paths))


@fuzzed(60)
@given(st.data())
def test_any_values_of_clients_with_names_of_their_own(data: st.DataObject) -> None:
    client = data.draw(st.sampled_from(sorted(own_clients())))
    names = st.sampled_from(sorted(own_clients()[client].by_name)) | st.sampled_from(NAMES)
    before = st.sampled_from(["", "producer.", "consumer.", "a.b.", "NewWriter.", "[0]."])
    values = SCALARS.map(str) | st.sampled_from(["${A}", "1 * time.Second", "NewOffset().AtEnd()", "1e999"])
    given_ = data.draw(st.dictionaries(st.tuples(before, names), values, max_size=8))
    text = "".join(f"{prefix}{name}={value!r}\n" for (prefix, name), value in given_.items())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / data.draw(st.sampled_from(["own.properties", "own.yaml"]))
        path.write_text(text, encoding="utf-8", errors="replace")
        with told():
            audit_files([read_config(path, client)], client)


@fuzzed(40)
@given(st.binary(max_size=200))
def test_any_bytes_as_a_properties_file(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.properties")
        path.write_bytes(data)
        for name in ("a.properties", "a.yaml", "a.json", "a.txt"):
            path.rename(path.with_name(name))
            path = path.with_name(name)
            with told():
                read_config(path)
        with told():
            read_properties(path)


CASES = sorted((ROOT / "tests/support/cases").iterdir())


@fuzzed(40)
@given(st.data())
def test_spoilt_files_of_users(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, case.name)
        path.write_bytes(data.draw(spoilt_bytes(case.read_bytes())))
        with told():
            audit_files([read_config(path)])


@fuzzed(80)
@given(st.data())
def test_spoilt_metadata_of_runs(data: st.DataObject) -> None:
    whole = json.loads(meta().model_dump_json())
    text = json.dumps(data.draw(spoilt_tree(whole)), default=str).encode()
    _json_files(data.draw(st.just(text) | spoilt_bytes(text)))


@pytest.mark.parametrize(
    "text", [b"\xff\xfe", b"[" * 1000, b"9" * 10_000, b"null", b"[]", b"", b'{"schema_version": NaN}']
)
def test_odd_json(text: bytes) -> None:
    _json_files(text)


def _json_files(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, load in (
            ("run.json", RunMeta.load),
            ("matrix.json", load_result),
            ("result.json", explored),
        ):
            (folder / file).write_bytes(data)
            with told():
                load(folder)
        (folder / "kc-1").mkdir()
        (folder / "kc-1" / "cluster.json").write_bytes(data)
        before = os.environ.get("KAFKA_CHAOS_STATE")
        os.environ["KAFKA_CHAOS_STATE"] = name
        try:
            with told():
                list(state_records.recorded_clusters())
        finally:
            os.environ.pop("KAFKA_CHAOS_STATE")
            if before is not None:
                os.environ["KAFKA_CHAOS_STATE"] = before


PRODUCER = "\n".join(
    [LOG, START, *[sent(f"1.{seq}", seq, at=10 * seq) for seq in range(3)], STOP, summary(3), ""]
)
CONSUMER = "\n".join([START, assigned(0), *[got(f"1.{seq}", seq) for seq in range(3)], polled(3), ""])


@fuzzed(60)
@given(st.data())
def test_spoilt_histories_of_other_tools(data: st.DataObject) -> None:
    texts = [
        data.draw(st.just(text.encode()) | spoilt_bytes(text.encode()) | st.binary(max_size=99))
        for text in (PRODUCER, CONSUMER)
    ]
    with tempfile.TemporaryDirectory() as name:
        paths = []
        for number, text in enumerate(texts):
            paths.append(Path(name, f"{number}.log"))
            paths[-1].write_bytes(text)
        with told():
            import_run(VerifiableImport(producers=(paths[0],), consumers=(paths[1],)), Path(name, "run"))


@fuzzed(40)
@given(st.data())
def test_spoilt_values_in_histories(data: st.DataObject) -> None:
    lines = [json.loads(line) for line in PRODUCER.splitlines() if line.startswith("{")]
    spoilt = data.draw(spoilt_tree(lines))
    text = "\n".join(
        json.dumps(line, default=str) for line in (spoilt if isinstance(spoilt, list) else [spoilt])
    )
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "p.log")
        path.write_text(text)
        with told():
            import_run(VerifiableImport(producers=(path,)), Path(name, "run"))


EVENTS = [
    {
        "event": "begin",
        "producer": 0,
        "run": 5,
        "topic": "t",
        "client": "x 1",
        "acks": "1",
        "idempotent": False,
    },
    {"event": "sent", "seq": 0, "time_ms": 1, "partition": 0, "key_base64": "YQ==", "size": 1, "txn": 0},
    {"event": "acked", "seq": 0, "time_ns": 2, "partition": 0, "offset": 0},
    {"event": "sent", "seq": 1, "time_ms": 1, "key": "a", "timestamp_ms": 1},
    {"event": "failed", "seq": 1, "time_ms": 3, "error": "x"},
    {"event": "aborted", "txn": 0, "time_ms": 3, "begun_ns": 1, "asked": "commit", "answered": True},
    {"event": "end"},
]
JOURNAL = "".join(json.dumps(event) + "\n" for event in EVENTS).encode()
TARGET = b'{"run_id": 5, "topic": "t", "acks": "all", "bootstrap": "b:1"}'


@fuzzed(60)
@given(st.data())
def test_spoilt_journals_of_own_producers(data: st.DataObject) -> None:
    lines = data.draw(st.just(EVENTS) | spoilt_tree(EVENTS))
    spoilt = [json.dumps(line, default=str) for line in (lines if isinstance(lines, list) else [lines])]
    with tempfile.TemporaryDirectory() as name:
        Path(name, "0.jsonl").write_bytes(data.draw(st.just(JOURNAL) | spoilt_bytes(JOURNAL)))
        Path(name, "1.jsonl").write_text("\n".join(spoilt))
        if data.draw(st.booleans()):
            Path(name, "target.json").write_bytes(data.draw(st.just(TARGET) | spoilt_bytes(TARGET)))
        with told():
            _, checked = check_journals(Path(name))
            assert all(str(one).encode() for one in checked)
            refuse_unusable(checked)


@pytest.mark.soak
def test_all_of_it_for_longer() -> None:
    environment = {**os.environ, "KAFKA_CHAOS_FUZZ": "20"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not soak", *FUZZ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout[-5000:]
