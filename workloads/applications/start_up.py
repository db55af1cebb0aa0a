"""What an application under test waits for before a run begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.model.errors import ClusterError
from harness.model.polling import poll_within
from harness.model.progress import report_progress
from workloads.applications.container_instance import Instance
from workloads.applications.group_watch import GroupWatch


def await_no_other_members(group: GroupWatch, seconds: float) -> None:
    """Wait until its group has no members. Those of an earlier run that were killed stay until their session
    has timed out.

    Raises:
        ClusterError: there still are some.
    """
    taken: tuple[str, ...] = ()

    def others() -> str | None:
        nonlocal taken
        taken = group.strangers()
        if taken:
            report_progress("waiting until the members of an earlier application have left the group")
        return "members" if taken else None

    if poll_within(seconds, others, every=0.5) is not None:
        raise ClusterError(
            "the application's consumer group has members already",
            where=f"group {group.group}",
            expected="no other member: each would get a part of the records",
            found=", ".join(taken),
            next_step="end the other application, or choose another `group`",
        )


def await_ready(instances: Sequence[Instance], unready: Callable[[], str | None], within: float) -> None:
    """Wait until the application is ready, at most `within` seconds; `unready` says why it is not.

    Raises:
        ClusterError: an instance has ended, or it is not ready in time.
    """
    dead: list[Instance] = []

    def missing() -> str | None:
        dead[:] = [instance for instance in instances if not instance.is_running()]
        return None if dead else unready()

    left = poll_within(within, missing)
    if dead:
        ended = dead[0]
        raise ClusterError(
            "the application ended before it was ready",
            where=ended.name,
            expected="a process that runs until the end of the run",
            found=f"exit code {ended.exit_code()}; its last lines:\n            {ended.last_lines()}",
            next_step="correct the application, or its arguments and `env`",
        )
    if left is not None:
        raise ClusterError(
            f"the application was not ready within {within:g} s",
            where=instances[0].name,
            expected="what `ready` below `application` says",
            found=f"{left}; its last lines:\n            {instances[0].last_lines()}",
            next_step="correct the application, or give it more time with `ready: {within: ...}`",
        )
