"""Carries out the steps about consumer groups: readers that start again, commits, and asking for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from harness.model.polling import wait_until
from harness.run.steps.step_context import Handler, StepContext
from workloads.groups.group_offsets import GroupOffsets
from workloads.groups.group_steps import AskOffsets, CommitOffsets, RestartReader
from workloads.records.reader.live_reader import LiveReader


def restart_readers(run: StepContext, _index: int, step: RestartReader) -> None:
    """Give the members of the reader new clients, in every arm."""
    run.say(f"restarting reader {step.reader}")
    for arm in run.arms:
        restart_reader(arm.clients.readers.members(step.reader), step)


def restart_reader(members: Sequence[LiveReader], step: RestartReader) -> None:
    """Give every member a new client, as the step says.

    Raises:
        ClusterError: they do not receive the records in time, or the new clients do not subscribe.
    """
    before = [member.clients for member in members]
    if all(member.away for member in members):
        for member in members:
            member.come_back()
    else:
        _leave(members, step)

    def unchanged() -> str | None:
        names = [
            member.name
            for member, count in zip(members, before, strict=True)
            if not (member.away if step.away else member.clients > count)
        ]
        return ", ".join(names) or None

    state = "no client" if step.away else "a new client"
    wait_until(unchanged, what=f"every member of reader {step.reader} has {state}", seconds=step.within)


def _leave(members: Sequence[LiveReader], step: RestartReader) -> None:
    def too_few() -> str | None:
        received = sum(member.received for member in members)
        return None if received >= step.received else f"they have received {received:,}"

    what = f"the members of reader {step.reader} have received {step.received:,} records"
    wait_until(too_few, what=what, seconds=step.within)
    time.sleep(step.after)
    for member in members:
        leave = member.crash if step.crash else member.restart
        leave(away=step.away)


def commit_offsets(run: StepContext, _index: int, step: CommitOffsets) -> None:
    """Commit offsets for groups without members, in every arm."""
    run.say(f"committing offsets {step.name}")
    for arm in run.arms:
        arm.the(GroupOffsets).commits.carry_out(step, run.observer(arm).nodes)


def ask_offsets(run: StepContext, _index: int, step: AskOffsets) -> None:
    """Begin to ask every broker for committed offsets, in every arm."""
    for arm in run.arms:
        arm.the(GroupOffsets).ask(step)


HANDLERS: dict[type[Any], Handler] = {
    RestartReader: restart_readers,
    CommitOffsets: commit_offsets,
    AskOffsets: ask_offsets,
}
"""What carries out each of these steps."""
