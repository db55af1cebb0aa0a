"""MirrorMaker 2 and connectors of Kafka Connect."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field

from harness.application.built_in import BuiltIn
from harness.application.kafka_jars import DEFAULT_VERSION, connect_jars
from harness.application.places import Command, Places
from harness.application.programs.connect_settings import FILE_SINK, FILE_SOURCE, MIRROR
from harness.application.programs.lifecycle import JARS_VARIABLE, READY
from harness.model.config_value import Setting
from harness.model.frozen import Frozen
from harness.spec.application import DrainedWhen, ReadyWhen


class SinkOptions(Frozen):
    """The time between commits, and the version of Kafka Connect."""

    commit_interval_ms: int = Field(default=1000, ge=10, description="offset.flush.interval.ms")
    version: str = Field(
        default=DEFAULT_VERSION, pattern=r"^\d+\.\d+\.\d+$", description="of Kafka Connect and MirrorMaker"
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict, description="settings of the worker or of MirrorMaker, by Kafka's names"
    )


class SourceOptions(SinkOptions):
    """Whether exactly.once.source.support is enabled."""

    guarantee: Literal["at-least-once", "exactly-once"] = Field(
        default="at-least-once", description="exactly-once: exactly.once.source.support=enabled (KIP-618)"
    )


_Command = Callable[[SinkOptions, Places, tuple[Path, ...]], Command]


def runs(program: str, *more: str) -> _Command:
    """The command of a program here, with these arguments and those of all programs with Connect."""

    def command(options: SinkOptions, places: Places, jars: tuple[Path, ...]) -> Command:
        arguments = [
            *(sys.executable, "-m", f"harness.application.programs.{program}", *more),
            *("--bootstrap", places.bootstrap, "--input", places.input, "--output", places.output),
            *("--state", str(places.state), "--group", places.group),
            *("--output-bootstrap", places.output_bootstrap),
            *("--commit-interval-ms", str(options.commit_interval_ms)),
            *(text for name, value in options.settings.items() for text in ("--setting", f"{name}={value}")),
        ]
        if isinstance(options, SourceOptions):
            arguments += ["--guarantee", options.guarantee]
        return Command(tuple(arguments), {JARS_VARIABLE: os.pathsep.join(map(str, jars))})

    return command


def _built_in(name: str, summary: str, command: _Command, *, source: bool, mirrors: bool = False) -> BuiltIn:
    return BuiltIn(
        name=name,
        summary=summary,
        command=command,
        options=SourceOptions if source else SinkOptions,
        jars=lambda options: connect_jars(options.version),
        ready=ReadyWhen(logged=READY, within=180),
        # Sources keep their offsets in a topic of Connect's own, not as a group.
        drained=DrainedWhen(quiet=8.0, within=180) if source else DrainedWhen(lag=0, quiet=3.0, within=180),
        two_clusters=mirrors,
    )


CONNECT = (
    _built_in(
        "mirrormaker",
        "MirrorMaker 2 in its own process, to a second cluster, or to the same one under another alias",
        runs("mirrormaker"),
        source=True,
        mirrors=True,
    ),
    _built_in(
        "connect-mirror",
        "MirrorMaker's source connector in a distributed worker of Kafka Connect",
        runs("connect_worker", "--connector", MIRROR),
        source=True,
        mirrors=True,
    ),
    _built_in(
        "connect-file-source",
        "Kafka Connect's file source; a thread of the worker's process feeds its file from the input, once",
        runs("connect_worker", "--connector", FILE_SOURCE),
        source=True,
    ),
    _built_in(
        "connect-file-sink",
        "Kafka Connect's file sink, values as lines of Base64 (`output: {table: lines}`)",
        runs("connect_worker", "--connector", FILE_SINK),
        source=False,
    ),
)
