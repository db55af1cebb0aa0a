"""Existing clusters: access to them, what is not possible there, and which container a broker is in."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from harness.cluster import external, running_cluster, state_records
from harness.cluster.credentials import Authority
from harness.cluster.external import ExternalCluster
from harness.cluster.external_containers import containers_by_broker
from harness.cluster.fetched_logs import whole_batches
from harness.cluster.live import LiveCluster
from harness.cluster.protocol.client_security import ClientSecurity, client_security_of, read_client_security
from harness.lab.claims.claim import CLAIMS
from harness.lab.explore.menu import MENU
from harness.lab.suite import runner
from harness.lab.suite.model import Item
from harness.many import docker_backend
from harness.many.cluster_reset import reset
from harness.model.errors import BadInput, ClusterError
from harness.model.host import processes
from harness.run import executor
from harness.run.executor import Options
from harness.run.experiment_run import ExperimentRun
from harness.run.faults.healing import heal_recorded
from harness.run.preflight import feasibility
from harness.run.preflight.feasibility import (
    check_external_limits,
    on_connected_cluster,
    on_external_cluster,
)
from harness.spec.cluster import ClusterSpec, ExternalClusterSpec
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import load, parse
from harness.spec.fault_index import fault_specs
from harness.spec.run_plan import plan_of
from harness.spec.topic import TopicSpec
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

SPEC = ClusterSpec(brokers=2, existing=ExternalClusterSpec(bootstrap_servers="a:1,b:2"))


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KAFKA_CHAOS_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.mark.parametrize("given", ["", "a", "a:0", "a:99999", "a:1,,b:2", "a b:1", "http://a:1"])
def test_an_address_is_host_and_port(given: str) -> None:
    with pytest.raises(ValidationError, match="host:port"):
        ExternalClusterSpec(bootstrap_servers=given)


def test_what_is_for_clusters_of_ours_alone() -> None:
    assert SPEC.existing is not None
    assert SPEC.existing.servers == (("a", 1), ("b", 2))
    odds: list[dict[str, Any]] = [{"version": "3.9.2"}, {"racks": True}, {"security": {"tls": True}}]
    for odd in [*odds, {"properties": {"a": "b"}}]:
        with pytest.raises(ValidationError, match="only for clusters that kafka-chaos starts"):
            ClusterSpec.model_validate({"existing": {"bootstrap_servers": "a:1"}, **odd})
    with pytest.raises(ValidationError, match="at most 9"):
        ClusterSpec(brokers=10)
    ClusterSpec(brokers=10, existing=SPEC.existing)


def _experiment(fault: str, cluster: str = "{existing: {bootstrap_servers: 'a:1'}}") -> Any:
    return parse(
        f"""
name: mine
title: Mine
cluster: {cluster}
steps: [{{write: {{name: w, seconds: 3, faults: [{{fault: {fault}, at: 1, for: 1}}]}}}}]
arms: [{{name: one}}]
""",
        "mine.yaml",
    )


COMMAND = "{command: {inject: a, verify: b, heal: c}}"
KILL = "{kill: {target: {leader: 0}}}"
LABELLED = "{existing: {bootstrap_servers: 'a:1', containers: mine}}"


@pytest.mark.parametrize(
    ("fault", "cluster", "owned", "refused"),
    [
        (COMMAND, None, False, None),
        ("{transfer: {partition: 0, to: {broker: 2}}}", None, False, None),
        (KILL, None, False, "'kill'"),
        (KILL, LABELLED, False, "did not start"),
        (KILL, LABELLED, True, None),
        (COMMAND, LABELLED, False, "did not start"),
        ("{wipe_disk: {target: {broker: 1}}}", LABELLED, True, "'wipe_disk'"),
    ],
)
def test_what_can_be_had_there(fault: str, cluster: str | None, owned: bool, refused: str | None) -> None:
    experiment = _experiment(fault, *([] if cluster is None else [cluster]))
    if refused is None:
        check_external_limits(experiment, owned=owned)
        return
    with pytest.raises(BadInput, match=refused):
        check_external_limits(experiment, owned=owned)


def test_a_matrix_and_a_claim_spare_containers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: Any) -> None:
        pytest.fail("an engine was started")

    monkeypatch.setattr(executor, "prepare_checks", started)
    for fault, cluster in ((KILL, LABELLED), (KILL, "{existing: {bootstrap_servers: 'a:1'}}")):
        experiment = _experiment(fault, cluster)
        with pytest.raises(BadInput, match="did not start"):
            docker_backend.DockerBackend().feasibility([experiment])
        with pytest.raises(BadInput, match="did not start"):
            runner.run_items([_claim(experiment)], Options())
        with pytest.raises(BadInput, match="did not start"):
            executor.execute([experiment], Options())


def _own(ids: str, target: str, assignment: str = "[[0, 1]]") -> Any:
    text = f"""
