"""librdkafka: consume, process, produce."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from pydantic import Field

from harness.application.built_in import BuiltIn
from harness.application.places import Command, Places
from harness.model.frozen import Frozen
from harness.model.run import Guarantee


class LibrdkafkaOptions(Frozen):
    """When offsets are committed, and the planted death."""

    guarantee: Guarantee = Field(
        default="at-least-once",
        description="offsets are committed after, before, or together with the output",
    )
    batch: int = Field(default=500, ge=1, description="records of one batch, at most")
    die: Literal["between-write-and-commit"] | None = Field(
        default=None, description="it dies once, between the write of a batch and its commit"
    )
    die_in_batch: int = Field(default=1, ge=0, description="the batch in which it dies, from 0")


def _command(options: LibrdkafkaOptions, places: Places, _jars: tuple[Path, ...]) -> Command:
    arguments = [
        *(sys.executable, "-m", "harness.application.programs.librdkafka_copy"),
        *("--bootstrap", places.bootstrap, "--input", places.input, "--output", places.output),
        *("--state", str(places.state), "--group", places.group, "--instance", str(places.instance)),
        *("--guarantee", options.guarantee, "--batch", str(options.batch)),
    ]
    if options.die is not None:
        arguments += ["--die-in-batch", str(options.die_in_batch)]
    return Command(tuple(arguments), {})


LIBRDKAFKA = BuiltIn(
    name="librdkafka-copy",
    summary="consume-process-produce with librdkafka: offsets committed after, before, or together with the "
    "output",
    command=_command,
    options=LibrdkafkaOptions,
)
