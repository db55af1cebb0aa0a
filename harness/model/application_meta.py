"""Metadata of the application under test of a run, a part of `run.json`."""

from __future__ import annotations

from typing import Literal

from harness.model.frozen import Frozen

Guarantee = Literal["at-least-once", "at-most-once", "exactly-once"]
"""What an application promises of its outputs (Kafka documentation, Message Delivery Semantics)."""


class ApplicationExit(Frozen):
    """An instance of an application that ended by itself, and not by a fault. `code` is as a shell gives it,
    `last_lines` what it had printed last, and `again` says that it was started again (`restarts`)."""

    at_ns: int
    instance: int
    code: int | None
    last_lines: str
    again: bool = False


class ApplicationMeta(Frozen):
    """The application under test of a run.

    `output` is its output topic, or the path of its table below the state folder (`table`). `source` says
    what its input is. `identity` says in words how an output names the inputs that made it, and
    `outputs_per_input` how many outputs an input has. `output_times` says who gave the outputs their
    timestamps. `records` is the number of records (rows) of the output. `read_complete`: the output was read
    to its end, and twice alike. `drained`: the application had nothing left to do when it was stopped.
    `failed`: it ended by itself with an error, as its `must_fail` asks; it then owes no output for what it
    had not processed. `exits` are the ends of instances that no fault and no step caused, in order of time,
    with `at_ns`, `instance`, `code`, `last_lines`, and `again` (it was started again). `deliveries`: the
    table is a journal of what it has handled, and `markers` counts the ends of transactions that its client
    handed out as if they were records. `problems` say why one of these is not so.
    """

    output: str
    table: bool = False
    source: Literal["topic", "file", "HTTP endpoint"] = "topic"
    group: str | None = None
    guarantee: Guarantee = "at-least-once"
    order: Literal["none", "partition", "key"] = "none"
    identity: str = "value"
    instances: int = 1
    outputs_per_input: int = 1
    output_times: Literal["broker", "application"] = "broker"
    records: int = 0
    read_complete: bool = False
    drained: bool = False
    failed: bool = False
    exits: tuple[ApplicationExit, ...] = ()
    deliveries: bool = False
    markers: int = 0
    problems: tuple[str, ...] = ()
