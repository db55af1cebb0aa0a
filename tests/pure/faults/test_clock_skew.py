"""A wrong clock: what a stamped log line can prove, and what it cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from faults import clock_skew
from faults.clock_skew import (
    ClockReading,
    ClockShifted,
    ClockSkew,
    logged_seconds,
    probe_script,
    shift_script,
)
from faults.targets import BrokerId, NodeIds
from faults.targets.target_context import ClusterShape
from harness.cluster.containers import node_volumes
from harness.model.errors import FaultError
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, FakeProxies, context

pytestmark = pytest.mark.pure

BROKER = BrokerId(broker=1)
NOW = 1_795_000_000.0


def line(at: float) -> str:
    text = datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"[{text},{int(at % 1 * 1000):03d}] WARN [SocketServer listenerType=BROKER, nodeId=1] Unexpected "
        "error from /127.0.0.1 (channelId=127.0.0.1:9094-127.0.0.1:1-5-0); closing connection (Selector)\n"
        "org.apache.kafka.common.network.InvalidReceiveException: Invalid receive (size = -1)\n"
    )


@dataclass
class Clock(FakeCluster):
    """A node whose clock is off by `shows` seconds once it was shifted at all, and takes `slow` to answer."""

    shows: float = 0.0
    slow: float = 0.01
    has_library: bool = True
    silent: bool = False
    ports: list[str] = field(default_factory=list)

    def in_files(self, number: int, script: str) -> FakeCommandResult:
        self.scripts.append((number, script))
        return FakeCommandResult(0, f"{node_volumes.CLOCK_DIR}/offset" if self.has_library else "")

    def in_network(self, number: int, script: str) -> FakeCommandResult:  # noqa: ARG002
        self.ports.append(script.partition("127.0.0.1/")[2].split()[0])
        return FakeCommandResult(0, f"{int(NOW * 1e9)}\n{int((NOW + self.slow) * 1e9)}\n")

    def log_since(self, number: int, since_ns: int) -> str:  # noqa: ARG002
        return "" if self.silent else line(NOW + self.slow / 2 + self.shows)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_skew, "_SECONDS", 0.1)
    monkeypatch.setattr(clock_skew, "_LOG_SECONDS", 0.05)


def test_both_sides_speak_of_the_same_folder() -> None:
    assert clock_skew.CLOCK_DIR == node_volumes.CLOCK_DIR


@pytest.mark.parametrize(
    ("shows", "slow", "silent", "proof"),
    [
        (60.0, 0.01, False, True),
        (60.0, 20.0, False, True),
        (0.0, 0.01, False, False),
        (59.0, 0.01, False, False),
        (-60.0, 0.01, False, False),
        (60.0, 130.0, False, False),
        (60.0, 0.01, True, False),
    ],
    ids=["as asked", "slow answer", "right", "by less", "other way", "too slow to tell", "silent"],
)
def test_what_proves_a_wrong_clock(shows: float, slow: float, silent: bool, proof: bool) -> None:
    cluster = Clock([quiet()], shows=shows, slow=slow, silent=silent)
    injection = ClockSkew(target=BROKER, seconds=60).aim(context(cluster))
    injection.apply(context(cluster))
    evidence = injection.verify(context(cluster))
    assert evidence.seen is proof, evidence.what


def test_healed_when_the_time_is_true_again() -> None:
    cluster = Clock([quiet()])
    injection = ClockSkew(target=BROKER, seconds=-60).aim(context(cluster))
    again = ClockShifted.model_validate_json(injection.model_dump_json())
    for _ in range(2):
        assert again.heal(context(cluster)).seen
    cluster.shows = -60.0
    with pytest.raises(FaultError, match="still wrong"):
        again.heal(context(cluster))


def test_brokers_and_controllers_are_asked_where_they_listen() -> None:
    cluster = Clock([quiet()], shows=60.0)
    injection = ClockSkew(target=NodeIds(nodes=(1, 101)), seconds=60).aim(context(cluster))
    assert injection.verify(context(cluster)).seen
    assert cluster.ports == ["9094", "9093"]
    cluster.proxies = FakeProxies()
    assert injection.verify(context(cluster)).seen
    assert cluster.ports[2:] == ["19094", "19093"], "a proxy would keep the request to itself"


def test_a_node_without_the_library_is_refused() -> None:
    with pytest.raises(FaultError, match=r"cluster\.skewable_clocks"):
        ClockSkew(target=BROKER, seconds=60).aim(context(Clock([quiet()], has_library=False)))
    shape = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
    with pytest.raises(ValueError, match=r"cluster\.skewable_clocks"):
        ClockSkew(target=BROKER, seconds=60).warnings(shape)


@pytest.mark.parametrize("seconds", [0, 0.5, -0.99, float("nan"), float("inf"), 1e12])
def test_shifts_that_make_no_sense(seconds: float) -> None:
    with pytest.raises(ValidationError):
        ClockSkew(target=BROKER, seconds=seconds)


@given(st.floats(-1e8, 1e8), st.floats(0, 5), st.floats(0, 1))
def test_what_a_clock_tells_fits_its_own_skew(skew: float, took: float, part: float) -> None:
    told = ClockReading(NOW + took * part + skew, NOW, NOW + took)
    assert told.can_be(skew)
    assert abs(told.skew - skew) <= took / 2 + 0.001
    assert not told.can_be(skew + took + 0.3)


@given(st.floats(1, 2e9))
def test_stamps_are_read_to_the_millisecond(at: float) -> None:
    log = line(at - 50) + "[2026-01-01 00:00:00,000] INFO something else\n" + line(at)
    assert logged_seconds(log) == pytest.approx(at, abs=0.0011)


def test_a_log_without_such_a_line_tells_nothing() -> None:
    assert logged_seconds("[2026-01-01 00:00:00,000] WARN Unexpected error from /10.0.0.1 (channelId") is None


def test_scripts() -> None:
    assert shift_script(0.0).startswith("echo +0.000 ")
    assert shift_script(-90.5).startswith("echo -90.500 ")
    assert "/dev/tcp/127.0.0.1/9093" in probe_script(9093)
