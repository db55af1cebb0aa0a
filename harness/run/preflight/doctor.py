"""Examines which prerequisites this machine has, which it lacks, and what to do about them."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import sys
import tempfile
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from docker import DockerClient
from docker.errors import DockerException
from rich.console import Console

import faults  # noqa: F401 - makes every fault known
from checkers import EngineChoice, archive_of, available_memory, decide, java_of_spark
from faults.shared.fault_spec import KINDS
from harness.cluster.containers import docker_engine, images
from harness.model.errors import BadInput, PrerequisiteMissing
from harness.report.page.blocks import Cell, Status, Table
from harness.report.page.terminal import print_table
from harness.run.preflight import kernel_probes

PrerequisiteState = Literal["ok", "missing", "limited"]

MIN_PYTHON = (3, 11)
MIN_DISK_GIB = 5.0
MIN_MEMORY_GIB = 4.0
MIN_CORES = 2
DISTRIBUTION = "kafka-chaos"
PACKAGES = ("harness", "faults", "workloads", "checkers", "compose")
PARTS = ("confluent-kafka", "docker", "pyspark", "pysail", "pyarrow", "testcontainers")
STATUSES: dict[PrerequisiteState, Status] = {"ok": "good", "limited": "unclear", "missing": "bad"}


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """One prerequisite. `required`: running experiments needs it. `remedy` is empty if its state is ok."""

    name: str
    state: PrerequisiteState
    found: str
    needed_for: str
    remedy: str = ""
    required: bool = False


def examine() -> tuple[Prerequisite, ...]:
    """Examine all prerequisites, dependencies first. Takes about 2 s and leaves nothing behind."""
    rows = on_this_machine()
    try:
        client = docker_engine.connect()
    except PrerequisiteMissing as error:
        return (*rows, *without_engine(error))
    with closing(client):
        return (*rows, *with_engine(client))


def on_this_machine() -> tuple[Prerequisite, ...]:
    """The rows that need no Docker engine."""
    return _python(), _packages(), _java(), _disk(), _memory(), _cores()


def exit_code(prerequisites: tuple[Prerequisite, ...]) -> int:
    """0, or 3 if something required is missing."""
    return 3 if any(row.required and row.state == "missing" for row in prerequisites) else 0


def report(prerequisites: tuple[Prerequisite, ...], *, as_json: bool, console: Console) -> int:
    """Print a table, or with `as_json` one JSON object for machines; returns the exit code."""
    code = exit_code(prerequisites)
    if as_json:
        document = {"ready": code == 0, "prerequisites": [asdict(row) for row in prerequisites]}
        console.file.write(json.dumps(document, indent=2) + "\n")
        return code
    columns = ("prerequisite", "state", "found", "needed for", "what to do")
    rows = [
        (row.name, Cell(row.state, STATUSES[row.state]), row.found, row.needed_for, row.remedy)
        for row in prerequisites
    ]
    table = Table(columns, rows, title="kafka-chaos doctor", no_wrap=columns[:2])
    print_table(console, table)
    console.print(
        "Experiments can run." if code == 0 else "Experiments cannot run: something required is missing."
    )
    return code


def without_engine(error: PrerequisiteMissing) -> tuple[Prerequisite, ...]:
    """The rows that need the Docker engine, if there is none."""
    reason = "no Docker engine"
    found = f"{error.what} at {error.where}: {error.found}"
    rows = [Prerequisite("Docker engine", "missing", found, "every cluster", error.next_step or "", True)]
    for name, needed_for in (("Kafka image", "every cluster"), ("toolbox image", "network faults")):
        # Not required: the first run pulls or builds it once there is an engine.
        rows.append(Prerequisite(name, "limited", f"not checked: {reason}", needed_for))
    return (*rows, *(capability(row) for row in kernel_probes.not_probed(reason)))


def with_engine(client: DockerClient) -> tuple[Prerequisite, ...]:
    """The rows that need the Docker engine."""
    toolbox = images.local_toolbox(client)
    rows = [_engine(client), _kafka_image(client), _toolbox(toolbox), _ryuk(client)]
    capabilities = (
        kernel_probes.not_probed("no toolbox image")
        if toolbox is None
        else kernel_probes.probe(client, toolbox)
    )
    return (*rows, *(capability(row) for row in capabilities))


def capability(row: kernel_probes.Capability) -> Prerequisite:
    """A kernel capability as a row. Only iptables, which cuts brokers off, is required."""
    remedy = {
        True: "",
        False: f"no {row.needed_for} on this kernel; {_instead(row.name)}other faults work",
        None: "build the toolbox image (compose/setup.sh), then run this again",
    }[row.works]
    required = row.name == "iptables"
    state: PrerequisiteState = (
        "ok" if row.works else "missing" if required and row.works is False else "limited"
    )
    return Prerequisite(row.name, state, row.found, row.needed_for, remedy, required)


def _instead(name: str) -> str:
    """Which faults the proxies cause if the kernel lacks this, in words."""
    able = sorted(kind for kind, spec in KINDS.items() if name in spec.needs and spec.as_messages)
    return f"{', '.join(able)} use proxies instead, for messages of Kafka's protocol; " if able else ""


def _python() -> Prerequisite:
    found, remedy = platform.python_version(), ""
    lacking = [part for part in PARTS if not _installed(part)]
    if sys.version_info < MIN_PYTHON:
        remedy = "install Python 3.11 or later and run compose/setup.sh"
    elif lacking:
        found, remedy = f"{found} without {', '.join(lacking)}", "run compose/setup.sh"
    return Prerequisite("Python", "missing" if remedy else "ok", found, "everything", remedy, True)


def _installed(part: str) -> bool:
    try:
        version(part)
    except PackageNotFoundError:
        return False
    return True


def _packages() -> Prerequisite:
    needed_for = "importing kafka-chaos"
    conflicts = package_conflicts()
    if conflicts:
        remedy = "install kafka-chaos in a virtual environment of its own"
        return Prerequisite("package names", "limited", "; ".join(conflicts), needed_for, remedy)
    return Prerequisite("package names", "ok", "no other package has them", needed_for)


def package_conflicts() -> list[str]:
    """One sentence per package that another distribution provides, or that is imported from elsewhere.

    pip does not notice when two distributions install the same package: the files of the distribution that is
    installed last win, and a folder earlier on `sys.path` hides both.
    """
    providers = packages_distributions()
    ours = Path(__file__).resolve().parents[3]
    conflicts = []
    for name in PACKAGES:
        others = sorted({other for other in providers.get(name, ()) if other.lower() != DISTRIBUTION})
        if others:
            conflicts.append(f"`{name}` is also installed by {', '.join(others)}")
        elif (folder := _imported_from(name)) != ours / name:
            conflicts.append(f"`{name}` is imported from {folder}")
    return conflicts


def _imported_from(name: str) -> Path | None:
    """The folder from which Python imports the package."""
    spec = importlib.util.find_spec(name)
    locations = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(locations[0]).resolve() if locations else None


def _java() -> Prerequisite:
    needed_for = "checks with Apache Spark"
    try:
        # Only where runs are checked by Spark is a machine without Java not ready.
        required = decide(EngineChoice(), "spark", os.environ, None).engine == "spark"
    except BadInput as error:
        found, remedy = f"{error.where}={error.found}", error.next_step or ""
        return Prerequisite("engine", "missing", found, "checks", remedy, True)
    try:
        java = java_of_spark(os.environ)
    except PrerequisiteMissing as error:
        found, remedy = f"{error.found} ({error.where})", error.next_step or ""
        return Prerequisite("Java", "missing" if required else "limited", found, needed_for, remedy, required)
    classes = "" if archive_of(java).exists() else " (no archive of Spark's classes, which halves its start)"
    return Prerequisite("Java", "ok", java.banner + classes, needed_for, "", required)


def _disk() -> Prerequisite:
    free = min(shutil.disk_usage(path).free for path in (Path.cwd(), tempfile.gettempdir())) / 2**30
    return _amount("free disk", free, MIN_DISK_GIB, "images, Kafka's logs, journals", "make room on the disk")


def _memory() -> Prerequisite:
    needed_for = "about 1.1 GiB per cluster, 2 GiB for Spark"
    available = available_memory()
    if available is None:
        return Prerequisite("memory", "limited", "unknown on this system", needed_for)
    remedy = "stop other programs, or use a larger machine"
    return _amount("memory", available / 2**30, MIN_MEMORY_GIB, needed_for, remedy)


def _amount(name: str, gib: float, least: float, needed_for: str, remedy: str) -> Prerequisite:
    if gib >= least:
        return Prerequisite(name, "ok", f"{gib:.1f} GiB", needed_for)
    return Prerequisite(name, "limited", f"{gib:.1f} GiB, recommended {least:g}", needed_for, remedy)


def _cores() -> Prerequisite:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    enough = count >= MIN_CORES
    remedy = "" if enough else "expect slow starts and elections; use a machine with two cores"
    return Prerequisite("cores", "ok" if enough else "limited", str(count), "cluster and load", remedy)


def _engine(client: DockerClient) -> Prerequisite:
    info = client.version()
    where = docker_engine.address()
    found = f"{info.get('Version', 'unknown version')} (API {info.get('ApiVersion', '?')}) at {where}"
    host = urlsplit(where).hostname
    if host is None or host == "localhost" or host.startswith("127.") or host == "::1":
        return Prerequisite("Docker engine", "ok", found, "every cluster", "", True)
    # It may be a name of this machine.
    remedy = f"brokers are reached at 127.0.0.1 of {host}: work there, or in its network (docs/how-to/ci.md)"
    return Prerequisite("Docker engine", "limited", found, "every cluster", remedy, True)


def _kafka_image(client: DockerClient) -> Prerequisite:
    try:
        info = images.local(client)
    except DockerException as error:
        found = docker_engine.one_line(str(error), 90)
        return Prerequisite("Kafka image", "limited", found, "every cluster", "look at the engine's log")
    if info is not None:
        return Prerequisite("Kafka image", "ok", info.reference, "every cluster", "", True)
    found = f"not on this machine yet; pulled from {images.OFFICIAL} or built at first use"
    remedy = "run compose/setup.sh to get it now"
    return Prerequisite("Kafka image", "limited", found, "every cluster", remedy, True)


def _toolbox(reference: str | None) -> Prerequisite:
    if reference is not None:
        return Prerequisite("toolbox image", "ok", reference, "network faults")
    found, remedy = "not on this machine yet", "run compose/setup.sh, or let the first run build it"
    return Prerequisite("toolbox image", "limited", found, "network faults", remedy)


def _ryuk(client: DockerClient) -> Prerequisite:
    needed_for = "cleaning up after a harness that was killed"
    if docker_engine.ryuk_available(client):
        return Prerequisite("Ryuk", "ok", "available", needed_for)
    found = "switched off, or its image cannot be pulled"
    return Prerequisite("Ryuk", "limited", found, needed_for, "run `kafka-chaos clean` after such a kill")