name: mine
title: Mine
cluster: {{brokers: 2, existing: {{bootstrap_servers: 'a:1'{ids}}}}}
topic: {{partitions: 1, replication_factor: 2, assignment: {assignment}}}
steps: [{{inject: {{transfer: {{to: {target}}}}}}}, {{write: {{name: w, records: 3}}}}]
arms: [{{name: one}}]
"""
    return parse(text, "mine.yaml")


def test_any_id_of_the_cluster_can_be_named() -> None:
    unknown = _own("", "{broker: 0}")
    assert unknown.shape.broker_ids == (0, 1)
    assert plan_of(unknown, 1).cluster.startswith("2 broker(s), existing;")
    assert _own("", "{broker: 1001}", "[[1001, 3]]").shape.broker_ids == (3, 1001)
    assert _own("", "all", "null, partitions: 1").shape.broker_ids == (1, 2)
    assert _own(", broker_ids: [1, 0]", "{broker: 0}").shape.broker_ids == (0, 1)
    # Once it is connected to, what the file names must be there.
    assert on_connected_cluster(unknown, (0, 1)).shape.own_ids == (0, 1)
    with pytest.raises(BadInput) as caught:
        on_connected_cluster(unknown, (1, 2))
    for words in ("2 broker(s) (1, 2)", "broker(s) 0; the cluster has brokers 1 to 2"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("ids", "target", "told"),
    [
        (", broker_ids: [0, 1]", "{broker: 2}", "the brokers are 0 to 1"),
        ("", "{any: [{broker: 7}, {nodes: [8]}]}", "the file names the brokers 0, 1, 7, 8"),
        (", broker_ids: [0, 1, 2]", "{broker: 0}", "brokers is 2, but existing.broker_ids names 0, 1, 2"),
        (", broker_ids: [-1, 1]", "{broker: 1}", "greater than or equal to 0"),
    ],
)
def test_ids_that_the_cluster_cannot_have(ids: str, target: str, told: str) -> None:
    with pytest.raises(BadInput) as caught:
        _own(ids, target)
    assert told in str(caught.value)


def test_the_ids_of_its_brokers_are_those_that_it_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {2: ("h", 3), 0: ("h", 1)}
    monkeypatch.setattr(feasibility, "advertised_addresses", lambda *_: there)
    monkeypatch.setattr(external, "advertised_addresses", lambda *_: there)
    experiment = _experiment("{transfer: {partition: 0, to: {broker: 1}}}", "{brokers: 3}")
    one_copy = experiment.model_copy(
        update={"topic": TopicSpec(replication_factor=1), "cluster": ClusterSpec(brokers=1)}
    )
    with pytest.raises(BadInput, match="the brokers are 0, 2"):
        on_external_cluster([one_copy], "a:1", None, None)
    existing = ExternalClusterSpec(bootstrap_servers="a:1", broker_ids=(0, 1))
    with pytest.raises(BadInput, match="has other brokers"):
        ExternalCluster(ClusterSpec(brokers=2, existing=existing)).start()


def test_a_file_without_existing_may_name_the_brokers_of_the_cluster_that_it_is_run_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        """
name: mine
title: Mine
cluster: {brokers: 2, racks: true}
topic: {partitions: 1, replication_factor: 2, assignment: [[0, 7]]}
steps: [{inject: {transfer: {to: {broker: 0}}}}, {write: {name: w, records: 3}}]
arms: [{name: one}]
"""
    )
    with pytest.raises(BadInput, match=r"broker\(s\) 0, 7; the cluster has brokers 1 to 2"):
        load(str(path))
    monkeypatch.setattr(feasibility, "advertised_addresses", lambda *_: {0: ("h", 1), 7: ("h", 2)})
    (there,) = on_external_cluster([load(str(path), elsewhere=True)], "a:1", None, None)
    assert there.shape.broker_ids == (0, 7)
    assert there.cluster.racks is False
    monkeypatch.setattr(feasibility, "advertised_addresses", lambda *_: {1: ("h", 1), 2: ("h", 2)})
    with pytest.raises(BadInput, match="has brokers 1 to 2"):
        on_external_cluster([load(str(path), elsewhere=True)], "a:1", None, None)


def test_broker_0_has_a_container_too() -> None:
    zero = [_container("zero", ["KAFKA_CFG_NODE_ID=0"]), _container("one", ["KAFKA_CFG_NODE_ID=1"])]
    found = containers_by_broker(zero, {0: ("h", 9092), 1: ("h", 9093)})
    assert {number: one["Id"] for number, one in found.items()} == {0: "zero", 1: "one"}


def test_nobody_can_forget_to_ask(tmp_path: Path) -> None:
    """Every run goes through `ExperimentRun`, which touches no cluster before it has asked."""
    untouched: Any = SimpleNamespace(client=None)
    experiment = _experiment(KILL, LABELLED)
    (arm,) = experiment.arms
    with pytest.raises(BadInput, match="did not start"):
        ExperimentRun(untouched, experiment, {tmp_path / "run": arm}, seed=1)
    with pytest.raises(BadInput, match="did not start"):
        executor.run_on(untouched, experiment, Options(results=tmp_path))


def test_the_version_of_an_existing_cluster_is_not_made_up() -> None:
    assert _claim(_experiment(COMMAND)).kafka == "existing"
    assert CLAIMS[0].kafka == ClusterSpec().version


def _claim(experiment: Experiment) -> Item:
    (first, *_) = CLAIMS
    arms = tuple(arm.model_copy(update={"experiment": experiment, "arm": "one"}) for arm in first.arms)
    return first.model_copy(update={"arms": arms})


def test_exploration_deletes_topics_so_it_refuses_existing_clusters() -> None:
    body = "name: mine\ntitle: Mine\ncluster: %s\nfaults: [{name: kill, fault: %s, for: [1, 2]}]\n"
    assert MENU.parse(body % ("{}", KILL), "menu.yaml").name == "mine"
    with pytest.raises(BadInput) as caught:
        MENU.parse(body % ("{existing: {bootstrap_servers: 'a:1'}}", COMMAND), "menu.yaml")
    assert "exploration deletes every topic" in str(caught.value)


def test_the_topics_of_an_existing_cluster_are_never_reset() -> None:
    class Untouched:
        spec = SPEC

        def admin(self) -> None:
            pytest.fail("its topics were asked for")

    with pytest.raises(ClusterError, match="are not deleted"):
        reset(cast("LiveCluster", Untouched()))


def test_what_each_fault_needs_of_such_a_cluster() -> None:
    needs = {name: spec.external for name, spec in fault_specs().items() if spec.external != "impossible"}
    requests = {
        "acl_deny",
        "add_partitions",
        "command",
        "config_change",
        "delete_records",
        "elect",
        "throttle",
    }
    requests |= {"transfer", "reassign", "requests"}
    containers = {"kill", "stop", "pause", "partition", "ring", "bridge", "loss", "bandwidth"}
    assert needs == dict.fromkeys(requests, "requests") | dict.fromkeys(containers, "containers")


def test_the_page_names_the_faults_that_act_on_containers() -> None:
    (line,) = (
        line
        for line in (ROOT / "docs" / "how-to" / "own-cluster.md").read_text().splitlines()
        if "act on the brokers' containers" in line
    )
    named = set(re.findall(r"`(\w+)`", line.partition("then act")[0]))
    assert named == {name for name, spec in fault_specs().items() if spec.external == "containers"}


SASL = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "me",
    "sasl.password": "pw",
}


def test_javas_names_and_librdkafkas_mean_the_same() -> None:
    java = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": 'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" '
        'password="p\\"w";',
        "acks": "all",
        "group.id": "x",
    }
    assert client_security_of(java, "f").properties == {**SASL, "sasl.password": 'p"w'}
    assert client_security_of(SASL, "f").properties == SASL
    assert client_security_of({"bootstrap.servers": "a:1"}, "f") == ClientSecurity()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sasl.mechanism": "GSSAPI"}, "GSSAPI"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "OAUTHBEARER"),
        ({"sasl.password": ""}, "sasl.password"),
        ({"security.protocol": "TLS"}, "SASL_SSL"),
        ({"sasl.jaas.config": "com.example.Other required;"}, "sasl.jaas.config"),
        ({"ssl.truststore.location": "/x.jks"}, "openssl pkcs12"),
        ({"ssl.engine.factory.class": "x"}, "ssl.engine.factory.class"),
        ({"ssl.endpoint.identification.algorithm": "other"}, "https or none"),
        ({"security.protocol": "SASL_SSL", "ssl.ca.location": "/no/such/file"}, "PEM"),
        ({"security.protocol": "SASL_SSL", "ssl.ca.pem": "nonsense"}, "PEM"),
    ],
)
def test_unsupported_client_settings_are_refused(change: dict[str, str], told: str) -> None:
    with pytest.raises(BadInput) as refused:
        client_security_of({**SASL, **change}, "client.properties")
    assert told in str(refused.value)
    assert "client.properties" in str(refused.value)


def test_pem_stores_of_java_are_files_of_ours(tmp_path: Path) -> None:
    signer = Authority("a")
    identity = signer.identity("me", ["me"])
    (tmp_path / "ca.pem").write_text(signer.certificate)
    (tmp_path / "me.pem").write_text(identity.key + identity.certificate)
    (tmp_path / "client.properties").write_text(
        f"""security.protocol=SSL
