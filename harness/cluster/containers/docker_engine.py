"""The Docker engine: connects to it, labels what we create, and removes it again."""

from __future__ import annotations

import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from docker import DockerClient
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.images import Image
from docker.utils import parse_repository_tag
from testcontainers.core.config import testcontainers_config

from harness.cluster.containers.exec import DockerExecClient
from harness.model.errors import ClusterError, KafkaChaosError, PrerequisiteMissing
from harness.model.host.processes import owner_has_ended, owner_label
from harness.model.progress import report_progress

LABEL = "kafka-chaos"
"""On every container, network and volume that we create."""
CLUSTER_LABEL = "kafka-chaos.cluster"
LASTING_LABEL = "kafka-chaos.lasting"
"""On containers beside nodes that run as long as these, or for some minutes: others end soon."""
APPLICATION_LABEL = "kafka-chaos.application"
"""On the containers of an application under test, which end with their run."""
OWNER_LABEL = "kafka-chaos.owner"
"""`host/pid/start` of the process that created it; the start time distinguishes processes with the same
pid."""

DEFAULT_SOCKET = "unix:///var/run/docker.sock"
CONNECT_SECONDS = 10
CALL_SECONDS = 120
PULL_ANSWER_SECONDS = 3.0
"""Seconds to wait for a registry's first answer; after it a pull has no time limit."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """How much a sweep removed; `left` names what could not be removed, and why."""

    containers: int = 0
    networks: int = 0
    volumes: int = 0
    left: tuple[str, ...] = ()


def labels(cluster: str) -> dict[str, str]:
    """Labels for everything that this process creates for `cluster`."""
    return {LABEL: "1", CLUSTER_LABEL: cluster, OWNER_LABEL: owner_label(os.getpid())}


def connect() -> DockerClient:
    """Connect to the engine at DOCKER_HOST or the default socket, and wait for its answer.

    Raises:
        PrerequisiteMissing: no engine, no permission for its socket, or no answer within 10 s.
    """
    where = address()
    try:
        client: DockerClient = DockerExecClient.from_env(timeout=CONNECT_SECONDS)
        client.ping()
    except (DockerException, OSError) as error:
        raise unreachable(error, where) from error
    # Removing or stopping many containers on a busy machine takes longer than a ping.
    client.api.timeout = CALL_SECONDS
    return client


def connect_if_there() -> DockerClient | None:
    """As `connect`; None: no engine is available."""
    try:
        return connect()
    except PrerequisiteMissing:
        return None


def connection_lost(error: BaseException) -> KafkaChaosError:
    """The error for a call to an engine that had answered before."""
    lost: KafkaChaosError
    if isinstance(error, APIError):
        lost = ClusterError("the Docker engine refused a request", found=str(error.explanation or error))
    else:
        lost = unreachable(error, address())
    lost.add_note(
        "journals are kept, `kafka-chaos check` reads them; `kafka-chaos clean` removes what is left"
    )
    return lost


def address() -> str:
    """The engine's address: DOCKER_HOST, or the default socket."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET


