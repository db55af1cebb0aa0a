"""What the faults on a node's log files share: the node is down, what is done to its files is written down
beside them first, and it is done once.

What is written down lies in another volume of the node than its log dir, since a fault may empty that, and
it stays there: how a restarted broker found its files is judged by it, by whichever process heals.
"""

from __future__ import annotations

import base64
import gzip
import shlex
from abc import abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from faults.base import InjectionContext, named
from faults.leadership import await_rejoined
from faults.logs.files import BatchHeader, LogDir, list_script, parse_listing, parse_walk, walk_script
from faults.process_fault import OnNodes, ProcessFault
from faults.target_context import ClusterShape
from faults.targets import AnyOf, BaseTarget, Both, Controller, Controllers, NodeIds
from harness.model.errors import FaultError
from harness.model.node_layout import FIRST_CONTROLLER_ID
from harness.model.polling import seen_within

NOTES_DIR = "/mnt/shared/config"
"""A volume of the image that Kafka reads nothing from but files of names that it knows."""
_GONE_SECONDS = 90.0

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Note:
    """What was decided for a node's files, as JSON, and when it was done (engine's clock; None: not yet)."""

    plan: str
    done_ns: int | None


class OnDisk(OnNodes):
    """Nodes that are stopped, their log files damaged once, and started again at the latest by `undo`."""

    def apply(self, scene: InjectionContext) -> None:
        notes = self.notes(scene)
        todo = [node for node, note in notes.items() if note is None or note.done_ns is None]
        ran = [node for node in todo if scene.cluster.is_running(node)]
        for node in ran:
            self.take_down(scene, node)
        for node in todo:
            _await_gone(scene, node)
        # A plan that was not carried out to its end still holds, unless the broker has run since.
        each(todo, lambda node: self.damage(scene, node, None if node in ran else notes[node]))

    def take_down(self, scene: InjectionContext, node: int) -> None:
        """Send what ends the node's process."""
        scene.cluster.kill(node)

    @abstractmethod
    def damage(self, scene: InjectionContext, node: int, begun: Note | None) -> None:
        """Decide what to do to a stopped node's files, write it down and do it; `begun`: it was decided."""

    def undo(self, scene: InjectionContext) -> None:
        for node in self.nodes:
            scene.cluster.start_node(node)

    def notes(self, scene: InjectionContext) -> dict[int, Note | None]:
        """What is written down about each node by this injection."""
        return dict(zip(self.nodes, each(self.nodes, lambda node: read_note(scene, node)), strict=True))

    def rejoined(self, scene: InjectionContext) -> dict[int, Note]:
        """Wait until the nodes are back; the notes of those that were damaged."""
        await_rejoined(scene, self.nodes)
        return {node: note for node, note in self.notes(scene).items() if note and note.done_ns}


class DiskFault(ProcessFault):
    """Base of faults on the log files of brokers."""

    def expect(self, shape: ClusterShape) -> tuple[str, ...]:
        told = super().expect(shape)
        if not shape.combined and _means_controllers(self.target):
            raise ValueError(
                f"target `{self.target}`: a controller that is no broker holds no topic's log, and has "
                "on disk whatever it has acknowledged; use a `kill`"
            )
        return told

    def hits_every_replica(self, shape: ClusterShape) -> bool:
        return self.target.at_most(shape) >= shape.replication_factor


def _means_controllers(target: BaseTarget) -> bool:
    """Whether separate controllers can be among the nodes."""
    if isinstance(target, NodeIds):
        return any(node >= FIRST_CONTROLLER_ID for node in target.nodes)
    if isinstance(target, AnyOf):
        return any(_means_controllers(part) for part in target.any_)
    if isinstance(target, Both):
        return all(_means_controllers(part) for part in target.both)
    return isinstance(target, Controller | Controllers)


def each(nodes: Iterable[int], what: Callable[[int], _T]) -> list[_T]:
    """The same for several nodes at once: a sidecar takes some tenths of a second."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(what, nodes))


def holders(scene: InjectionContext, partition: int | None = None) -> frozenset[int]:
    """The brokers that have a replica of a partition of the topic under test (None: of any)."""
    states = (
        state
        for seen in scene.cluster.view((scene.topic,)).answered()
        for state in seen.partitions
        if partition in (None, state.partition)
    )
    return frozenset(broker for state in states for broker in state.replicas)


def listing(scene: InjectionContext, node: int) -> LogDir:
    """The node's log dir as it is."""
    return _parsed(scene, node, list_script(), parse_listing)


def walk(scene: InjectionContext, node: int, paths: Iterable[str]) -> dict[str, tuple[BatchHeader, ...]]:
    """The batches of these files."""
    return _parsed(scene, node, walk_script(paths), parse_walk)


def read_note(scene: InjectionContext, node: int) -> Note | None:
    """What is written down about a node under this tag."""
    plan, done = _note_files(scene)
    text = sidecar(scene, node, f"cat {plan} 2>/dev/null || true; echo; cat {done} 2>/dev/null || true")
    decided, _, when = text.partition("\n")
    return Note(decided, int(when) if when.strip() else None) if decided.strip() else None


def carry_out(scene: InjectionContext, node: int, plan: str, script: str) -> None:
    """Write the plan (JSON of one line) down, do what the script says, and write down that it is done."""
    kept, done = _note_files(scene)
    wrote = f"cat >{kept}.new <<'END-OF-PLAN'\n{plan}\nEND-OF-PLAN\nmv {kept}.new {kept}"
    sidecar(scene, node, f"rm -f {done}\n{wrote}\n{script}\ndate +%s%N >{done}.new\nmv {done}.new {done}")


def sidecar(scene: InjectionContext, node: int, script: str) -> str:
    """What a bash script beside the node's files prints.

    Raises:
        FaultError: it failed.
    """
    # Packed: one argument of a command holds 128 KiB at most, a plan for thousands of partitions more.
    packed = base64.b64encode(gzip.compress(script.encode())).decode()
    output = scene.cluster.in_files(node, f"bash -euo pipefail <(printf %s {packed} | base64 -d | gunzip)")
    if output.code != 0:
        raise FaultError(
            "a node's log files could not be worked on",
            where=named((node,)),
            found=output.text.strip()[-500:],
            next_step="see what is in its data volume; `kafka-chaos heal` starts the node again",
        )
    return output.text


def _parsed(scene: InjectionContext, node: int, script: str, parse: Callable[[str], _T]) -> _T:
    text = sidecar(scene, node, script)
    try:
        return parse(text)
    except ValueError as error:
        raise FaultError(
            "a node's log files could not be read", where=named((node,)), found=str(error)
        ) from error


def _note_files(scene: InjectionContext) -> tuple[str, str]:
    stem = f"{NOTES_DIR}/.{scene.tag}"
    return shlex.quote(f"{stem}.plan"), shlex.quote(f"{stem}.done")


def _await_gone(scene: InjectionContext, node: int) -> None:
    left = seen_within(
        _GONE_SECONDS, lambda: "its process still runs" if scene.cluster.is_running(node) else None, 0.02
    )
    if left is not None:
        raise FaultError("a node did not end", where=named((node,)), found=left)
