"""Probes which faults this machine's kernel and engine support, in throw-away toolbox containers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from docker import DockerClient
from docker.errors import APIError, DockerException
from docker.models.containers import Container

from faults.resource_limits import fill_script, used_bytes
from faults.shared.limited_nodes import MIB
from faults.slow_disk import DEVICE_SCRIPT, Probe, limits_script, parse_limits
from harness.cluster.containers import capabilities, docker_engine, images
from harness.cluster.containers.exec import cgroups_of, run_in, run_sidecar
from harness.cluster.containers.node_volumes import KAFKA_USER, create_clocks, create_log_dirs
from harness.model.errors import ClusterError, PrerequisiteMissing
from harness.model.node_layout import DATA_DIR

_MEMORY = 64 * MIB
_DISK_MIB = 16
_BYTES_PER_SECOND = 512 * 1024
_PROBE = Probe("write", 16384, 16)
"""Takes half a second at the allowed rate."""


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
    named = [(name, needed_for) for name, needed_for, _ in (*COMMANDS, *LIMITS)] + [FREEZER]
    return tuple(Capability(name, needed_for, None, f"not probed: {reason}") for name, needed_for in named)


def probe(client: DockerClient, toolbox: str) -> tuple[Capability, ...]:
    """Probe everything in containers of the image `toolbox` without network, which are then removed."""
    with ExitStack() as stack:
        try:
            container = stack.enter_context(_probe_container(client, toolbox, capabilities.NETWORK))
        except DockerException as error:
            return not_probed(
                f"the probe container does not start ({docker_engine.one_line(str(error), 90)})"
            )
        rows = [
            _observe(name, needed_for, _command, container, command) for name, needed_for, command in COMMANDS
        ]
        rows.append(_observe(*FREEZER, _freezer, container))
        with ThreadPoolExecutor(max_workers=len(LIMITS)) as pool:
            limits = pool.map(lambda entry: _observe(*entry, client, toolbox), LIMITS)
        return (*rows, *limits)


def _observe(name: str, needed_for: str, probe: Callable[..., str | None], *arguments: Any) -> Capability:
    """Run one probe with these arguments; it returns None if it works, else the observation."""
    try:
        trouble = probe(*arguments)
    except ClusterError as error:
        trouble = error.found or error.what
    except (DockerException, OSError) as error:
        found = docker_engine.one_line(str(getattr(error, "explanation", None) or error), 90)
        return Capability(name, needed_for, None, f"not probed: {found}")
    found = "works" if trouble is None else docker_engine.one_line(trouble, 90)
    return Capability(name, needed_for, trouble is None, found)


@contextmanager
def _probe_container(
    client: DockerClient, toolbox: str, rights: capabilities.Rights = capabilities.NONE, **options: Any
) -> Iterator[Container]:
    """A container without network that is removed at the end, and ends by itself after half a minute."""
    container = client.containers.run(
        toolbox,
        ["sleep", "30"],
        detach=True,
        labels=docker_engine.labels("doctor"),
        network_mode="none",
        **rights,
        **options,
    )
    try:
        yield container
    finally:
        container.remove(v=True, force=True)


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


def _cpu(client: DockerClient, toolbox: str) -> str | None:
    with _probe_container(client, toolbox) as container:
        container.update(cpu_period=100_000, cpu_quota=10_000)
        run_in(container, "timeout 0.4 sh -c 'while :; do :; done'")
        script = "cat /sys/fs/cgroup/cpu/cpu.stat 2>/dev/null || cat /sys/fs/cgroup/cpu.stat"
        lines = run_in(container, script).text.splitlines()
    counts = dict(line.split()[:2] for line in lines if len(line.split()) > 1)
    throttled = int(counts.get("nr_throttled", 0))
    return None if throttled else "the limit was accepted, but nothing is throttled"


def _memory(client: DockerClient, toolbox: str) -> str | None:
    with _probe_container(client, toolbox) as container:
        container.update(mem_limit=_MEMORY, memswap_limit=_MEMORY)
        output = run_in(container, fill_script("probe", _MEMORY + 32 * MIB)).text
    used = used_bytes(output)
    if used is None:
        return f"memory use cannot be read: {output}"
    return None if used <= _MEMORY else "the limit was accepted, but more is used"


def _disk(client: DockerClient, toolbox: str) -> str | None:
    with _probe_container(client, toolbox, volumes=[DATA_DIR]) as container:
        what, _, device = run_in(container, DEVICE_SCRIPT).text.strip().partition(" ")
        if what != "disk":
            return f"the engine's volumes are on {what}, not on a disk of their own"
        wanted = {"wbps": _BYTES_PER_SECOND}
        beside = cgroups_of(str(container.id))
        script, labels = limits_script(device, wanted), docker_engine.labels("doctor")
        output = run_sidecar(client, toolbox, script, labels, capabilities.NONE, **beside)
        if output.code != 0 or parse_limits(output.text) != wanted:
            return output.text or "the kernel does not accept the limit"
        seconds = _PROBE.seconds(run_in(container, _PROBE.script("probe")).text)
    if seconds is None:
        return "the page cache cannot be bypassed"
    return None if seconds > 0.25 else "the limit was accepted, but writes are as fast as before"


def _volume(client: DockerClient, toolbox: str) -> str | None:
    with _swept_name(client) as name:
        create_log_dirs(client, name, {1: "one"}, _DISK_MIB, toolbox)
        keeper = client.containers.get(f"{name}-keeper")
        tries = (f"fallocate -l {mib}M /kept/1/x" for mib in (8, 24))
        fits, too_much = (int(keeper.exec_run(command, user=str(KAFKA_USER))[0]) for command in tries)
    return None if fits == 0 and too_much != 0 else "the volume does not have the requested size"


def _clock(client: DockerClient, toolbox: str) -> str | None:
    image = images.local(client)
    if image is None:
        raise DockerException("there is no Kafka image on this machine")
    with _swept_name(client) as name:
        create_clocks(client, name, {1: "one"}, toolbox, image.reference)
    return None


@contextmanager
def _swept_name(client: DockerClient) -> Iterator[str]:
    """A new cluster name; what has been labelled with it is removed at the end."""
    name = f"kc-probe-{uuid.uuid4().hex[:8]}"
    try:
        yield name
    finally:
        docker_engine.sweep(client, cluster=name)


LIMITS: tuple[tuple[str, str, Callable[[DockerClient, str], str | None]], ...] = (
    ("cpu limit", "a starved broker", _cpu),
    ("memory limit", "a broker without page cache", _memory),
    ("disk throttle", "a slow disk", _disk),
    ("tmpfs volume", "a full disk", _volume),
    ("clock shift", "a wrong clock", _clock),
)
"""Name, the fault that needs it, and the probe, which returns None if it works, else the observation."""


def kernel_capabilities() -> tuple[Capability, ...]:
    """Probe kernel and engine now; all capabilities are not probed if there is no engine or toolbox image."""
    try:
        client = docker_engine.connect()
    except PrerequisiteMissing as error:
        return not_probed(error.what)
    toolbox = images.local_toolbox(client)
    if toolbox is None:
        return not_probed("the toolbox image is not on this machine yet")
    return probe(client, toolbox)
