"""Probes which faults this machine's kernel supports, in a throw-away toolbox container."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from docker import DockerClient
from docker.errors import APIError, DockerException
from docker.models.containers import Container

from harness.containers import capabilities, engine, images
from harness.model.errors import PrerequisiteMissing
from harness.preflight.limit_probes import PROBES, observe, probe_container, probe_limits


@dataclass(frozen=True, slots=True)
class Capability:
    """One capability. `works` is None if it was not probed; `found` is the observation, or why not."""

    name: str
    needed_for: str
    works: bool | None
    found: str


COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("iptables", "network cuts", "iptables -A INPUT -p tcp --dport 9 -m comment --comment probe -j DROP"),
    (
        "iptables length",
        "lost acknowledgements",
        "iptables -A OUTPUT -p tcp -m length --length 53: -d 192.0.2.1 -j DROP",
    ),
    (
        "iptables statistic",
        "random packet loss",
        "iptables -A INPUT -s 192.0.2.1 -m statistic --mode random --probability 0.5"
        " -m comment --comment probe -j DROP",
    ),
    ("tc tbf", "a slow link", "tc qdisc add dev lo root tbf rate 10gbit burst 3100 limit 125000"),
    (
        "tc htb",
        "a slow link to one peer",
        "tc qdisc add dev lo root handle 1: htb"
        " && tc class add dev lo parent 1: classid 1:20 htb rate 2mbit"
        " && tc filter add dev lo parent 1: protocol ip u32 match ip dst 192.0.2.1/32 flowid 1:20",
    ),
    ("tc netem", "delayed, reordered and corrupted packets", "tc qdisc add dev lo root netem delay 1ms"),
    (
        "raw sockets",
        "measuring links",
        "perl -MSocket -e 'socket(my $s, PF_INET, SOCK_RAW, 1) or die qq(no raw socket: $!\\n)'",
    ),
)
"""Name, the fault that needs it, and the command that succeeds if it works."""

FREEZER = ("cgroup freezer", "pausing a broker")


def not_probed(reason: str) -> tuple[Capability, ...]:
    """Every capability as not probed, for this reason."""
    named = [(name, needed_for) for name, needed_for, _ in (*COMMANDS, *PROBES)] + [FREEZER]
    return tuple(Capability(name, needed_for, None, f"not probed: {reason}") for name, needed_for in named)


def probe(client: DockerClient, toolbox: str) -> tuple[Capability, ...]:
    """Probe everything in containers of the image `toolbox` without network; takes seconds, leaves nothing
    behind."""
    with ExitStack() as stack:
        try:
            container = stack.enter_context(probe_container(client, toolbox, capabilities.NETWORK))
        except DockerException as error:
            return not_probed(f"the probe container does not start ({engine.one_line(str(error), 90)})")
        rows = [
            observe((name, needed_for, _command), container, command)
            for name, needed_for, command in COMMANDS
        ]
        rows.append(observe((*FREEZER, _freezer), container))
        return tuple(Capability(*row) for row in (*rows, *probe_limits(client, toolbox)))


def _command(container: Container, command: str) -> str | None:
    # Each probe starts with a clean interface; the first time `lo` has no queueing discipline to delete.
    code, output = container.exec_run(["sh", "-c", f"tc qdisc del dev lo root 2>/dev/null; {command}"])
    return None if code == 0 else str(output.decode(errors="replace"))


def _freezer(container: Container) -> str | None:
    try:
        container.pause()
        container.reload()
        paused = container.status == "paused"
        container.unpause()
    except APIError as error:
        return str(error.explanation or error)
    return None if paused else "the container kept running"


def kernel_capabilities() -> tuple[Capability, ...]:
    """Probe kernel and engine now; all capabilities are not probed if there is no engine or toolbox image."""
    try:
        client = engine.connect()
    except PrerequisiteMissing as error:
        return not_probed(error.what)
    toolbox = images.local_toolbox(client)
    if toolbox is None:
        return not_probed("the toolbox image is not on this machine yet")
    return probe(client, toolbox)
