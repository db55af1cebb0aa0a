"""Probes which resources of a container faults can limit here, in throw-away containers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from docker import DockerClient
from docker.errors import DockerException
from docker.models.containers import Container

from faults.limits.blockio import DEVICE_SCRIPT, Probe, limits_script, parse_limits
from faults.limits.limited_nodes import MIB
from faults.memory_limit import fill_script, used_bytes
from harness.containers import capabilities, engine, images
from harness.containers.exec import cgroups_of, run_in, run_sidecar
from harness.containers.fake_clock import create_clocks
from harness.containers.tmpfs_volumes import KAFKA_USER, create_log_dirs
from harness.model.errors import ClusterError
from harness.model.node_layout import DATA_DIR

LimitProbe = tuple[str, str, bool | None, str]
"""Name, the fault that needs it, whether it works (None: not probed), and the observation."""

_MEMORY = 64 * MIB
_DISK_MIB = 16
_BYTES_PER_SECOND = 512 * 1024
_PROBE = Probe("write", 16384, 16)
"""Takes half a second at the allowed rate."""


def _cpu(client: DockerClient, toolbox: str) -> str | None:
    with probe_container(client, toolbox) as container:
        container.update(cpu_period=100_000, cpu_quota=10_000)
        run_in(container, "timeout 0.4 sh -c 'while :; do :; done'")
        counted = run_in(
            container, "cat /sys/fs/cgroup/cpu/cpu.stat 2>/dev/null || cat /sys/fs/cgroup/cpu.stat"
        )
        throttled = dict(line.split()[:2] for line in counted.text.splitlines() if len(line.split()) > 1)
    return (
        None if int(throttled.get("nr_throttled", 0)) else "the limit was accepted, but nothing is throttled"
    )


def _memory(client: DockerClient, toolbox: str) -> str | None:
    with probe_container(client, toolbox) as container:
        container.update(mem_limit=_MEMORY, memswap_limit=_MEMORY)
        output = run_in(container, fill_script("probe", _MEMORY + 32 * MIB)).text
    used = used_bytes(output)
    if used is None:
        return f"memory use cannot be read: {output}"
    return None if used <= _MEMORY else "the limit was accepted, but more is used"


def _disk(client: DockerClient, toolbox: str) -> str | None:
    with probe_container(client, toolbox, volumes=[DATA_DIR]) as container:
        what, _, device = run_in(container, DEVICE_SCRIPT).text.strip().partition(" ")
        if what != "disk":
            return f"the engine's volumes are on {what}, not on a disk of their own"
        wanted = {"wbps": _BYTES_PER_SECOND}
        beside = cgroups_of(str(container.id))
        script, labels = limits_script(device, wanted), engine.labels("doctor")
        output = run_sidecar(client, toolbox, script, labels, capabilities.NONE, **beside)
        if output.code != 0 or parse_limits(output.text) != wanted:
            return output.text or "the kernel does not accept the limit"
        seconds = _PROBE.seconds(run_in(container, _PROBE.script("probe")).text)
    if seconds is None:
        return "the page cache cannot be bypassed"
    return None if seconds > 0.25 else "the limit was accepted, but writes are as fast as before"


def _volume(client: DockerClient, toolbox: str) -> str | None:
    with _swept_name(client) as name:
        create_log_dirs(client, name, {1: "one"}, _DISK_MIB, toolbox, engine.labels(name))
        keeper = client.containers.get(f"{name}-keeper")
        tries = (f"fallocate -l {mib}M /kept/1/x" for mib in (8, 24))
        fits, too_much = (int(keeper.exec_run(one, user=str(KAFKA_USER))[0]) for one in tries)
    return None if fits == 0 and too_much != 0 else "the volume does not have the requested size"


def _clock(client: DockerClient, toolbox: str) -> str | None:
    image = images.local(client)
    if image is None:
        raise DockerException("there is no Kafka image on this machine")
    with _swept_name(client) as name:
        create_clocks(client, name, {1: "one"}, toolbox, image.reference, engine.labels(name))
    return None


@contextmanager
def _swept_name(client: DockerClient) -> Iterator[str]:
    """A new cluster name; what has been labelled with it is removed at the end."""
    name = f"kc-probe-{uuid.uuid4().hex[:8]}"
    try:
        yield name
    finally:
        engine.sweep(client, cluster=name)


PROBES: tuple[tuple[str, str, Callable[[DockerClient, str], str | None]], ...] = (
    ("cpu limit", "a starved broker", _cpu),
    ("memory limit", "a broker without page cache", _memory),
    ("disk throttle", "a slow disk", _disk),
    ("tmpfs volume", "a full disk", _volume),
    ("clock shift", "a wrong clock", _clock),
)
"""Name, the fault that needs it, and the probe, which returns None if it works, else the observation."""


def probe_limits(client: DockerClient, toolbox: str) -> tuple[LimitProbe, ...]:
    """Run all probes in parallel; leaves nothing behind."""
    with ThreadPoolExecutor(max_workers=len(PROBES)) as pool:
        return tuple(pool.map(lambda entry: observe(entry, client, toolbox), PROBES))


def observe(entry: tuple[str, str, Callable[..., str | None]], *arguments: Any) -> LimitProbe:
    """Run one probe with these arguments; `entry` is its name, the fault that needs it, and the probe."""
    name, needed_for, probe = entry
    try:
        trouble = probe(*arguments)
    except ClusterError as error:
        trouble = error.found or error.what
    except (DockerException, OSError) as error:
        found = engine.one_line(str(getattr(error, "explanation", None) or error), 90)
        return name, needed_for, None, f"not probed: {found}"
    return name, needed_for, trouble is None, "works" if trouble is None else engine.one_line(trouble, 90)


@contextmanager
def probe_container(
    client: DockerClient, toolbox: str, rights: capabilities.Rights = capabilities.NONE, **options: Any
) -> Iterator[Container]:
    """A container without network that is removed at the end, and ends by itself after half a minute."""
    container = client.containers.run(
        toolbox,
        ["sleep", "30"],
        detach=True,
        labels=engine.labels("doctor"),
        network_mode="none",
        **rights,
        **options,
    )
    try:
        yield container
    finally:
        container.remove(v=True, force=True)
