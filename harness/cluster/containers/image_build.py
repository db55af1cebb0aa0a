"""Builds images on this machine if no image registry can be reached.

`docker build` makes them without network from parts that are fetched first: Debian with Java, Kafka's jars.
Every image has a label with the fingerprint of its sources, so that an outdated one is recognised and built
again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import APIError, BuildError

import compose
from harness.cluster.containers.docker_engine import local_image
from harness.model.errors import PrerequisiteMissing
from harness.model.host.fetched import copy_dependencies, last_lines, require_commands, unresolved
from harness.model.progress import report_progress

IMAGE_LABEL = "kafka-chaos.image"
"""Marks our images; its value is "base", "kafka", "toolbox" or "proxy"."""
FINGERPRINT_LABEL = "kafka-chaos.fingerprint"
VERSION_LABEL = "org.opencontainers.image.version"
ROOTFS_SCRIPT = compose.FOLDER / "base" / "rootfs.sh"


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


def base_reference() -> str:
    """The base image's name; compose/setup.sh computes the same tag with sha256sum."""
    return f"kafka-chaos/base:{hashlib.sha256(ROOTFS_SCRIPT.read_bytes()).hexdigest()[:12]}"


def build_base(client: DockerClient) -> str:
    """Build the base image (Debian and Java) unless it exists; returns its name. Takes about 30 s.

    Raises:
        PrerequisiteMissing: mmdebstrap is not installed, or failed.
    """
    reference = base_reference()
    import_debian(client, ROOTFS_SCRIPT, reference, "Java")
    return reference


def import_debian(client: DockerClient, script: Path, reference: str, what: str) -> None:
    """Import the Debian that a script writes as a tar, with `what` in it, unless the image exists.

    Raises:
        PrerequisiteMissing: mmdebstrap is not installed, or failed.
    """
    if local_image(client, reference) is not None:
        return
    require_commands({"mmdebstrap": "mmdebstrap"}, "building a Debian base image")
    if os.geteuid() != 0:
        raise PrerequisiteMissing(
            "building a Debian base image needs root",
            found=f"user id {os.geteuid()}",
            next_step="run it as root once, or make an image registry reachable",
        )
    report_progress(f"making a Debian base image with {what} (mmdebstrap)")
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(["sh", str(script)], stdout=subprocess.PIPE, stderr=errors) as process:
            assert process.stdout is not None
            chunks = iter(partial(process.stdout.read, 1 << 20), b"")
            try:
                imported = client.api.import_image_from_stream(chunks, changes=[f"LABEL {IMAGE_LABEL}=base"])
            except APIError as error:
                process.kill()
                raise PrerequisiteMissing(
                    "the Docker engine does not accept the Debian base image",
                    where=reference,
                    found=last_lines(str(error.explanation or error)),
                    next_step="look at the engine's log, and for free space on its disk",
                ) from error
        if process.returncode != 0:
            errors.seek(0)
            raise PrerequisiteMissing(
                "mmdebstrap could not make a Debian base image",
                where=str(script),
                found=last_lines(errors.read()),
                next_step="check that Debian's package mirror can be reached, then run this again",
            )
    # Tagged only now, so that an incomplete import is never used as the base.
    image_id = imported.strip().splitlines()[-1].split('"')[3]
    client.api.tag(image_id, *reference.split(":"))


def fetch_jars(version: str, target: Path) -> None:
    """Copy Kafka's jars of `version` with their runtime dependencies into `target`. Takes 3-10 s.

    Raises:
        PrerequisiteMissing: Maven could not resolve this version, or its repository lacks a part of it.
    """
    report_progress(f"fetching the jars of Kafka {version} (Maven)")
    pom = compose.context("kafka") / "pom.xml"
    profiles = ["-Plog4j2"] if int(version.split(".")[0]) >= 4 else []
    error = copy_dependencies(pom, target, f"-Dkafka.version={version}", *profiles)
    if error is not None or not any(target.glob("kafka_2.13-*.jar")):
        raise unresolved(f"Kafka {version}", pom, error)


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