ssl.truststore.type=PEM
ssl.truststore.location={tmp_path}/ca.pem
ssl.keystore.type=PEM
ssl.keystore.location={tmp_path}/me.pem
"""
    )
    access = read_client_security(tmp_path / "client.properties")
    assert access.properties["ssl.certificate.location"] == f"{tmp_path}/me.pem"
    assert access.login is not None
    assert access.login.tls is not None
    assert access.login.tls.context.verify_mode
    plain = tmp_path / "plain.properties"
    plain.write_bytes(b"\xef\xbb\xbfbootstrap.servers=b:9092\r\n")
    assert read_client_security(plain).properties == {}


@pytest.mark.parametrize("text", ["", "spring:\n  kafka:\n    security: {protocol: SSL}\n", "acks=all\n"])
def test_a_file_that_says_nothing_of_the_connection_is_not_plain_text(text: str, tmp_path: Path) -> None:
    (tmp_path / "application.yml").write_text(text)
    with pytest.raises(BadInput, match="says nothing of the connection"):
        read_client_security(tmp_path / "application.yml")


def _container(identity: str, env: list[str], ports: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"Id": identity, "Config": {"Env": env}, "NetworkSettings": {"Ports": ports or {}}}


def test_each_broker_is_matched_with_its_container() -> None:
    published = {"9092/tcp": [{"HostIp": "0.0.0.0", "HostPort": "9093"}], "9999/tcp": None}
    containers = [
        _container("one", ["KAFKA_NODE_ID=1"]),
        _container("two", [], published),
        _container("three", ["KAFKA_BROKER_ID=3", "PATH=/bin"]),
        _container("controller", ["KAFKA_NODE_ID=4", "KAFKA_PROCESS_ROLES=controller"]),
        _container("other", ["HOME=/"]),
    ]
    endpoints = {1: ("h", 9092), 2: ("h", 9093), 3: ("h", 9094), 4: ("h", 9095)}
    found = containers_by_broker(containers, endpoints)
    assert {number: one["Id"] for number, one in found.items()} == {1: "one", 2: "two", 3: "three"}
    twice = [_container("a", ["KAFKA_NODE_ID=1"]), _container("b", ["KAFKA_NODE_ID=1"])]
    assert containers_by_broker(twice, {1: ("h", 1)}) == {}, "two that say the same are nobody's"


def test_a_batch_that_was_cut_is_left_out() -> None:
    batch = b"\0" * 8 + (20).to_bytes(4, "big") + b"x" * 20
    assert whole_batches(batch + batch[:-1]) == batch
    assert whole_batches(batch[:5]) == b""


def _recorded(owner: str) -> ExternalCluster:
    cluster = ExternalCluster(SPEC)
    cluster.set_brokers({1: ("127.0.0.1", 1), 2: ("127.0.0.1", 2)})
    state_records.remember(cluster)
    path = state_records.state_folder() / cluster.name / "cluster.json"
    path.write_text(path.read_text().replace(processes.owner_label(__import__("os").getpid()), owner))
    return cluster


def test_a_killed_harness_leaves_a_record_that_heals_without_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    healed = tmp_path / "healed"
    cluster = _recorded(f"{processes.machine_name()}/999999/1")
    state_records.open_fault(
        cluster.name,
        state_records.OpenFaultRecord(
            name="command-1",
            kind="command",
            topic="t",
            session_seconds=1.0,
            tag="x",
            opened_ns=1,
            injection={"inject": "true", "proof": "true", "heal_line": f"touch {healed}"},
        ),
    )
    monkeypatch.setattr("faults.command._BACK_SECONDS", 0.2)
    (one,) = heal_recorded(None)
    assert healed.exists()
    assert not one.clean, "no broker answers, so it was not seen to be healed"
    assert "does not answer" in one.failures[0]
    state_records.prune(None)  # type: ignore[arg-type]
    assert [record.name for record in state_records.recorded_clusters()] == [cluster.name], (
        "clean keeps what is open"
    )


def test_another_process_compares_with_what_stood_there_before_any_fault() -> None:
    cluster = ExternalCluster(SPEC)
    cluster.set_brokers({1: ("127.0.0.1", 1), 2: ("127.0.0.1", 2)})
    cluster.baseline = {1: {"limit": ("cpu.max 150000 100000",)}, 2: {}}
    state_records.remember(cluster)
    (record,) = state_records.recorded_clusters()
    attached = running_cluster.attach(None, record)
    assert attached is not None
    assert attached.baseline == cluster.baseline


def test_a_broker_without_a_known_container_is_not_touched() -> None:
    cluster = ExternalCluster(SPEC)
    cluster.set_brokers({1: ("127.0.0.1", 1)})
    for act in (cluster.kill, cluster.pause, cluster.start_node, lambda one: cluster.in_network(one, "true")):
        with pytest.raises(ClusterError, match="not known"):
            act(1)
    assert cluster.nodes_with_containers == ()


def test_a_cluster_that_does_not_answer_is_reported_with_the_reason() -> None:
    spec = ClusterSpec(existing=ExternalClusterSpec(bootstrap_servers="127.0.0.1:1"))
    with pytest.raises(ClusterError, match="does not answer") as refused:
        ExternalCluster(spec).start()
    assert re.search(r"127\.0\.0\.1:1\b", str(refused.value)), "no longer port that begins alike"


def test_what_is_written_of_an_existing_cluster_does_not_depend_on_defaults() -> None:
    spec = ClusterSpec(brokers=1, existing={"bootstrap_servers": "h:1"})
    written = spec.model_dump(mode="json")
    assert set(written) == {"existing", "brokers", "profile", "controllers", "proxy"}
    assert ClusterSpec.model_validate(written) == spec
    assert "version" in ClusterSpec().model_dump()
    with pytest.raises(ValueError, match="version is only for clusters that kafka-chaos starts"):
        ClusterSpec.model_validate({**written, "version": "3.9.2"})
