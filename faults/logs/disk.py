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

from faults.base import InjectionContext, node_name
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

    def apply(self, context: InjectionContext) -> None:
        notes = self.notes(context)
        todo = [node for node, note in notes.items() if note is None or note.done_ns is None]
        ran = [node for node in todo if context.cluster.is_running(node)]
        for node in ran:
            self.take_down(context, node)
        for node in todo:
            _await_gone(context, node)
        # A plan that was not carried out to its end still holds, unless the broker has run since.
        each(todo, lambda node: self.damage(context, node, None if node in ran else notes[node]))

    def take_down(self, context: InjectionContext, node: int) -> None:
        """Send what ends the node's process."""
        context.cluster.kill(node)

    @abstractmethod
    def damage(self, context: InjectionContext, node: int, begun: Note | None) -> None:
        """Decide what to do to a stopped node's files, write it down and do it; `begun`: it was decided."""

    def undo(self, context: InjectionContext) -> None:
        for node in self.nodes:
            context.cluster.start_node(node)

    def notes(self, context: InjectionContext) -> dict[int, Note | None]:
        """What is written down about each node by this injection."""
        return dict(zip(self.nodes, each(self.nodes, lambda node: read_note(context, node)), strict=True))

    def rejoined(self, context: InjectionContext) -> dict[int, Note]:
        """Wait until the nodes are back; the notes of those that were damaged."""
        await_rejoined(context, self.nodes)
        return {node: note for node, note in self.notes(context).items() if note and note.done_ns}


class DiskFault(ProcessFault):
    """Base of faults on the log files of brokers."""

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        told = super().warnings(shape)
        if not shape.combined and _means_controllers(self.target):
            raise ValueError(
                f"target `{self.target}`: a controller that is no broker holds no topic's log, and has "
                "on disk whatever it has acknowledged; use a `kill`"
            )
        return told

    def hits_every_replica(self, shape: ClusterShape) -> bool:
        return self.target.max_brokers(shape) >= shape.replication_factor


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


def replica_holders(context: InjectionContext, partition: int | None = None) -> frozenset[int]:
    """The brokers that have a replica of a partition of the topic under test (None: of any)."""
    states = (
        state
        for seen in context.cluster.view((context.topic,)).answered()
        for state in seen.partitions
        if partition in (None, state.partition)
    )
    return frozenset(broker for state in states for broker in state.replicas)


def list_log_dir(context: InjectionContext, node: int) -> LogDir:
    """The node's log dir as it is."""
    return _parsed(context, node, list_script(), parse_listing)


def read_batches(
    context: InjectionContext, node: int, paths: Iterable[str]
) -> dict[str, tuple[BatchHeader, ...]]:
    """The batches of these files."""
    return _parsed(context, node, walk_script(paths), parse_walk)


def read_note(context: InjectionContext, node: int) -> Note | None:
    """What is written down about a node under this tag."""
    plan, done = _note_files(context)
    text = sidecar(context, node, f"cat {plan} 2>/dev/null || true; echo; cat {done} 2>/dev/null || true")
    decided, _, when = text.partition("\n")
    return Note(decided, int(when) if when.strip() else None) if decided.strip() else None


def carry_out(context: InjectionContext, node: int, plan: str, script: str) -> None:
    """Write the plan (JSON of one line) down, do what the script says, and write down that it is done."""
    kept, done = _note_files(context)
    wrote = f"cat >{kept}.new <<'END-OF-PLAN'\n{plan}\nEND-OF-PLAN\nmv {kept}.new {kept}"
    sidecar(context, node, f"rm -f {done}\n{wrote}\n{script}\ndate +%s%N >{done}.new\nmv {done}.new {done}")


def sidecar(context: InjectionContext, node: int, script: str) -> str:
    """What a bash script beside the node's files prints.

    Raises:
        FaultError: it failed.
    """
    # Packed: one argument of a command holds 128 KiB at most, a plan for thousands of partitions more.
    packed = base64.b64encode(gzip.compress(script.encode())).decode()
    output = context.cluster.in_files(node, f"bash -euo pipefail <(printf %s {packed} | base64 -d | gunzip)")
    if output.code != 0:
        raise FaultError(
            "a node's log files could not be worked on",
            where=node_name(node),
            found=output.text.strip()[-500:],
            next_step="see what is in its data volume; `kafka-chaos heal` starts the node again",
        )
    return output.text


def _parsed(context: InjectionContext, node: int, script: str, parse: Callable[[str], _T]) -> _T:
    text = sidecar(context, node, script)
    try:
        return parse(text)
    except ValueError as error:
        raise FaultError(
            "a node's log files could not be read", where=node_name(node), found=str(error)
        ) from error


def _note_files(context: InjectionContext) -> tuple[str, str]:
    stem = f"{NOTES_DIR}/.{context.tag}"
    return shlex.quote(f"{stem}.plan"), shlex.quote(f"{stem}.done")


def _await_gone(context: InjectionContext, node: int) -> None:
    left = seen_within(
        _GONE_SECONDS, lambda: "its process still runs" if context.cluster.is_running(node) else None, 0.02
    )
    if left is not None:
        raise FaultError("a node did not end", where=node_name(node), found=left)
