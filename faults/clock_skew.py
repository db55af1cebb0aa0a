"""Clock skew: a node's wall clock is wrong."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from pydantic import Field, field_validator

from faults.logs.disk_fault import sidecar
from faults.shared.fault_spec import Evidence, Injection, InjectionContext
from faults.shared.process_fault import OnNodes, ProcessFault
from faults.shared.waiting import await_rejoined, in_parallel
from faults.shared.words import node_name, node_names
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import BEHIND_PROXY, CONTROLLER_PORT, INTERNAL_PORT
from harness.model.polling import poll_within

CLOCK_DIR = "/opt/kafka-chaos/clock"
_SECONDS = 20.0
_SLACK = 0.1
"""A log line is written some milliseconds after its cause."""
_LONGEST = 10 * 365 * 86400.0
_LOG_SECONDS = 2.0
_LOGGED = re.compile(
    r"^\[([\d-]{10} [\d:]{8},\d{3})\] WARN .*Unexpected error from /127\.0\.0\.1 ", re.MULTILINE
)


class ClockReading(NamedTuple):
    """The time that a node's clock showed, and the true time before and after the request (Unix seconds)."""

    reading: float
    before: float
    after: float

    @property
    def skew(self) -> float:
        return self.reading - (self.before + self.after) / 2

    def can_be(self, skew: float) -> bool:
        """Whether a clock that is off by `skew` seconds can have shown this time."""
        return self.before - _SLACK <= self.reading - skew <= self.after + _SLACK


class ClockShifted(OnNodes):
    """The wall clocks of these nodes are off by `seconds`."""

    seconds: float

    def apply(self, context: InjectionContext) -> None:
        in_parallel(self.nodes, lambda node: sidecar(context, node, shift_script(self.seconds)))

    def verify(self, context: InjectionContext) -> Evidence:
        skews, wrong = _read_clocks(context, self.nodes, self.seconds, 0.0)
        facts: dict[str, object] = {"asked_seconds": self.seconds, "measured_seconds": skews}
        if wrong is not None:
            return Evidence(False, wrong, facts)
        words = ", ".join(f"{skew:+.2f} s" for skew in skews.values())
        return Evidence(
            True, f"the times of log lines are {words} off the true time, {self.seconds:+g} s asked", facts
        )

    def undo(self, context: InjectionContext) -> None:
        in_parallel(self.nodes, lambda node: sidecar(context, node, shift_script(0.0)))

    def healed(self, context: InjectionContext) -> Evidence:
        await_rejoined(context, self.nodes)
        skews, wrong = _read_clocks(context, self.nodes, 0.0, self.seconds)
        if wrong is not None:
            raise FaultError("a clock is still wrong", where=self.target, found=wrong)
        # The step of the clock may itself have removed replicas from the ISR.
        await_rejoined(context, self.nodes)
        return Evidence(True, f"{self.target} has the true time again", {"measured_seconds": skews})


