"""Carries out the steps about share groups."""

from __future__ import annotations

from typing import Any

from harness.run.steps.step_context import Handler, StepContext
from workloads.share.share_groups import ShareGroups
from workloads.share.share_step import AlterShareGroup


def alter_share_group(run: StepContext, _index: int, step: AlterShareGroup) -> None:
    """Change the share group as an administrator does, in every arm."""
    run.say(f"changing share group {step.group}")
    for arm in run.arms:
        run.problems += arm.the(ShareGroups).alter(step)


HANDLERS: dict[type[Any], Handler] = {AlterShareGroup: alter_share_group}
"""What carries out each of these steps."""
