"""Host names that resolve wrongly: the scripts in a real shell, and what is proof."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from faults.dns import NOBODY, Dns, ask_script, clean_script, hosts_script
from faults.targets import Application, BrokerId, Leader, NodeIds
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, context

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(
    brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3, applications=1,
    application_in_container=True,
)  # fmt: skip
FAULT = Dns(target=BrokerId(broker=2), of=Leader(leader=0))


@dataclass
class Named(FakeCluster):
    """A fake cluster whose nodes have names; `answers` is what each name resolves to in its containers."""

    answers: dict[str, str] = field(default_factory=dict)
    inside: list[tuple[int, str]] = field(default_factory=list)
    fails: bool = False
    ends: bool = False

    def host_name(self, number: int) -> str:
        return f"broker-{number}" if number < 100 else f"controller-{number}"

    def in_node(self, number: int, script: str) -> FakeCommandResult:
        self.inside.append((number, script))
        if self.ends:
            self.dead |= {number}
            return FakeCommandResult(137, "")
        if self.fails:
            return FakeCommandResult(1, "there is no getent")
        if "getent" in script:
            lines = [f"{name} {address}" for name, address in self.answers.items() if f'"{name} ' in script]
            return FakeCommandResult(text="\n".join(lines) + "\n")
        return FakeCommandResult(text="put\n")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.dns.NamesChanged.proof_seconds", 0.0)
    monkeypatch.setattr("faults.dns._BACK_SECONDS", 0.0)


def test_the_hosts_file_gets_lines_once_and_loses_only_those(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n10.0.0.2 broker-2 # kafka-chaos-10/\n")
    before = hosts.read_text()

    def run(script: str) -> str:
        script = script.replace("/etc/hosts", str(hosts)).replace("/tmp/.", f"{tmp_path}/.")
        return subprocess.run(["sh", "-ec", script], check=True, capture_output=True, text=True).stdout

    add = hosts_script(("broker-1", "broker-3"), NOBODY, "kafka-chaos-1")
    assert run(add) == "put\n"
    assert run(add) == ""
    assert hosts.read_text() == before + (
        f"{NOBODY} broker-1 # kafka-chaos-1/\n{NOBODY} broker-3 # kafka-chaos-1/\n"
    )
    run(clean_script("kafka-chaos-1"))
    run(clean_script("kafka-chaos-1"))
    assert hosts.read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["hosts"]


def test_names_are_resolved_by_the_nodes_own_resolver() -> None:
    output = subprocess.run(
        ["sh", "-c", ask_script(("localhost", "no-such-name.invalid"))], capture_output=True, text=True
    )
    lines = sorted(output.stdout.splitlines())
    assert lines[0].startswith("localhost ")
    assert lines[1].strip() == "no-such-name.invalid"


def test_a_wrong_address_is_written_seen_and_taken_back() -> None:
    cluster = Named([quiet()], answers={"broker-1": "10.0.0.1"})
    at = context(cluster)
    injection = FAULT.aim(at)
    assert (injection.nodes, injection.names) == ((2,), ((1, "broker-1"),))
    assert "broker 2 still resolves broker-1 to 10.0.0.1" in injection.verify(at).what
    injection.apply(at)
    assert cluster.inside[-1] == (2, hosts_script(("broker-1",), NOBODY, "tag-1"))
    assert cluster.scripts == [], "no firewall rule"
    cluster.answers = {"broker-1": NOBODY}
    evidence = injection.verify(at)
    assert evidence.seen
    assert evidence.what == f"broker 2 resolves to {NOBODY}: broker-1"
    assert injection.restarted(at, 2)
    with pytest.raises(FaultError, match="not resolved as before"):
        injection.heal(at)
    cluster.answers = {"broker-1": "10.0.0.1"}
    assert injection.heal(at).seen
    assert any("grep -vF" in script for _, script in cluster.inside)


def test_without_the_resolver_no_name_resolves() -> None:
    names = ("broker-1", "broker-3", "controller-101")
    cluster = Named([quiet()], answers=dict.fromkeys(names, "10.0.0.9"))
    at = context(cluster)
    injection = Dns(target=BrokerId(broker=2), answer="none").aim(at)
    assert "still resolves" in injection.verify(at).what
    injection.apply(at)
    assert [number for number, script in cluster.scripts if "-d 127.0.0.11" in script] == [2]
    assert not any("printf" in script for _, script in cluster.inside)
    cluster.answers = dict.fromkeys(names, "")
    evidence = injection.verify(at)
    assert evidence.seen
    assert "broker 2 resolves no name: not broker-1, broker-3, controller-101" in evidence.what
    cluster.dead = {2}
    assert "does not run" in injection.verify(at).what


def test_a_container_without_a_resolver_of_names_is_an_error() -> None:
    cluster = Named([quiet()], fails=True)
    with pytest.raises(FaultError, match="there is no getent"):
        FAULT.aim(context(cluster)).verify(context(cluster))


def test_a_node_that_ends_while_its_names_are_taken_back_is_no_error() -> None:
    cluster = Named([quiet()], answers={"broker-1": NOBODY})
    at = context(cluster)
    injection = FAULT.aim(at)
    injection.apply(at)
    cluster.ends = True
    injection.undo(at)
    assert cluster.dead == {2}


def test_the_own_name_does_not_change() -> None:
    cluster = Named([quiet()])
    injection = Dns(target=NodeIds(nodes=(1, 2)), of=NodeIds(nodes=(1, 3))).aim(context(cluster))
    injection.apply(context(cluster))
    scripts = dict(cluster.inside)
    assert "broker-1" not in scripts[1]
    assert "broker-1" in scripts[2]
    with pytest.raises(FaultError, match="there is no other name"):
        Dns(target=BrokerId(broker=1), of=BrokerId(broker=1)).aim(context(cluster))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"answer": "none", "of": {"leader": 0}}, "leave `of` and `address` out"),
        ({"address": "example.org"}, "String should match pattern"),
        ({"answer": "late"}, "'wrong' or 'none'"),
    ],
)
def test_bad_input(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Dns.model_validate({"target": {"broker": 1}, **given})


def test_who_can_be_aimed_at() -> None:
    assert FAULT.max_brokers_down(SHAPE) == 0
    Dns(target=Application(application=0)).warnings(SHAPE)
    with pytest.raises(ValueError, match="only brokers, controllers and ZooKeeper have such names"):
        Dns(target=BrokerId(broker=1), of=Application(application=0)).warnings(SHAPE)
