"""What carries out each step: of every experiment, and of each workload that has steps of its own."""

from __future__ import annotations

from typing import Any

from harness.run.steps import core_steps, group_steps, producer_steps, share_steps
from harness.run.steps.step_context import Handler

HANDLERS: dict[type[Any], Handler] = {
    **core_steps.HANDLERS,
    **producer_steps.HANDLERS,
    **group_steps.HANDLERS,
    **share_steps.HANDLERS,
}
