"""The command that pulls or builds images before a run needs them."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.model.defaults import DEFAULT_VERSION


def images(
    version: Annotated[str, typer.Option(help="Kafka version.")] = DEFAULT_VERSION,
    image: Annotated[str | None, typer.Option(help="Use this image and no other.")] = None,
) -> None:
    """Pull or build the Kafka image and the sidecar image if they are not on this machine."""
    from harness.containers.images import prepare

    prepare(version, image)
