"""Kafka Streams: a copy without state."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

from pydantic import Field

from harness.application.built_in import BuiltIn
from harness.application.kafka_jars import DEFAULT_VERSION, streams_jars
from harness.application.places import Command, Places
from harness.application.programs.lifecycle import JARS_VARIABLE, READY
from harness.model.config_value import Setting
from harness.model.frozen import Frozen
from harness.spec.application import DrainedWhen, ReadyWhen


class StreamsOptions(Frozen):
    """The processing guarantee, the time between commits, the version of Kafka Streams."""

    guarantee: Literal["at_least_once", "exactly_once_v2"] = Field(
        default="at_least_once", description="processing.guarantee"
    )
    commit_interval_ms: int = Field(default=1000, ge=10, description="commit.interval.ms")
    version: str = Field(default=DEFAULT_VERSION, pattern=r"^\d+\.\d+\.\d+$", description="of kafka-streams")
    settings: dict[str, Setting] = Field(
        default_factory=dict, description="settings of Streams, by Kafka's names"
    )
    raised_limit: int | None = Field(
        default=None,
        ge=1,
        description="max.message.bytes that the output gets when the application is started again",
    )


def _command(options: StreamsOptions, places: Places, jars: tuple[Path, ...]) -> Command:
    arguments = [
        *(sys.executable, "-m", "harness.application.programs.kafka_streams"),
        *("--bootstrap", places.bootstrap, "--input", places.input, "--output", places.output),
        *("--state", str(places.state), "--group", places.group),
        *("--guarantee", options.guarantee, "--commit-interval-ms", str(options.commit_interval_ms)),
        *(text for name, value in options.settings.items() for text in ("--setting", f"{name}={value}")),
    ]
    if options.raised_limit is not None:
        arguments += ["--raised-limit", str(options.raised_limit)]
    return Command(tuple(arguments), {JARS_VARIABLE: os.pathsep.join(map(str, jars))})


KAFKA_STREAMS = BuiltIn(
    name="kafka-streams",
    summary="Kafka Streams, a copy of the topic without state, by processing.guarantee",
    command=_command,
    options=StreamsOptions,
    jars=lambda options: streams_jars(options.version),
    ready=ReadyWhen(logged=READY, within=120),
    drained=DrainedWhen(lag=0, quiet=2.0, within=180),
)