def unreachable(error: BaseException, where: str) -> PrerequisiteMissing:
    """The error for an engine that cannot be reached, with what to do about it."""
    causes = list(_causes(error))
    text = " ".join(str(cause) for cause in causes)
    if any(isinstance(cause, PermissionError) for cause in causes) or "Permission denied" in text:
        return PrerequisiteMissing(
            "no permission to use the Docker engine",
            where=where,
            expected="a user who may open the engine's socket",
            found=f"permission denied for user id {os.geteuid()}",
            next_step="add the user to the group docker and log in again, or run this as root",
        )
    if any(isinstance(cause, TimeoutError) for cause in causes) or "timed out" in text.lower():
        return PrerequisiteMissing(
            "the Docker engine does not answer",
            where=where,
            expected=f"an answer within {CONNECT_SECONDS} s",
            found="a connection, but no answer",
            next_step="look at the engine's log and restart it",
        )
    missing = any(isinstance(cause, FileNotFoundError) for cause in causes) or "No such file" in text
    return PrerequisiteMissing(
        "there is no Docker engine",
        where=where,
        expected="a running Docker engine",
        found="no such socket" if missing else str(causes[-1]) or type(error).__name__,
        next_step="start Docker, set DOCKER_HOST, or run compose/setup.sh as root on Debian",
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error with the errors in its arguments and those it was raised from; each once, outermost first."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [part for part in current.args if isinstance(part, BaseException)]
        waiting += [part for part in (current.__cause__, current.__context__) if part is not None]


def clusters_in_use(
    things: Iterable[Mapping[str, str]], recorded: Mapping[str, str]
) -> frozenset[str | None]:
    """The clusters (`CLUSTER_LABEL`) that a process uses, or may use on another machine.

    A container belongs to its cluster, whichever process has created it: what a child process, or a harness
    that attached to the cluster, started beside a node still serves the cluster when that process has ended.
    A cluster is in use until the owner in its record, and of each thing that has its label, has ended.

    Args:
        things: the labels of every container, network and volume of ours.
        recorded: the owner of each cluster that has a record, by the cluster's name.
    """
    in_use = {thing.get(CLUSTER_LABEL) for thing in things if not owner_has_ended(thing.get(OWNER_LABEL))}
    return frozenset(in_use | {name for name, owner in recorded.items() if not owner_has_ended(owner)})


def sweep(
    client: DockerClient,
    *,
    cluster: str | None = None,
    everything: bool = False,
    recorded: Mapping[str, str] = MappingProxyType({}),
) -> SweepResult:
    """Remove containers, networks and volumes that we created: those of `cluster`, all (`everything`), or, by
    default, those of clusters that no process uses any more (`clusters_in_use`; `recorded` is its argument).
    Anonymous volumes are removed with their container.
    """
    wanted = {"label": [f"{CLUSTER_LABEL}={cluster}" if cluster is not None else LABEL]}
    listed = client.containers.list(all=True, filters=wanted, ignore_removed=True)
    # All are listed before any is judged, since one with a living owner keeps the others of its cluster.
    things: list[tuple[str, Any, Mapping[str, str]]] = [
        *(("container", item, item.labels or {}) for item in listed),
        *(("network", item, item.attrs.get("Labels") or {}) for item in client.networks.list(filters=wanted)),
        *(("volume", item, item.attrs.get("Labels") or {}) for item in client.volumes.list(filters=wanted)),
    ]
    any_owner = everything or cluster is not None
    in_use = frozenset() if any_owner else clusters_in_use((labels for _, _, labels in things), recorded)
    removed: Counter[str] = Counter()
    left: list[str] = []
    for kind, thing, labels in things:
        if not any_owner and labels.get(CLUSTER_LABEL) in in_use:
            continue
        options = {"v": True, "force": True} if kind == "container" else {}
        trouble = _remove(partial(thing.remove, **options))
        if trouble is None:
            removed[kind] += 1
        else:
            left.append(f"{kind} {thing.name}: {trouble}")
    return SweepResult(removed["container"], removed["network"], removed["volume"], tuple(left))


def remove_applications(client: DockerClient, cluster: str) -> list[str]:
    """Remove the containers of applications beside `cluster`; returns what could not be removed, and why."""
    wanted = {"label": [f"{CLUSTER_LABEL}={cluster}", APPLICATION_LABEL]}
    listed = client.containers.list(all=True, filters=wanted, ignore_removed=True)
    troubles = {item.name: _remove(partial(item.remove, v=True, force=True)) for item in listed}
    return [f"container {name}: {trouble}" for name, trouble in troubles.items() if trouble is not None]


def passing_containers(client: DockerClient, cluster: str, but: Collection[str]) -> list[str]:
    """The running containers of `cluster` that are not meant to last, "name: command" each, without those
    whose ids are in `but`."""
    label = {"label": f"{CLUSTER_LABEL}={cluster}"}
    return [
        f"{''.join((row.get('Names') or [row['Id']])[:1]).lstrip('/')}: {one_line(str(row['Command']), 80)}"
        for row in client.api.containers(filters=label)
        if row["Id"] not in but and LASTING_LABEL not in (row.get("Labels") or {})
    ]


def _remove(action: Callable[[], Any]) -> str | None:
    """Remove a thing; None: it is gone, else why not."""
    try:
        action()
    except APIError as error:
        # Somebody else has removed it, or is removing it already.
        gone = isinstance(error, NotFound) or "already in progress" in str(error)
        return None if gone else str(error.explanation or error)
    return None


def local_image(client: DockerClient, reference: str) -> Image | None:
    """This image, if it is on this machine; else None."""
    try:
        return client.images.get(reference)
    except ImageNotFound:
        return None


def pull(client: DockerClient, reference: str, answer: float = PULL_ANSWER_SECONDS) -> str | None:
    """Pull an image; returns None if that succeeded, else the reason in a few words.

    `answer` limits the seconds until the registry's first answer, so that a machine without registry does not
    wait.
    """
    repository, tag = parse_repository_tag(reference)
    events: queue.Queue[dict[str, Any] | str | None] = queue.Queue()

    def run() -> None:
        try:
            for event in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
                events.put(event)
            events.put(None)
        except (APIError, OSError) as error:
            events.put(one_line(str(getattr(error, "explanation", None) or error)))

    threading.Thread(target=run, name=f"pull {reference}", daemon=True).start()
    try:
        event = events.get(timeout=answer)
    except queue.Empty:
        return f"no registry answered within {answer:g} s"
    if isinstance(event, dict):
        report_progress(f"pulling {reference}")
    while isinstance(event, dict):
        if "error" in event:
            return one_line(str(event["error"]))
        event = events.get()
    return event


def ryuk_available(client: DockerClient) -> bool:
    """Whether testcontainers' reaper is available: not switched off, and its image is local or can be
    pulled."""
    if testcontainers_config.ryuk_disabled:
        return False
    image = testcontainers_config.ryuk_image
    return local_image(client, image) is not None or pull(client, image) is None


def configure_testcontainers(client: DockerClient) -> bool:
    """Switch testcontainers' reaper off if it is not available; returns whether it is used.

    Without it `sweep` does the same when it is called.
    """
    available = ryuk_available(client)
    testcontainers_config.ryuk_disabled = not available
    return available


def tail(container: Any, lines: int) -> str:
    """The last log lines of a running or stopped container; empty if it is gone."""
    try:
        return str(container.logs(tail=lines).decode(errors="replace"))
    except APIError:
        return ""


def one_line(text: str, width: int = 160) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 3] + "..."
