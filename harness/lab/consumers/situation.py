"""What all consumers go through: the steps of one comparison, as data."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from harness.model.config.yaml_files import FileKind
from harness.model.frozen import Frozen
from harness.spec.step import Step

Ends = Literal["kill", "stop", "error-raised", "error-caught", "error-closed"]
"""What a program does once, after a number of records: it kills itself; it leaves its loop and closes; its
handler raises an error that ends it, that it goes on after, or that it closes its consumer after."""


class ConsumerSituation(Frozen):
    """A situation that consumers are compared in. `steps` are those of an experiment.

    The program of `instances` members starts when the topic holds `records`, and the log begins at
    `log_start`; its group has committed offset 0 before. Its handler takes `handle_ms` for a record. After
    `after` records it `ends` once. However it ends, it is started again. Member N joins N times `join_ms`
    after the start. `read_committed`: isolation.level=read_committed, where a client has it. After the steps
    the run waits `handled_in` seconds, and with `session` also for the longest session of its clients, after
    which a group gives up a member that has died. `beside`: all clients at once, to which 20 more records are
    written at the end; else one run for each.
    """

    title: str
    description: str
    cluster: dict[str, Any] = {}
    workload: dict[str, Any] = {}
    partitions: int = Field(1, ge=1, le=100)
    records: int = Field(ge=1, le=1_000_000)
    log_start: int = Field(0, ge=0)
    instances: int = Field(1, ge=1, le=2)
    join_ms: int = Field(0, ge=0, le=60_000)
    handle_ms: int = Field(5, ge=0, le=10_000)
    ends: Ends | None = None
    after: int = Field(0, ge=0)
    read_committed: bool = False
    handled_in: float = Field(gt=0, le=600, description="seconds")
    session: bool = False
    beside: bool = True
    steps: tuple[Step, ...] = Field(min_length=1)


SITUATION = FileKind(
    ConsumerSituation,
    one="a situation",
    expected="a mapping with title, description, records, handled_in and steps",
    example="`kafka-chaos clients --consumers --list` names the built-in ones",
    schema="kafka-chaos schema",
    folder="harness/lab/consumers/situations",
)
USUAL_SITUATIONS = ("killed-early", "stopped", "error-closed")
"""Those that are run if none is named: they tell the clients apart most."""
