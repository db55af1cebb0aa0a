"""Traces of faults are found, and faults that an ended process left open are healed from its records."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from faults import Kill, Pause
from faults.targets import Leader
from harness.cluster import state_records
from harness.cluster.live import LiveCluster
from harness.cluster.traces import traces
from harness.model.errors import ClusterError
from harness.run.faults import healing
from harness.spec.cluster import ClusterSpec
from tests.support.builders.views import quiet, seen, state, view
from tests.support.fake_cluster import FakeCluster, context
from tests.support.fake_nodes import Whole

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_CHAOS_STATE", str(tmp_path))
    return tmp_path


def opened(cluster: FakeCluster, spec: Kill | Pause, tag: str, at: int, beside: tuple[str, ...] = ()) -> None:
    """What a harness leaves that dies after it has injected."""
    injection = spec.aim(context(cluster))
    injection.apply(context(cluster))
    state_records.open_fault(
        "kc-1",
        state_records.OpenFaultRecord(
            name=f"{spec.name()}-1",
            kind=spec.name(),
            topic="t",
            session_seconds=-29.7,
            tag=tag,
            opened_ns=at,
            injection=injection.model_dump(mode="json"),
            beside=beside,
        ),
    )


def test_a_clean_cluster_has_no_traces() -> None:
    assert traces(cast(LiveCluster, Whole([quiet()]))) == []


def test_every_trace_is_reported() -> None:
    rule = "rule: -A INPUT -s 10.0.0.2/32 -m comment --comment kafka-chaos-1 -j DROP"
    cluster = Whole([quiet()], dead={3}, frozen={2}, prints={1: f"{rule}\nqdisc: qdisc htb 1: dev eth0\n"})
    found = traces(cast(LiveCluster, cluster))
    assert len(found) == 4
    for word in ("broker-1 still has a rule", "htb", "broker-2 is still frozen", "broker-3 does not run"):
        assert word in " ".join(found)


def test_recorded_faults_are_healed_the_last_first_and_forgotten() -> None:
    cluster = Whole([quiet()])
    opened(cluster, Kill(target=Leader(leader=0)), "tag-1", 1)
    opened(cluster, Pause(target=Leader(leader=0)), "tag-2", 2)
    assert (cluster.dead, cluster.frozen) == ({1}, {1})
    healed = healing.heal_cluster(cast(LiveCluster, cluster))
    assert healed.clean, healed
    assert [what.split(":")[0] for what in healed.healed] == ["pause-1", "kill-1"]
    assert (cluster.dead, cluster.frozen) == (set(), set())
    assert state_records.open_faults("kc-1") == []
    assert healing.heal_cluster(cast(LiveCluster, cluster)).healed == ()


def test_the_topics_of_all_arms_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Whole([quiet()])
    opened(cluster, Kill(target=Leader(leader=0)), "tag-1", 1, beside=("t", "late"))
    monkeypatch.setattr("faults.shared.waiting.REJOIN_SECONDS", 0.2)
    behind = (state(topic="t"), state(topic="late", isr=(2, 3)))
    cluster.views = [view(*(seen(number, *behind) for number in (1, 2, 3)))]
    (failure,) = healing.heal_cluster(cast(LiveCluster, cluster)).failures
    assert "broker [1] is not in the ISR of late-0" in failure
    assert len(state_records.open_faults("kc-1")) == 1


def test_an_unknown_kind_is_reported_and_its_record_kept() -> None:
    state_records.open_fault(
        "kc-1",
        state_records.OpenFaultRecord(
            name="flood-1", kind="flood", topic="t", session_seconds=1, tag="x", opened_ns=1, injection={}
        ),
    )
    healed = healing.heal_cluster(cast(LiveCluster, Whole([quiet()])))
    assert not healed.clean
    assert "no fault is called 'flood'" in healed.failures[0]
    assert len(state_records.open_faults("kc-1")) == 1


class Engine:
    """An engine that holds no containers."""

    class containers:
        @staticmethod
        def list(**_: Any) -> list[Any]:
            return []


def cluster_record(name: str, owner: str) -> state_records.ClusterRecord:
    return state_records.ClusterRecord(
        name=name,
        owner=owner,
        spec=ClusterSpec(),
        cluster_id="x",
        ports=(1, 2, 3),
        addresses={1: "10.0.0.1"},
        client_address="10.0.0.254",
    )


def test_only_clusters_of_harnesses_that_have_ended_are_healed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, owner in (("kc-dead", "here/1/1"), ("kc-alive", "here/2/2")):
        (folder / name).mkdir()
        (folder / name / "cluster.json").write_text(cluster_record(name, owner).model_dump_json())
    monkeypatch.setattr("harness.model.host.processes.owner_has_ended", lambda label: label == "here/1/1")
    monkeypatch.setattr("harness.cluster.running_cluster.attach", lambda client, record: None)  # noqa: ARG005
    client = cast(Any, Engine)
    assert [one.name for one in healing.heal_recorded(client)] == ["kc-dead"]
    assert [one.name for one in state_records.recorded_clusters()] == ["kc-alive"], "its containers were gone"
    assert [one.name for one in healing.heal_recorded(client, cluster="kc-alive")] == ["kc-alive"]


def test_a_cluster_without_a_record_is_refused() -> None:
    with pytest.raises(ClusterError, match="no record of this cluster"):
        healing.heal_recorded(cast(Any, Engine), cluster="kc-none")


def test_a_record_that_cannot_be_read_is_one_clear_error_and_can_be_swept(folder: Path) -> None:
    (folder / "kc-bad").mkdir()
    (folder / "kc-bad" / "cluster.json").write_text("{}")
    with pytest.raises(ClusterError, match="cannot be read"):
        list(state_records.recorded_clusters())
    state_records.prune(cast(Any, Engine))
    assert list(state_records.recorded_clusters()) == []


@pytest.mark.parametrize(
    ("done", "words"),
    [
        ([], "nothing to heal"),
        ([healing.HealedCluster("kc-1", gone=True)], "containers are gone"),
        ([healing.HealedCluster("kc-1")], "clean, nothing was open"),
        ([healing.HealedCluster("kc-1", healed=("kill-1: back",))], "healed kill-1"),
        ([healing.HealedCluster("kc-1", failures=("kill-1 was undone, but",))], "kill-1 was undone"),
    ],
)
def test_the_results_in_words(done: list[healing.HealedCluster], words: str) -> None:
    assert words in "\n".join(healing.summary_lines(done))
