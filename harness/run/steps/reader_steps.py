"""Steps that act on live readers."""

from __future__ import annotations

import time
from collections.abc import Sequence

from harness.model.polling import wait_until
from harness.spec.group_steps import RestartReader
from workloads.reader.live_reader import LiveReader


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