class ClockSkew(ProcessFault):
    """Shift the wall clock of the target's nodes, all at once, while they run; healed by shifting it back.

    Needs the cluster option `skewable_clocks`: each node's Java then runs with libfaketime, which an Alpine
    image (the official one) cannot load. The monotonic clock is not shifted. A shift survives the node's
    restart.

    What Kafka does: the times that the broker sets are wrong (message.timestamp.type=LogAppendTime,
    offsets by time, retention.ms applied to records of producers with correct clocks); records whose own
    time is more than message.timestamp.after.max.ms ahead of the broker's clock are refused (KIP-937),
    each with its whole batch (findings/one-bad-record-takes-its-batch-along.sh). In Kafka Streams one
    record from the future makes those of all other keys late
    (findings/streams-one-fast-clock-drops-all-others.sh). Sessions of brokers and consumers use the
    monotonic clock. Whatever uses the wall clock takes a step forward for elapsed time: requests in
    flight time out, a leader may consider all followers too slow (replica.lag.time.max.ms), Raft timeouts
    expire (KIP-595). After a step back, all of these last longer by the same amount.

    Proof: a line that Kafka logs on demand (about a request of negative size, sent to its inner listener) has
    a time that is off by `seconds` from the true time before and after, and by nothing else.
    """

    kind: Literal["clock_skew"] = "clock_skew"
    seconds: float = Field(
        ge=-_LONGEST,
        le=_LONGEST,
        allow_inf_nan=False,
        description="how far the clock is ahead of the true time, in seconds; behind it, if negative",
    )
    needs = ("clock shift",)
    injection = ClockShifted
    restores = "the clocks of nodes"

    @field_validator("seconds")
    @classmethod
    def _not_right(cls, value: float) -> float:
        if abs(value) < 1:
            raise ValueError("a clock must be off by at least 1 s: less looks the same as a slow answer")
        return value

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        if not shape.skewable:
            raise ValueError("set `cluster.skewable_clocks: true`: only such nodes' clocks can be shifted")
        return super().warnings(shape)

    def max_brokers_down(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 0

    def aim(self, context: InjectionContext) -> Injection:
        injection = super().aim(context)
        script = f"ls {CLOCK_DIR}/offset 2>/dev/null || true"
        offsets = in_parallel(injection.nodes, lambda node: sidecar(context, node, script))
        fixed = [node for node, offset in offsets.items() if not offset.strip()]
        if fixed:
            raise FaultError(
                "this clock cannot be shifted",
                where=node_names(fixed),
                expected="a node that was started with libfaketime",
                found="one that was not",
                next_step="set `cluster.skewable_clocks: true`",
            )
        return injection


def shift_script(seconds: float) -> str:
    """Shifts a node's clock by this number of seconds; its process notices within a second."""
    return f"echo {seconds:+.3f} >{CLOCK_DIR}/offset.new\nmv {CLOCK_DIR}/offset.new {CLOCK_DIR}/offset"


def probe_script(port: int) -> str:
    """Sends a request of negative size to a listener, which logs it and closes the connection; prints the
    true time before and after, in nanoseconds since the epoch."""
    return f"""
date +%s%N
exec 3<>/dev/tcp/127.0.0.1/{port} && printf '\\xff\\xff\\xff\\xff' >&3 && timeout 5 cat <&3 >/dev/null 2>&1
date +%s%N
"""


def logged_seconds(log: str) -> float | None:
    """When the last such request was logged, by the node's clock (UTC; seconds since the epoch)."""
    times: list[str] = _LOGGED.findall(log)
    if not times:
        return None
    return datetime.fromisoformat(times[-1].replace(",", ".")).replace(tzinfo=UTC).timestamp()


def _read_clocks(
    context: InjectionContext, nodes: tuple[int, ...], skew: float, other: float
) -> tuple[dict[int, float], str | None]:
    """Read the nodes' clocks until each can be `skew` seconds off, and cannot be `other` seconds off. Returns
    by how many seconds they are off, and what is wrong if the time limit has passed."""
    readings: dict[int, ClockReading] = {}

    def missing() -> str | None:
        for node in nodes:
            reading = readings.get(node)
            if reading is not None and reading.can_be(skew) and not reading.can_be(other):
                continue
            reading = _read_clock(context, node)
            if reading is None:
                return f"the clock of {node_name(node)} cannot be read"
            readings[node] = reading
            if not reading.can_be(skew) or reading.can_be(other):
                return f"{node_name(node)} is {reading.skew:+.3f} s off the true time, not {skew:+g} s"
        return None

    wrong = poll_within(_SECONDS, missing, every=0.3)
    return {node: round(reading.skew, 3) for node, reading in readings.items()}, wrong


def _read_clock(context: InjectionContext, node: int) -> ClockReading | None:
    """Read a running node's clock; None: it cannot be read."""
    cluster = context.cluster
    if not cluster.is_running(node) or cluster.is_paused(node):
        return None
    port = INTERNAL_PORT if node in cluster.broker_ids else CONTROLLER_PORT
    if cluster.proxies is not None:
        # The proxy itself would refuse such a request.
        port += BEHIND_PROXY
    output = cluster.in_network(node, probe_script(port))
    times = [int(line) for line in output.text.split() if line.isdigit()]
    if len(times) != 2:
        return None
    before, after = times
    seconds: list[float] = []

    def missing() -> str | None:
        logged = logged_seconds(cluster.log_since(node, before))
        seconds[:] = [] if logged is None else [logged]
        return None if seconds else "not logged yet"

    poll_within(_LOG_SECONDS, missing)
    return ClockReading(seconds[0], before / 1e9, after / 1e9) if seconds else None
