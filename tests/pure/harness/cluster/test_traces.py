"""Each kind of thing that a fault can leave is found and named with what to do; what is lawful is not."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import cast

import pytest

from faults.shared.fault_spec import KINDS
from harness.cluster import trace_kinds
from harness.cluster.containers.exec import ContainerOutput
from harness.cluster.live import LiveCluster
from harness.cluster.traces import baseline, parse, script_of, traces
from harness.model.errors import ClusterError
from harness.model.node_layout import DATA_DIR
from harness.model.request_rules import RequestRule
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeProxies
from tests.support.fake_nodes import Whole

pytestmark = pytest.mark.pure

WAY, ETH = "route: eth0 0001 000012AC 0000FFFF 00000000", "interface: eth0 up mtu 1500"
CPU, MEMORY = "limit: cpu.max max 100000", "limit: memory.max max"
CLEAN = "\n".join([WAY, ETH, CPU, MEMORY, ""])
"""What a node prints that nothing was done to."""
SHELLS = [shell for shell in ("sh", "bash", "dash", "busybox") if shutil.which(shell)]


def cluster(node: str = CLEAN, network: str = "") -> Whole:
    """Three brokers, of which the second prints this; the baseline was taken when all were clean."""
    whole = Whole([quiet()], inside={1: CLEAN, 2: CLEAN, 3: CLEAN})
    whole.baseline = baseline(cast(LiveCluster, whole))
    whole.inside[2], whole.prints = node, {2: network}
    return whole


def found(whole: Whole) -> list[str]:
    return traces(cast(LiveCluster, whole))


def only(whole: Whole) -> str:
    (trace,) = found(whole)
    return trace


def script_part(name: str) -> str:
    """The part of the script that reads a kind."""
    return next(kind.script for kind in trace_kinds.SCRIPTED if kind.name == name)


def ran(shell: str, script: str) -> list[str]:
    command = ["busybox", "sh"] if shell == "busybox" else [shell]
    done = subprocess.run(
        [*command, "-c", f"{script}\ntrue"], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.splitlines()


def test_nodes_as_they_were_when_the_cluster_started_are_clean() -> None:
    assert found(cluster()) == []


def test_a_node_costs_one_command_inside_and_one_in_its_network() -> None:
    whole = cluster()
    whole.looks.clear()
    assert found(whole) == []
    assert sorted(whole.looks) == [(node, place) for node in (1, 2, 3) for place in ("network", "node")]


@pytest.mark.parametrize(
    ("kind", "printed", "words"),
    [
        ("rule", "rule: -A INPUT -j DROP", ("a rule: -A INPUT -j DROP", "no firewall rule", "restart")),
        ("qdisc", "qdisc: qdisc htb 4b43: dev eth0 root", ("a qdisc: qdisc htb 4b43", "default", "restart")),
        (
            "routing rule",
            "routing rule: 77: from all unreachable",
            ("a routing rule: 77: from all unreachable", "tables local, main and default", "ip rule del"),
        ),
    ],
)
def test_a_trace_in_the_network_namespace(kind: str, printed: str, words: tuple[str, ...]) -> None:
    trace = only(cluster(network=f"{printed}\n"))
    assert trace.startswith("broker-2 still has "), kind
    for word in (*words, "; expected: ", "; next: "):
        assert word in trace


@pytest.mark.parametrize(
    ("kind", "node", "words"),
    [
        (
            "stopped process",
            f"{CLEAN}stopped process: 99 (sleep)\n",
            ("has a stopped process: 99 (sleep)", "every process runs", "kill -CONT"),
        ),
        (
            "file",
            f"{CLEAN}file: {DATA_DIR}/.kafka-chaos-1-disk_full-1.ballast\n",
            (f"has a file: {DATA_DIR}/.kafka-chaos-1-disk_full-1.ballast", "declares to leave", "delete it"),
        ),
        (
            "host name",
            f"{CLEAN}host name: 192.0.2.1 broker-1 # kafka-chaos-1-dns-1/\n",
            (
                "has a host name: 192.0.2.1 broker-1",
                "no line of a fault in the hosts file",
                "delete the line",
            ),
        ),
        (
            "clock offset",
            f"{CLEAN}clock offset: +3600.000 s\n",
            ("has a clock offset: +3600.000 s", "the true time", "write +0"),
        ),
        (
            "route",
            f"{CLEAN}route: * 0001 0009090A 00FFFFFF 00000000\n",
            ("has a route: 10.9.9.0/24 blackhole", "as when the cluster was started", "ip route"),
        ),
        (
            "interface",
            CLEAN.replace("eth0 up", "eth0 down"),
            ("has an interface: eth0 down mtu 1500", "expected: eth0 up mtu 1500, as when", "ip link"),
        ),
        (
            "limit",
            CLEAN.replace("cpu.max max", "cpu.max 20000"),
            ("has a limit: cpu.max 20000 100000", "expected: cpu.max max 100000, as when", "docker update"),
        ),
    ],
)
def test_a_trace_inside_a_node(kind: str, node: str, words: tuple[str, ...]) -> None:
    trace = only(cluster(node))
    assert trace.startswith("broker-2 still "), kind
    for word in (*words, "; expected: ", "; next: "):
        assert word in trace


def test_a_dynamic_setting() -> None:
    whole = cluster()
    whole.settings[3] = ("leader.replication.throttled.rate=1000",)
    trace = only(whole)
    assert trace.startswith("broker-3 still has a dynamic setting: leader.replication.throttled.rate=1000; ")
    assert "kafka-configs.sh" in trace


def test_a_dynamic_setting_that_was_there_when_the_cluster_was_connected_to() -> None:
    whole = cluster()
    whole.settings[3] = whole.baseline[3]["dynamic setting"] = ("log.cleaner.threads=2",)
    assert found(whole) == []
    whole.settings[3] = ("log.cleaner.threads=4",)
    assert "log.cleaner.threads=4; expected: log.cleaner.threads=2, as when" in only(whole)
    whole.settings[3] = ()
    assert only(whole).startswith("broker-3 still lacks a dynamic setting: log.cleaner.threads=2; ")


def test_a_client_quota() -> None:
    whole = cluster()
    whole.quotas[3] = ("producer_byte_rate=1000 for client-id <default>",)
    trace = only(whole)
    assert trace.startswith(
        "broker-3 still has a client quota: producer_byte_rate=1000 for client-id <default>; "
    )
    assert "kafka-configs.sh" in trace
    whole.quotas[3] = whole.baseline[3]["client quota"] = ("producer_byte_rate=1 for user alice",)
    assert found(whole) == []


def test_a_rule_of_access() -> None:
    whole = cluster()
    whole.rules[3] = ("deny User:a write on topic t",)
    trace = only(whole)
    assert trace.startswith("broker-3 still has an access rule: deny User:a write on topic t; ")
    assert "kafka-acls.sh" in trace


def test_a_reassignment_under_way() -> None:
    whole = cluster()
    whole.moves = ("t-0, adding [3], removing []",)
    trace = only(whole)
    assert trace.startswith("kc-1 still has a reassignment under way: t-0, adding [3], removing []; ")
    assert "--cancel" in trace


def test_a_container_beside_the_nodes() -> None:
    whole = cluster()
    whole.beside = ("busy_sammet: sleep 1000",)
    trace = only(whole)
    assert trace.startswith("kc-1 still has a running container: busy_sammet: sleep 1000; ")
    assert "docker rm" in trace


def test_a_rule_that_a_proxy_still_has() -> None:
    whole = cluster()
    whole.proxies = FakeProxies()
    assert found(whole) == []
    whole.proxies.add(RequestRule(id="kafka-chaos-1-requests-1", action="drop"))
    trace = only(whole)
    assert trace.startswith("kc-1 still has a rule of a proxy: kafka-chaos-1-requests-1 at node 1; ")
    assert "kafka-chaos heal" in trace


def test_every_kind_of_the_table_has_a_test_here() -> None:
    kinds = {kind.name for kind in (*trace_kinds.SCRIPTED, *trace_kinds.ASKED)}
    assert kinds == {
        "rule", "qdisc", "routing rule", "stopped process", "file", "host name", "clock offset", "route",
        "interface", "limit", "dynamic setting", "client quota", "access rule", "reassignment under way",
        "rule of a proxy",
        "running container",
    }, "a new kind gets a test, and its name here"  # fmt: skip


def test_what_was_there_and_is_gone_is_named_too() -> None:
    trace = only(cluster(CLEAN.replace(f"{WAY}\n", "")))
    assert trace.startswith("broker-2 still lacks a route: 172.18.0.0/16 dev eth0; ")


def test_a_memory_limit_that_was_raised_as_far_as_the_engine_can_is_none() -> None:
    assert found(cluster(CLEAN.replace(MEMORY, f"limit: memory.max {2**62}"))) == []
    assert "memory.max 629145600" in only(cluster(CLEAN.replace(MEMORY, "limit: memory.max 629145600")))


def test_a_node_without_a_baseline_is_not_compared() -> None:
    whole = cluster(CLEAN.replace("cpu.max max", "cpu.max 20000"))
    del whole.baseline[2]
    assert found(whole) == []


def test_a_note_that_a_fault_declares_to_leave_is_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    note = "/mnt/shared/config/.kafka-chaos-1-power_loss-1"
    whole = cluster(f"{CLEAN}file: {note}.plan\nfile: {note}.done\n")
    assert found(whole) == []
    for kind in ("power_loss", "corrupt_segment", "wipe_disk"):
        monkeypatch.setattr(KINDS[kind], "leaves", {})
    assert len(found(whole)) == 2, "without the declaration they are"


def test_a_note_that_was_cut_off_is_a_trace() -> None:
    note = "/mnt/shared/config/.kafka-chaos-1-power_loss-1.plan.new"
    assert note in only(cluster(f"{CLEAN}file: {note}\n"))


def test_a_frozen_node_is_not_entered() -> None:
    whole = cluster(network="rule: -A INPUT -j DROP\n")
    whole.frozen, whole.looks = {2}, []
    assert [trace[:24] for trace in found(whole)] == ["broker-2 is still frozen", "broker-2 still has a rul"]
    assert [place for node, place in whole.looks if node == 2] == ["network"]


def test_a_script_that_fails_is_no_clean_node() -> None:
    whole = cluster()
    whole.exits = 126
    assert len(found(whole)) == 6
    assert all("could not be inspected" in trace and "exit code 126" in trace for trace in found(whole))


def test_a_broker_that_does_not_tell_its_settings_is_no_clean_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(_: int) -> tuple[str, ...]:
        raise ClusterError("a broker's settings could not be read", found="refused")

    whole = cluster()
    monkeypatch.setattr(whole, "dynamic_settings", silent)
    assert [trace.partition(":")[0] for trace in found(whole)] == [
        f"broker-{number} could not be inspected" for number in (1, 2, 3)
    ]


def test_what_cannot_be_read_at_the_start_is_not_in_the_baseline() -> None:
    whole = Whole([quiet()], exits=127)
    told = baseline(cast(LiveCluster, whole))
    scripted = {kind.name for kind in trace_kinds.SCRIPTED}
    assert [number for number, things in told.items() if scripted & set(things)] == []
    assert sorted(told) == [1, 2, 3]


def test_a_script_that_was_cut_off_is_an_error() -> None:
    with pytest.raises(ClusterError, match="exit code 137"):
        parse("node", ContainerOutput(137, CLEAN))


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_finds_a_stopped_process(shell: str) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            process.send_signal(signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)
            assert f"stopped process: {process.pid} (sleep)" in ran(shell, script_part("stopped process"))
            process.send_signal(signal.SIGCONT)
            os.waitpid(process.pid, os.WCONTINUED)
            assert f"stopped process: {process.pid} (sleep)" not in ran(shell, script_part("stopped process"))
        finally:
            process.kill()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_finds_files_of_faults_only(shell: str, tmp_path: Path) -> None:
    (tmp_path / ".kafka-chaos-1.ballast").touch()
    (tmp_path / "t-0").mkdir()
    script = script_part("file").replace(DATA_DIR, str(tmp_path))
    # The script looks in /tmp too, where others may have files.
    found = [line for line in ran(shell, script) if line.startswith(f"file: {tmp_path}/")]
    assert found == [f"file: {tmp_path}/.kafka-chaos-1.ballast"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("offset", "lines"), [("+0", []), ("+0.000", []), ("-0.000", []), ("-90.500", ["-90.500"])]
)
def test_the_script_tells_a_wrong_clock(shell: str, tmp_path: Path, offset: str, lines: list[str]) -> None:
    (tmp_path / "offset").write_text(f"{offset}\n")
    script = script_part("clock offset").replace("/opt/kafka-chaos/clock", str(tmp_path))
    assert ran(shell, script) == [f"clock offset: {line} s" for line in lines]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_reads_limits_of_both_versions_of_control_groups(shell: str, tmp_path: Path) -> None:
    script = script_part("limit").replace("/sys/fs/cgroup", str(tmp_path))
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("20000\n")
    (tmp_path / "blkio").mkdir()
    (tmp_path / "blkio" / "blkio.throttle.write_bps_device").write_text("8:0 2097152\n8:16 1\n")
    assert ran(shell, script) == [
        "limit: cpu.cfs_quota_us 20000",
        "limit: blkio.throttle.write_bps_device 8:0 2097152",
        "limit: blkio.throttle.write_bps_device 8:16 1",
    ]
    (tmp_path / "cgroup.controllers").touch()
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "io.max").write_text("8:0 rbps=max wbps=2097152 riops=max wiops=max\n")
    assert ran(shell, script) == [
        "limit: cpu.max max 100000",
        "limit: io.max 8:0 rbps=max wbps=2097152 riops=max wiops=max",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_reads_interfaces(shell: str, tmp_path: Path) -> None:
    for name, flags in (("eth0", "0x1003"), ("x0", "0x1002"), ("sit0", "0x80"), ("ip6tnl0", "0x80")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "flags").write_text(f"{flags}\n")
        (tmp_path / name / "mtu").write_text("1500\n")
    (tmp_path / "bonding_masters").touch()
    script = script_part("interface").replace("/sys/class/net", str(tmp_path))
    assert ran(shell, script) == ["interface: eth0 up mtu 1500", "interface: x0 down mtu 1500"]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_reads_routes(shell: str, tmp_path: Path) -> None:
    columns = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT"
    rows = (
        "eth0\t00000000\t010012AC\t0003\t0\t0\t0\t00000000\t0\t0\t0",
        "eth0\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0",
        "*\t0008080A\t00000000\t0201\t0\t0\t0\t00FFFFFF\t0\t0\t0",
        "*\t0009090A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0",
    )
    (tmp_path / "route").write_text("\n".join([columns, *rows, ""]))
    text = "\n".join(ran(shell, script_part("route").replace("/proc/net", str(tmp_path))))
    assert parse("node", ContainerOutput(0, text))["route"] == (
        "0.0.0.0/0 dev eth0 via 172.18.0.1",
        "172.18.0.0/16 dev eth0",
        "10.8.8.0/24 unreachable",
        "10.9.9.0/24 blackhole",
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_the_whole_script_of_a_node_runs_to_its_end(shell: str) -> None:
    printed = "\n".join(ran(shell, script_of("node")))
    assert parse("node", ContainerOutput(0, printed))["interface"]
