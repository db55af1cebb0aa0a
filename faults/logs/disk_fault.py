"""What the faults on a node's log files share: the node is stopped, the plan for its files is written to a
note first, and the damage is done once.

The notes are in another volume of the node than its log dir, since a fault may empty that, and they stay
there: whichever process heals compares what the restarted broker found with the plan.
"""

from __future__ import annotations

import base64
import gzip
import shlex
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from faults.logs.log_dir_files import BatchHeader, LogDir, list_script, parse_listing, parse_walk, walk_script
from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.process_fault import OnNodes, ProcessFault
from faults.shared.waiting import await_or_fail, await_rejoined, in_parallel
from faults.shared.words import node_name
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError

NOTES_DIR = "/mnt/shared/config"
"""A volume of the image from which Kafka reads only files with names that it knows."""
NOTES: Mapping[str, tuple[str, ...]] = {
    f"the note of what was done to the node's files, in {NOTES_DIR}": (
        f"{NOTES_DIR}/.*.plan",
        f"{NOTES_DIR}/.*.done",
    )
}
"""What faults that write notes leave (`FaultSpec.leaves`)."""
_GONE_SECONDS = 90.0

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Note:
    """The plan for a node's files, as JSON, and when it was carried out (engine's clock; None: not yet)."""

    plan: str
    done_ns: int | None


class OnDisk(OnNodes):
    """Nodes that are stopped, whose log files are damaged once, and that `undo` starts again if need be."""

    not_done: ClassVar[str]
    """The evidence of `verify` for a node whose files were not damaged."""

    def apply(self, context: InjectionContext) -> None:
        notes = self.notes(context)
        todo = [node for node, note in notes.items() if note is None or note.done_ns is None]
        ran = context.running(todo)
        for node in ran:
            self.take_down(context, node)
        for node in todo:
            await_or_fail(
                _GONE_SECONDS,
                lambda node=node: "its process still runs" if context.running((node,)) else None,  # type: ignore[misc]
                "a node did not end",
                where=node_name(node),
                every=0.02,
            )
        # A plan that was not completed is still valid, unless the broker has run since.
        in_parallel(todo, lambda node: self.damage(context, node, None if node in ran else notes[node]))

    def take_down(self, context: InjectionContext, node: int) -> None:
        """Send the signal that ends the node's process."""
        context.cluster.kill(node)

    @abstractmethod
    def damage(self, context: InjectionContext, node: int, begun: Note | None) -> None:
        """Decide what to do to a stopped node's files (`begun`: as before), write it down and do it."""

    def undo(self, context: InjectionContext) -> None:
        for node in self.nodes:
            context.cluster.start_node(node)

    def notes(self, context: InjectionContext) -> dict[int, Note | None]:
        """This injection's note about each node; None: there is none."""
        plan, done = _note_files(context)
        script = f"cat {plan} 2>/dev/null || true; echo; cat {done} 2>/dev/null || true"
        notes: dict[int, Note | None] = {}
        for node, text in in_parallel(self.nodes, lambda node: sidecar(context, node, script)).items():
            decided, _, when = text.partition("\n")
            notes[node] = Note(decided, int(when) if when.strip() else None) if decided.strip() else None
        return notes

    def verify(self, context: InjectionContext) -> Evidence:
        by_node: dict[int, Evidence] = {}
        for node, note in self.notes(context).items():
            wrong = self.wrong_state(context, node)
            if wrong is not None:
                return Evidence(False, wrong)
            if note is None or note.done_ns is None:
                return Evidence(False, f"{node_name(node)}: {self.not_done}")
            by_node[node] = self.damage_found(context, node, note.plan)
        return _joined(by_node)

    def wrong_state(self, context: InjectionContext, node: int) -> str | None:
        """Why the node's process is not in the state that this fault leaves it in; None: it is."""
        return f"the process of {node_name(node)} runs" if context.cluster.is_running(node) else None

    @abstractmethod
    def damage_found(self, context: InjectionContext, node: int, plan: str) -> Evidence:
        """Whether the node's files are as planned."""

    def healed(self, context: InjectionContext) -> Evidence:
        by_node: dict[int, Evidence] = {}
        for node, note in self.rejoined(context).items():
            log = context.cluster.log_since(node, note.done_ns or 0)
            by_node[node] = self.start_found(context, node, note.plan, log)
        evidence = _joined(by_node)
        return evidence if evidence.what else Evidence(False, f"nothing was damaged on {self.target}")

    @abstractmethod
    def start_found(self, context: InjectionContext, node: int, plan: str, log: str) -> Evidence:
        """Whether the broker's own log since the damage shows that it started from damaged files; `what` is
        empty where the plan changed nothing."""

    def rejoined(self, context: InjectionContext) -> dict[int, Note]:
        """Wait until the nodes are back; returns the notes of those that were damaged."""
        await_rejoined(context, self.nodes)
        return {node: note for node, note in self.notes(context).items() if note and note.done_ns}


class DiskFault(ProcessFault):
    """Base of faults on the log files of brokers."""

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        warnings = super().warnings(shape)
        without_logs = {*shape.controller_ids, *shape.zookeepers} - set(shape.broker_ids)
        if self.target.possible_nodes(shape) & without_logs:
            raise ValueError(
                f"target `{self.target}`: a separate controller and ZooKeeper hold no topic's log, and "
                "everything that they have acknowledged is flushed; use a `kill`"
            )
        return warnings

    def loss_warning(self, shape: ClusterShape) -> tuple[str, ...]:
        """The warning of faults that lose records, if the target can mean every replica of a partition."""
        if self.target.max_brokers(shape) < shape.replication_factor:
            return ()
        return ("every replica may be hit: acknowledged records will be lost",)


def _joined(by_node: dict[int, Evidence]) -> Evidence:
    """One evidence of all nodes: the first that was not seen, else all of them."""
    facts: dict[str, object] = {
        str(node): dict(evidence.facts) for node, evidence in by_node.items() if evidence.facts
    }
    wrong = next((evidence for evidence in by_node.values() if not evidence.seen), None)
    words = "; ".join(evidence.what for evidence in by_node.values() if evidence.what)
    return Evidence(wrong is None, words if wrong is None else wrong.what, facts)


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
    """The batches of these files, by path."""
    return _parsed(context, node, walk_script(paths), parse_walk)


def carry_out(context: InjectionContext, node: int, plan: str, script: str) -> None:
    """Write the plan (JSON in one line) down, run the script, and write down that it is done."""
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
            "a script on a node's log files failed",
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
