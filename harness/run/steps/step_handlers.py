"""What carries out each step: of every experiment, and of each workload that has steps of its own."""

from __future__ import annotations

from typing import Any

from harness.run.steps import core_steps
from harness.run.steps.step_context import Handler
from workloads.groups import group_handlers
from workloads.java import drive_handlers
from workloads.share import share_handlers
from workloads.transactions import rival_handler

HANDLERS: dict[type[Any], Handler] = {
    **core_steps.HANDLERS,
    **drive_handlers.HANDLERS,
    **rival_handler.HANDLERS,
    **group_handlers.HANDLERS,
    **share_handlers.HANDLERS,
}
