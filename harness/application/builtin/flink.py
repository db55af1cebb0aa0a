"""Apache Flink: its Kafka sink, in a cluster of one process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

from pydantic import Field

from harness.application.built_in import BuiltIn
from harness.application.flink_jars import CONNECTORS, flink_jars
from harness.application.places import Command, Places
from harness.application.programs.lifecycle import JARS_VARIABLE, READY
from harness.model.config_value import Setting
from harness.model.frozen import Frozen
from harness.spec.application import DrainedWhen, ReadyWhen


class FlinkOptions(Frozen):
    """The sink's delivery guarantee, the time between checkpoints, the version of the connector, and the
    planted death."""

    guarantee: Literal["at-least-once", "exactly-once"] = "at-least-once"
    checkpoint_ms: int = Field(default=1000, ge=10, description="milliseconds between two checkpoints")
    connector: Literal[CONNECTORS] = Field(  # type: ignore[valid-type]
        default=CONNECTORS[-1], description="version of flink-connector-kafka"
    )
    producer: dict[str, Setting] = Field(
        default_factory=dict, description="settings of the sink's producer, by Kafka's names"
    )
    die: Literal["between-checkpoints"] | None = Field(
        default=None, description="it dies once, between two checkpoints"
    )
    die_after: int = Field(
        default=100, ge=1, description="records written since a checkpoint, after which it dies"
    )


def _command(options: FlinkOptions, places: Places, jars: tuple[Path, ...]) -> Command:
    arguments = [
        *(sys.executable, "-m", "harness.application.programs.flink_copy"),
        *("--bootstrap", places.bootstrap, "--input", places.input, "--output", places.output),
        *("--state", str(places.state), "--group", places.group),
        *("--guarantee", options.guarantee, "--checkpoint-ms", str(options.checkpoint_ms)),
    ]
    if options.die is not None:
        arguments += ["--die-after", str(options.die_after)]
    for name, value in options.producer.items():
        arguments += ["--producer", f"{name}={value}"]
    return Command(tuple(arguments), {JARS_VARIABLE: os.pathsep.join(map(str, jars))})


FLINK = BuiltIn(
    name="flink-kafka-sink",
    summary="Flink from Kafka to Kafka (values only), with checkpoints in its state folder",
    command=_command,
    options=FlinkOptions,
    jars=lambda options: flink_jars(str(options.connector)),
    ready=ReadyWhen(logged=READY, within=120),
    # Flink commits the offsets of a checkpoint to its group once the checkpoint is complete.
    drained=DrainedWhen(lag=0, quiet=1.0),
)
