"""Images kept as files, for an engine that begins without any: that of a CI job.

A file holds one image and is named by its reference and the beginning of its id, so that a newer image gets
another file. A folder of them is what a CI system keeps between jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from docker import DockerClient
from docker.errors import APIError, ImageLoadError

from harness.cluster.containers.docker_engine import local_image
from harness.model.errors import BadInput, ClusterError
from harness.model.progress import report_progress

_CHUNK_BYTES = 1 << 20


def load_kept(client: DockerClient, folder: Path, references: Iterable[str]) -> None:
    """Load those of these images that are not on this machine and are kept in the folder. A file that the
    engine refuses, such as a truncated one, is removed: the image is then got as if it had not been kept.

    Raises:
        BadInput: a file cannot be read.
    """
    for reference in references:
        for file in _files(folder, reference):
            if local_image(client, reference) is not None:
                break
            with BadInput.for_os_errors("a kept image cannot be read", where=file):
                data = file.open("rb")
            try:
                with data:
                    client.images.load(data)
            except (APIError, ImageLoadError) as error:
                report_progress(f"{file} cannot be loaded ({error}); it is removed")
                file.unlink(missing_ok=True)
            else:
                report_progress(f"{reference} loaded from {file}")


def keep(client: DockerClient, folder: Path, references: Iterable[str]) -> None:
    """Write those of these images that are on this machine into the folder, unless they are there, in place
    of older images of the same reference.

    Raises:
        BadInput: the folder cannot be written.
        ClusterError: the engine does not give an image.
    """
    for reference in references:
        if (image := local_image(client, reference)) is None:
            continue
        target = folder / f"{_stem(reference)}@{image.id.removeprefix('sha256:')[:12]}.tar"
        if target.exists():
            continue
        unfinished = target.with_suffix(".part")
        with BadInput.for_os_errors("the image cannot be kept", where=target):
            folder.mkdir(parents=True, exist_ok=True)
            file = unfinished.open("wb")
        try:
            with file:
                for chunk in client.api.get_image(reference, chunk_size=_CHUNK_BYTES):
                    file.write(chunk)
            for older in _files(folder, reference):
                older.unlink()
            unfinished.rename(target)
        except APIError as error:
            raise ClusterError(
                "the Docker engine does not give an image", where=reference, found=str(error.explanation)
            ) from error
        finally:
            unfinished.unlink(missing_ok=True)
        report_progress(f"{reference} kept in {target}")


def _stem(reference: str) -> str:
    """A reference as the beginning of a file's name."""
    return re.sub(r"[^\w.-]+", "+", reference)


def _files(folder: Path, reference: str) -> list[Path]:
    """The files of this reference."""
    return sorted(folder.glob(f"{_stem(reference)}@*.tar"))
