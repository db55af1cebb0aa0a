"""A consumer group that fails over to another cluster with the offsets that MirrorMaker 2 translates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from harness.application.built_in import BuiltIn
from harness.application.builtin.connect import SinkOptions, runs
from harness.application.kafka_jars import connect_jars
from harness.application.places import Command, Places
from harness.application.programs.lifecycle import READY
from harness.spec.application import DrainedWhen, ReadyWhen


class FailoverOptions(SinkOptions):
    """Which offsets it goes on with, and how far it reads before."""

    offsets: Literal["translated", "synced", "same"] = Field(
        default="translated",
        description="by RemoteClusterUtils, those that MirrorMaker committed, or the numbers of the source",
    )
    reads: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(1000,),
        min_length=1,
        description="records that it reads of the input, for each start before it fails over",
    )


def _command(options: FailoverOptions, places: Places, jars: tuple[Path, ...]) -> Command:
    plain = runs("failover")(options, places, jars)
    reads = [text for one in options.reads for text in ("--reads", str(one))]
    return Command((*plain.arguments, "--offsets", options.offsets, *reads), plain.environment)


MIRRORMAKER_FAILOVER = BuiltIn(
    name="mirrormaker-failover",
    summary="MirrorMaker 2, and a consumer that fails over to the mirror when it is started again; values as "
    "lines of Base64 (`output: {table: lines, cluster: {}}`)",
    command=_command,
    options=FailoverOptions,
    jars=lambda options: connect_jars(options.version),
    ready=ReadyWhen(logged=READY, within=180),
    # MirrorMaker must not pause for so long: what it has not mirrored yet cannot be read there.
    drained=DrainedWhen(quiet=12.0, within=180),
    two_clusters=True,
)
