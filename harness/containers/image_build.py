"""Builds images on this machine if no image registry can be reached.

`docker build` makes them without network from the parts that `harness.containers.image_sources` fetches.
Every image has a label with the fingerprint of its sources, so that an outdated one is recognised and built
again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import APIError, BuildError

import compose
from harness.containers.engine import local_image
from harness.containers.image_sources import (
    IMAGE_LABEL,
    ROOTFS_SCRIPT,
    base_reference,
    build_base,
    fetch_jars,
)
from harness.host.maven import last_lines, require_commands
from harness.model.errors import PrerequisiteMissing
from harness.model.progress import report_progress

FINGERPRINT_LABEL = "kafka-chaos.fingerprint"
VERSION_LABEL = "org.opencontainers.image.version"


def fingerprint(paths: Iterable[Path], *extra: str) -> str:
    """Sixteen hex digits over names and bytes of the files at `paths`, and over `extra`."""
    digest = hashlib.sha256()
    for root in paths:
        files = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
        for path in files:
            name = path.name if path == root else path.relative_to(root).as_posix()
            digest.update(f"{name}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    digest.update("\0".join(extra).encode())
    return digest.hexdigest()[:16]


def kafka_fingerprint(version: str) -> str:
    return fingerprint([compose.context("kafka"), ROOTFS_SCRIPT], version)


def toolbox_fingerprint() -> str:
    return fingerprint([compose.context("toolbox")])


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold this user's build lock, so that two processes never build the same image at once."""
    path = Path(tempfile.gettempdir()) / f"kafka-chaos-images-{os.getuid()}.lock"
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def build_kafka(client: DockerClient, version: str, reference: str) -> None:
    """Build the Kafka image `reference` of `version`, with the interface of the official image.

    Raises:
        PrerequisiteMissing: a tool or a download is not available, or the build failed.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-image-") as scratch:
        stage = Path(scratch) / "context"
        shutil.copytree(compose.context("kafka"), stage)
        # All tools of the two parallel downloads, so that one error names them all.
        wanted = {"mvn": "maven"} | (
            {} if local_image(client, base_reference()) else {"mmdebstrap": "mmdebstrap"}
        )
        require_commands(wanted, "building a Kafka image")
        with ThreadPoolExecutor(2) as pool:
            base = pool.submit(build_base, client)
            pool.submit(fetch_jars, version, stage / "libs").result()
            arguments = {"BASE": base.result()}
        report_progress(f"building {reference}")
        labels = {IMAGE_LABEL: "kafka", FINGERPRINT_LABEL: kafka_fingerprint(version), VERSION_LABEL: version}
        docker_build(client, stage, reference, arguments, labels, network="none")


def build_toolbox(client: DockerClient, reference: str, base: str, network: str) -> None:
    """Build the toolbox image on `base`, a Debian that has the packages or can reach a mirror over `network`.

    Raises:
        PrerequisiteMissing: the build failed.
    """
    report_progress(f"building {reference} on {base}")
    labels = {IMAGE_LABEL: "toolbox", FINGERPRINT_LABEL: toolbox_fingerprint()}
    docker_build(client, compose.context("toolbox"), reference, {"BASE": base}, labels, network)


def docker_build(
    client: DockerClient,
    folder: Path,
    reference: str,
    arguments: dict[str, str],
    labels: dict[str, str],
    network: str,
) -> None:
    """Run `docker build` of `folder`; the previous image of this name is removed if nothing uses it.

    Raises:
        PrerequisiteMissing: the build failed; has its last lines of output.
    """
    old = local_image(client, reference)
    try:
        image, _ = client.images.build(
            path=str(folder),
            tag=reference,
            buildargs=arguments,
            labels=labels,
            network_mode=network,
            rm=True,
            forcerm=True,
            timeout=600,
        )
    except (BuildError, APIError) as error:
        raise PrerequisiteMissing(
            f"the image {reference} could not be built",
            where=str(folder),
            found=_build_output(error),
            next_step="see the lines above; `kafka-chaos doctor` shows what is missing here",
        ) from error
    if old is not None and old.id != image.id:
        try:
            client.images.remove(old.id)
        except APIError as error:
            # A container of the old image still runs; the next `kafka-chaos clean --all` removes it.
            if error.status_code not in (404, 409):
                raise


def _build_output(error: Any) -> str:
    log = getattr(error, "build_log", ())
    text = "".join(str(part.get("stream") or part.get("error") or "") for part in log)
    return last_lines(text or str(error))
