"""Carries out steps that commit offsets for groups without members, and journals the answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from harness.cluster.live import LiveCluster
from harness.model.errors import BadInput, ClusterError
from harness.model.journal import RowSink
from harness.model.run import ReaderInfo
from workloads.groups.commit_flood import NO_ANSWER, AnsweredCommit, CommitFlood, commit_body
from workloads.groups.group_steps import CommitOffsets

NO_MEMBER = "alone"
"""The kind of these commits in the journal: no member of a group made them."""
_ELSEWHERE = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", NO_ANSWER)
_ONE_SECONDS = 6.0
"""A coordinator answers after offsets.commit.timeout.ms, 5 s, at the latest."""
_RETRY_SECONDS = 0.2


class MemberlessCommits:
    """The commits of one run, to partitions of `topic`; rows go to `sink`.

    A row's reader has the name of the group. `answered` has the rows without an error and of transactions;
    `infos` describes their readers, which read nothing. Call `end` before the journal is closed.
    """

    def __init__(self, cluster: LiveCluster, topic: str, sink: RowSink) -> None:
        self._cluster = cluster
        self._topic = topic
        self._sink = sink
        self._brokers: dict[str, int] = {}
        self.answered: list[dict[str, Any]] = []
        self._waiting: list[threading.Thread] = []

    def carry_out(self, step: CommitOffsets, nodes: Callable[[Any], Sequence[int]]) -> None:
        """Commit as the step says; `nodes` gives the nodes that a target means now.

        Raises:
            BadInput: the cluster wants TLS or a password.
            ClusterError: no broker takes the first commit in time.
        """
        if self._cluster.access.login is not None:
            raise BadInput(
                "offsets cannot be committed by raw requests to this cluster",
                where=f"step {step.name}",
                expected="a cluster without `security`",
                found="one that requires TLS or a password",
                next_step="leave the step out, or commit with a reader",
            )
        body = commit_body(
            self._topic, step.partition, step.offset, entries=step.entries, retention=step.retention
        )
        groups = step.group_names
        if step.same_as is not None:
            broker = self._brokers[step.same_as]
        else:
            broker = self._first_that_takes(step, nodes, body)
            groups = groups[1:]
        self._brokers[step.name] = broker
        flood = CommitFlood(
            self._cluster.endpoint(broker), groups, body, lambda answer: self._journal(answer, step)
        )
        flood.send(step.within)
        if step.awaited:
            flood.collect(step.within)
            return
        waiting = threading.Thread(
            target=flood.collect, args=(step.within,), name=f"commits-{step.name}", daemon=True
        )
        self._waiting.append(waiting)
        waiting.start()

    def end(self) -> None:
        """Wait for the answers of all steps."""
        for thread in self._waiting:
            thread.join()

    def append(self, row: dict[str, Any]) -> None:
        """Take a row of `harness.model.group_journal.COMMITS` of a group without members."""
        if row["error"] is None or row["kind"] == "transaction":
            self.answered.append(row)
        self._sink.append(row)

    def infos(self) -> tuple[ReaderInfo, ...]:
        """A reader for each group with a commit that was answered without an error."""
        return tuple(
            ReaderInfo(name=group, group=group, commits="manual", client="raw requests", closed=True)
            for group in sorted({row["reader"] for row in self.answered})
        )

    def _first_that_takes(
        self, step: CommitOffsets, nodes: Callable[[Any], Sequence[int]], body: bytes
    ) -> int:
        """The broker that answers the commit of the first group without naming another coordinator."""
        deadline = time.monotonic() + step.within
        last = "no broker"
        if step.through is not None:
            # Until somebody asks for the first coordinator, there is no topic of offsets.
            self._cluster.coordinator(step.group_names[0], transactional=False, within=step.within)
        while time.monotonic() < deadline:
            brokers = self._cluster.broker_ids
            if step.through is not None:
                brokers = tuple(number for number in nodes(step.through) if number in brokers)
            else:
                brokers = tuple(node for node in brokers if node != self._brokers[step.other_than or ""])
            for broker in brokers:
                answers: list[AnsweredCommit] = []
                first = CommitFlood(
                    self._cluster.endpoint(broker), step.group_names[:1], body, answers.append
                )
                first.send(_ONE_SECONDS)
                first.collect(_ONE_SECONDS)
                if answers[0].error not in _ELSEWHERE:
                    self._journal(answers[0], step)
                    return broker
                last = f"broker {broker}: {answers[0].error}"
            time.sleep(_RETRY_SECONDS)
        raise ClusterError(
            f"no broker took a commit within {step.within:g} s",
            where=f"step {step.name}",
            expected="one that is the coordinator",
            found=last,
        )

    def _journal(self, answer: AnsweredCommit, step: CommitOffsets) -> None:
        row = {
            "reader": answer.group,
            "session": 0,
            "at_ns": answer.at_ns,
            "topic": self._topic,
            "partition": step.partition,
            "offset": step.offset,
            "error": answer.error,
            "kind": NO_MEMBER,
            "asked_ns": answer.asked_ns,
        }
        if step.retention is None:
            self.append(row)
