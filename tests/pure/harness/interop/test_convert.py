"""Files of other chaos tools: recognised by name, and converted into experiments that `plan` accepts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cli.app import main
from harness.config.other_files import _table, recognised
from harness.interop.conversion.convert import CONVERTERS, convert
from harness.interop.conversion.draft import Draft, table
from harness.model.errors import BadInput
from harness.spec import run_plan
from harness.spec.experiment_files import EXPERIMENT, parse
from harness.spec.steps import Write
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

CASES = ROOT / "tests/support/cases"
EVERYTHING = {"any": [{"all": True}, "controllers", "client"]}
FOREVER = "lasts 30 s: the file does not say when it ends"
FIVE = "lasts 5 s: the file does not say when it ends"
BY_NUMBER = "pods are brokers by their numbers: pod 0 is broker 1 here, and so on"


def pods(**more: Any) -> dict[str, Any]:
    return {"mode": "one", "selector": {"labelSelectors": {"app": "kafka"}}, **more}


def mesh(kind: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "mine", "namespace": "kafka"}
    return {"apiVersion": "chaos-mesh.org/v1alpha1", "kind": kind, "metadata": metadata, "spec": pods(**spec)}


def engine(name: str, **env: str) -> dict[str, Any]:
    listed = [{"name": key, "value": value} for key, value in env.items()]
    experiment = {"name": name, "spec": {"components": {"env": listed}}}
    spec = {"appinfo": {"appns": "kafka", "applabel": "app=kafka"}, "experiments": [experiment]}
    return {"apiVersion": "litmuschaos.io/v1alpha1", "kind": "ChaosEngine", "spec": spec}


def task(kind: str, **fields: Any) -> dict[str, Any]:
    return {"class": f"org.apache.kafka.trogdor.fault.{kind}", "durationMs": 20000, **fields}


def action(path: str, arguments: Any, **more: Any) -> dict[str, Any]:
    provider = {"type": "process", "path": path, "arguments": arguments}
    return {"type": "action", "name": "x", "provider": provider, **more}


def driver(func: str, **arguments: Any) -> dict[str, Any]:
    return {
        "type": "action",
        "name": "x",
        "provider": {"type": "python", "func": func, "arguments": arguments},
    }


def converted(tmp_path: Path, *documents: Any) -> Draft:
    path = tmp_path / "theirs.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return convert(path)


def faults_of(draft: Draft) -> list[tuple[Any, float, float]]:
    """Each fault with when it begins and how long it lasts, of an experiment that can be planned."""
    experiment = parse(draft.text(), "made.yaml")
    assert "&id" not in draft.text()
    assert list(run_plan.lines(run_plan.plan_of(experiment, 1)))
    (step,) = experiment.steps
    assert isinstance(step.action, Write)
    written = yaml.safe_load(draft.text())["steps"][0]["write"]
    assert max(one.get("at", 0) + one["for"] for one in written["faults"]) < written["seconds"]
    return [(one["fault"], one.get("at", one.get("from")), one["for"]) for one in written["faults"]]


EXACT: list[tuple[dict[str, Any], Any, float]] = [
    (mesh("NetworkChaos", action="partition", direction="both", duration="2m"),
     {"partition": {"from": {"random": 1}, "to": EVERYTHING}}, 120),
    (mesh("NetworkChaos", action="partition", duration="1m30s", target=pods(mode="all")),
     {"partition": {"from": {"random": 1}, "to": {"all": True}, "lost": "from_to"}}, 90),
    (mesh("NetworkChaos", action="partition", duration="9s", direction="from", target=pods(mode="all")),
     {"partition": {"from": {"random": 1}, "to": {"all": True}, "lost": "to_from"}}, 9),
    (mesh("NetworkChaos", action="loss", duration="10s", loss={"loss": "25", "correlation": "0"}),
     {"loss": {"target": {"random": 1}, "percent": 25.0}}, 10),
    (mesh("NetworkChaos", action="loss", duration="10s", loss={"loss": "100"}),
     {"partition": {"from": {"random": 1}, "to": EVERYTHING, "lost": "from_to"}}, 10),
    (mesh("NetworkChaos", action="delay", duration="500ms", delay={"latency": "90ms"}),
     {"latency": {"target": {"random": 1}, "delay_ms": 90.0}}, 1),
    (mesh("NetworkChaos", action="delay", duration="10s", delay={"latency": "1s", "jitter": "20ms"}),
     {"jitter": {"target": {"random": 1}, "delay_ms": 1000.0, "spread_ms": 20.0}}, 10),
    (mesh("NetworkChaos", action="delay", duration="10s",
          delay={"latency": "50ms", "reorder": {"reorder": "25", "gap": 1}}),
     {"reorder": {"target": {"random": 1}, "percent": 25.0, "delay_ms": 50.0}}, 10),
    (mesh("NetworkChaos", action="corrupt", duration="10s", corrupt={"corrupt": "40"}),
     {"corrupt_packets": {"target": {"random": 1}, "percent": 40.0}}, 10),
    (mesh("NetworkChaos", action="duplicate", duration="10s", mode="fixed", value="2",
          duplicate={"duplicate": "40"}),
     {"duplicate_packets": {"target": {"random": 2}, "percent": 40.0}}, 10),
    (mesh("NetworkChaos", action="bandwidth", duration="10s",
          bandwidth={"rate": "1mbps", "limit": 1, "buffer": 1}),
     {"bandwidth": {"target": {"random": 1}, "rate": "8000kbit"}}, 10),
    (mesh("PodChaos", action="pod-failure", duration="30s", mode="all"),
     {"stop": {"target": {"all": True}}}, 30),
    (mesh("TimeChaos", timeOffset="-10m", duration="30s"),
     {"clock_skew": {"target": {"random": 1}, "seconds": -600.0}}, 30),
    (engine("pod-network-latency", NETWORK_LATENCY="300", TOTAL_CHAOS_DURATION="40"),
     {"latency": {"target": {"random": 1}, "delay_ms": 300.0}}, 40),
    (engine("pod-network-loss"),
     {"partition": {"from": {"random": 1}, "to": EVERYTHING, "lost": "from_to"}}, 60),
    (engine("pod-network-partition"), {"partition": {"from": {"random": 1}, "to": EVERYTHING}}, 60),
    (engine("pod-network-rate-limit", NETWORK_BANDWIDTH="2mbit"),
     {"bandwidth": {"target": {"random": 1}, "rate": "2000kbit"}}, 60),
]  # fmt: skip
"""A document, the fault that does exactly the same, and the number of seconds that it lasts."""


@pytest.mark.parametrize(("document", "fault", "seconds"), EXACT)
def test_what_is_the_same(document: dict[str, Any], fault: Any, seconds: float, tmp_path: Path) -> None:
    draft = converted(tmp_path, document)
    assert faults_of(draft) == [(fault, 2.0, seconds)]
    assert draft.notes == []
    assert "not the same" not in draft.text()


INEXACT: list[tuple[dict[str, Any], list[Any], list[str]]] = [
    (mesh("PodChaos", action="pod-kill"), [{"kill": {"target": {"random": 1}}}], [f"`kill` {FIVE}"]),
    (mesh("PodChaos", action="pod-kill", gracePeriod=30),
     [{"stop": {"target": {"random": 1}}}], [f"`stop` {FIVE}"]),
    (mesh("NetworkChaos", action="partition"),
     [{"partition": {"from": {"random": 1}, "to": EVERYTHING, "lost": "from_to"}}],
     [f"`partition` {FOREVER}"]),
    (mesh("NetworkChaos", action="partition", target=pods(), duration="9s"),
     [{"partition": {"from": {"leader": 0}, "to": {"some": {"of": {"followers": 0}, "count": 1}},
                     "lost": "from_to"}}],
     ["one side is the leader of partition 0, the other a follower: draws could be the same broker"]),
    (mesh("NetworkChaos", action="loss", duration="9s", mode="fixed-percent", value="50",
          loss={"loss": "30", "correlation": "25"}),
     [{"loss": {"target": {"random": 1}, "percent": 30.0}}],
     ["50 % of the pods are 1 of 3 brokers",
      "`correlation` is left out: what becomes of a packet does not depend on the one before"]),
    (mesh("NetworkChaos", action="delay", duration="9s", delay={"latency": "10s"}),
     [{"latency": {"target": {"random": 1}, "delay_ms": 5000}}],
     ["`delay_ms` of `latency` is 5000 instead of 10000, the greatest value here"]),
    (mesh("NetworkChaos", action="netem", duration="9s", delay={"latency": "9ms"}, loss={"loss": "9"}),
     [{"latency": {"target": {"random": 1}, "delay_ms": 9.0}}],
     ["loss is left out: the file becomes one fault"]),
    (mesh("StressChaos", stressors={"cpu": {"workers": 2, "load": 90}}, duration="9s"),
     [{"cpu_limit": {"target": {"random": 1}, "cpus": 0.5}}], [table("acts")["cpu"]["note"]]),
    (mesh("IOChaos", action="latency", delay="10ms", duration="9s", volumePath="/data"),
     [{"slow_disk": {"target": {"random": 1}, "iops": 100}}], [table("acts")["slow-disk"]["note"]]),
    (mesh("IOChaos", action="fault", errno=28, duration="9s", volumePath="/data"),
     [{"disk_full": {"target": {"random": 1}}}], [table("acts")["full"]["note"]]),
    (mesh("PodChaos", action="pod-failure", duration="9s",
          selector={"pods": {"kafka": ["shop-kafka-0", "shop-kafka-4"]}}, mode="all"),
     [{"stop": {"target": {"nodes": [1, 5]}}}], [BY_NUMBER]),
    (mesh("PodChaos", action="pod-failure", duration="9s",
          selector={"labelSelectors": {"strimzi.io/controller-role": "true"}}),
     [{"stop": {"target": "controllers"}}],
     ["pods of controllers (or of ZooKeeper) become all controllers of the cluster"]),
    (mesh("PodChaos", action="pod-failure", duration="9s", selector={"labelSelectors": {"app": "shop"}}),
     [{"stop": {"target": {"random": 1}}}],
     ["nothing in the selector says that its pods are brokers of Kafka: brokers are meant here"]),
    (engine("kafka-broker-pod-failure", KAFKA_BROKER="kafka-2", FORCE="false", CHAOS_INTERVAL="40"),
     [{"stop": {"target": {"broker": 3}}}], [BY_NUMBER, f"`stop` {FIVE}"]),
    (engine("pod-network-corruption"), [{"corrupt_packets": {"target": {"random": 1}, "percent": 99.5}}],
     ["`percent` of `corrupt_packets` is 99.5 instead of 100, the greatest value here"]),
    (task("ProcessStopFaultSpec", nodeNames=["node-7"], javaProcessName="kafka.Kafka"),
     [{"pause": {"target": {"broker": 1}}}],
     ["node-7 is broker 1", "`startMs` is a time of day: the fault begins soon after the first record"]),
    (task("NetworkPartitionFaultSpec", partitions=[["b10"], ["b9"], ["b2"]]),
     [{"partition": {"from": {"broker": 3}, "to": {"broker": 2}}},
      {"partition": {"from": {"broker": 3}, "to": {"broker": 1}}},
      {"partition": {"from": {"broker": 2}, "to": {"broker": 1}}}],
     ["controllers are nodes of their own, and reach all brokers",
      "b2 is broker 1, b9 is broker 2, b10 is broker 3",
      "`startMs` is a time of day: the fault begins soon after the first record"]),
    (task("DegradedNetworkFaultSpec", nodeSpecs={"n1": {"latencyMs": 100}, "n2": {"rateLimitKbit": 512}}),
     [{"jitter": {"target": {"broker": 1}, "delay_ms": 100.0, "spread_ms": 10.0}},
      {"bandwidth": {"target": {"broker": 2}, "rate": "512kbit"}}],
     ["n1 is broker 1, n2 is broker 2",
      "`startMs` is a time of day: the fault begins soon after the first record"]),
]  # fmt: skip
"""A document, the faults that do something like it, and what is said of the difference."""


@pytest.mark.parametrize(("document", "faults", "notes"), INEXACT)
def test_what_is_not_the_same_is_said(
    document: dict[str, Any], faults: list[Any], notes: list[str], tmp_path: Path
) -> None:
    draft = converted(tmp_path, document)
    assert [fault for fault, _, _ in faults_of(draft)] == faults
    assert draft.notes == notes
    comments = [line for line in draft.text().splitlines() if line.startswith("# - ")]
    assert comments == [f"# - {note}" for note in notes]


def test_a_schedule_is_repeated_and_a_cron_is_not(tmp_path: Path) -> None:
    kill = pods(action="pod-kill")
    schedule = {"schedule": "@every 1m", "type": "PodChaos", "podChaos": kill}
    document = {**mesh("Schedule"), "spec": schedule}
    (entry,) = converted(tmp_path, document).entries
    assert (entry["from"], entry["every"], entry["times"], entry["for"]) == (2.0, 60.0, 3, 5)
    often = converted(tmp_path, {**document, "spec": {**schedule, "schedule": "@every 4s"}})
    assert (often.entries[0]["every"], often.entries[0]["for"]) == (4.0, 2.0)
    assert any("has to end before the next one begins" in note for note in often.notes)
    cron = converted(tmp_path, {**document, "spec": {**schedule, "schedule": "*/5 * * * *"}})
    assert "every" not in cron.entries[0]
    assert any("'*/5 * * * *' names times of day: the fault happens once" in note for note in cron.notes)
    old = mesh("PodChaos", action="pod-kill", scheduler={"cron": "@every 30s"})
    assert converted(tmp_path, old).entries[0]["every"] == 30
    for draft in (often, cron):
        assert faults_of(draft)


CHAOS_TOOLKIT: dict[str, Any] = {
    "title": "What if brokers go?",
    "configuration": {"ids": ["2"], "rest": 20},
    "method": [
        action("docker", "kill kafka-1", pauses={"after": 12}),
        {"type": "probe", "name": "well", "provider": {"type": "http", "url": "http://shop"}},
        action("docker", ["start", "kafka-1"], pauses={"after": "${rest}"}),
        action("kubectl", "delete pod shop-kafka-0 --grace-period=0 --force", pauses={"after": 30}),
        driver("reboot_msk_broker", broker_ids="${ids}"),
        driver("terminate_pods", label_selector="app=kafka", qty=2, grace_period=0),
        driver("terminate_pods", name_pattern="kafka-2$"),
        driver("stop_vm"),
    ],
    "rollbacks": [action("docker", {"pause": "broker-3"}, pauses={"before": 40})],
}


def test_actions_of_the_chaos_toolkit_happen_at_the_times_of_their_pauses(tmp_path: Path) -> None:
    draft = converted(tmp_path, CHAOS_TOOLKIT)
    assert faults_of(draft) == [
        ({"kill": {"target": {"broker": 1}}}, 2.0, 12.0),
        ({"kill": {"target": {"broker": 1}}}, 34.0, 5.0),
        ({"restart": {"target": {"broker": 2}}}, 64.0, 5.0),
        ({"kill": {"target": {"random": 2}}}, 64.0, 5.0),
        ({"stop": {"target": {"broker": 3}}}, 64.0, 5.0),
        ({"pause": {"target": {"broker": 3}}}, 104.0, 5.0),
    ]
    assert draft.notes == [
        "probes are left out: what becomes of the records is judged",
        "the action 'x' is left out: it is not known",
        "a fault that no later action ends lasts 5 s",
    ]
    assert parse(draft.text(), "made.yaml").name == "what-if-brokers-go"


def test_documents_one_after_the_other_with_windows_line_ends_and_a_bom(tmp_path: Path) -> None:
    path = tmp_path / "several.yaml"
    documents = [
        mesh("PodChaos", action="pod-failure", duration="30s"),
        {"apiVersion": "v1", "kind": "ConfigMap"},
        mesh("NetworkChaos", action="partition", duration="10s", direction="both"),
    ]
    text = "# ours\n---\n" + yaml.safe_dump_all(documents)
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    draft = convert(path)
    assert [(next(iter(fault)), at) for fault, at, _ in faults_of(draft)] == [
        ("stop", 2.0),
        ("partition", 37.0),
    ]
    assert draft.notes == [
        "the faults of several documents come one after the other, and not at once",
        "1 document(s) without such a fault are left out",
    ]
    assert "a PodChaos of Chaos Mesh and a NetworkChaos of Chaos Mesh" in draft.text()


def test_lines_of_comment_that_trogdor_allows(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    path.write_text('// a task\n{\n  // its class\n  "class": "org.apache.kafka.trogdor.fault.'
                    'ProcessStopFaultSpec", "nodeNames": ["n1"]\n}\n')  # fmt: skip
    assert faults_of(convert(path)) == [({"pause": {"target": {"broker": 1}}}, 2.0, 30.0)]


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (mesh("HTTPChaos", action="x"), "an HTTPChaos of Chaos Mesh"),
        (mesh("Workflow"), "a Workflow of Chaos Mesh"),
        (mesh("IOChaos", action="fault", errno=5), "the action 'fault 5' of IOChaos"),
        (mesh("StressChaos", stressors={"memory": {"workers": 1}}), "the action 'memory' of StressChaos"),
        (mesh("NetworkChaos", action="delay", delay={"latency": "soon"}), "'soon' in place of a number"),
        (mesh("NetworkChaos", action="loss"), "no values, or no target"),
        (
            mesh("NetworkChaos", action="loss", direction="from", loss={"loss": "9"}),
            "no target of the direction",
        ),
        (mesh("NetworkChaos", action="bandwidth", bandwidth={"rate": "fast"}), "the rate 'fast'"),
        (mesh("PodChaos", action="pod-kill", mode="fixed", value="99"), "a cluster has 1 to 20 here"),
        (engine("node-drain"), "the experiment node-drain"),
        ({**engine("x"), "kind": "ChaosResult"}, "a ChaosResult of Litmus"),
        ({**engine("x"), "spec": {}}, "no `experiments`"),
        (task("FilesUnreadableFaultSpec"), "a FilesUnreadableFaultSpec of Trogdor"),
        (task("NetworkPartitionFaultSpec"), "NetworkPartitionFaultSpec without nodes"),
        ({"title": "t", "method": [driver("stop_vm")]}, "no action on brokers that is known"),
        ({"apiVersion": "v1", "kind": "Pod"}, "a Pod of Kubernetes"),
        ({"services": {}}, "a Compose file"),
    ],
)
def test_what_has_no_equal_is_refused_with_a_page(
    document: dict[str, Any], found: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="cannot be converted") as refused:
        converted(tmp_path, document)
    assert found in str(refused.value.found)
    assert "docs/how-to/convert.md" in str(refused.value.next_step)


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: b", "{", "name: x\ntitle: y"])
def test_what_is_no_file_of_a_tool(text: str, tmp_path: Path) -> None:
    path = tmp_path / "theirs.yaml"
    path.write_text(text)
    with pytest.raises(BadInput):
        convert(path)
    with pytest.raises(BadInput, match="cannot be read"):
        convert(tmp_path / "none.yaml")


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    monkeypatch.setattr(sys, "argv", ["kafka-chaos", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code


@pytest.mark.parametrize("command", ["plan", "run", "matrix"])
@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("y1-networkchaos.yaml", "this is a NetworkChaos of Chaos Mesh, not a"),
        ("y3-trogdor.json", "this is a NetworkPartitionFaultSpec of Trogdor, not a"),
    ],
)
def test_a_file_given_to_another_command_is_named(
    command: str, file: str, what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, command, str(CASES / file)) == 2
    told = capsys.readouterr().err
    assert what in told
    assert f"`kafka-chaos convert {CASES / file}` prints it as an experiment" in told
    assert "kafka-chaos experiments --show cut-then-kill" in told
    assert len(told.splitlines()) == 3


def test_the_command_prints_the_file_and_what_is_not_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call(monkeypatch, "convert", str(CASES / "y3-trogdor.json")) == 0
    printed = capsys.readouterr()
    path = tmp_path / "mine.yaml"
    path.write_text(printed.out)
    assert "not the same: node-1 is broker 1, node-2 is broker 2, node-3 is broker 3\n" in printed.err
    assert call(monkeypatch, "plan", str(path)) == 0
    assert "partition from nodes: [1, 2], to broker: 3" in capsys.readouterr().out
    assert call(monkeypatch, "convert", str(CASES / "y1-networkchaos.yaml")) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert parse(printed.out, "made.yaml").name == "cut-one-broker"
    assert call(monkeypatch, "convert", str(ROOT / "harness/experiments/storm.yaml")) == 2
    assert "found:    an experiment" in capsys.readouterr().err


def test_the_table_of_tools_names_what_there_is() -> None:
    rows = [row for row in _table() if "folder" not in row]
    assert {row["convert"] for row in rows if "convert" in row} == set(CONVERTERS)
    (chaos_mesh,) = (row for row in rows if row.get("convert") == "chaos_mesh")
    assert {*table("Chaos Mesh"), "Schedule"} == set(chaos_mesh["only"])
    acts = {*table("acts"), "network"}
    named = {act for kind in table("Chaos Mesh").values() for act in kind.values()}
    assert named | {row["act"] for row in table("Litmus").values()} <= acts
    for row in rows:
        for names in row.get("like", {}).values():
            assert set(names.values()) <= set(EXPERIMENT.builtin_names())
    redpanda = {"scenario": "s", "workload": {}, "fault": {"name": "pause_leader"}}
    found = recognised(redpanda, "f.json")
    assert found is not None
    assert found.what == "a test of Redpanda's chaos suite"
    assert "kafka-chaos experiments --show standard" in found.next_step
    assert found.converter is None
