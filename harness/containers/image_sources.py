"""Fetches the parts of images that are built here: Debian with Java, and Kafka's jars."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from docker import DockerClient
from docker.errors import APIError

import compose
from harness.containers.engine import local_image
from harness.host.maven import copy_dependencies, last_lines, require_commands
from harness.model.errors import PrerequisiteMissing
from harness.model.progress import report_progress

IMAGE_LABEL = "kafka-chaos.image"
"""Marks our images; its value is "base", "kafka" or "toolbox"."""
ROOTFS_SCRIPT = compose.FOLDER / "base" / "rootfs.sh"


def base_reference() -> str:
    """The base image's name; compose/setup.sh computes the same tag with sha256sum."""
    return f"kafka-chaos/base:{hashlib.sha256(ROOTFS_SCRIPT.read_bytes()).hexdigest()[:12]}"


def build_base(client: DockerClient) -> str:
    """Build the base image (Debian and Java) unless it exists; returns its name. Takes about 30 s.

    Raises:
        PrerequisiteMissing: mmdebstrap is not installed, or failed.
    """
    reference = base_reference()
    if local_image(client, reference) is not None:
        return reference
    require_commands({"mmdebstrap": "mmdebstrap"}, "building a Debian base image")
    if os.geteuid() != 0:
        raise PrerequisiteMissing(
            "building a Debian base image needs root",
            found=f"user id {os.geteuid()}",
            next_step="run it as root once, or make an image registry reachable",
        )
    report_progress("making a Debian base image with Java (mmdebstrap)")
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(["sh", str(ROOTFS_SCRIPT)], stdout=subprocess.PIPE, stderr=errors) as process:
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
                where=str(ROOTFS_SCRIPT),
                found=last_lines(errors.read()),
                next_step="check that Debian's package mirror can be reached, then run this again",
            )
    # Tagged only now, so that an incomplete import is never used as the base.
    image_id = imported.strip().splitlines()[-1].split('"')[3]
    client.api.tag(image_id, *reference.split(":"))
    return reference


def fetch_jars(version: str, target: Path) -> None:
    """Copy Kafka's jars of `version` with their runtime dependencies into `target`. Takes 3-10 s.

    Raises:
        PrerequisiteMissing: Maven is not installed, or could not resolve this version.
    """
    require_commands({"mvn": "maven"}, "fetching Kafka's jars")
    report_progress(f"fetching the jars of Kafka {version} (Maven)")
    pom = compose.context("kafka") / "pom.xml"
    profiles = ["-Plog4j2"] if int(version.split(".")[0]) >= 4 else []
    error = copy_dependencies(pom, target, f"-Dkafka.version={version}", *profiles)
    if error is not None or not any(target.glob("kafka_2.13-*.jar")):
        raise PrerequisiteMissing(
            f"Maven could not resolve Kafka {version}",
            where=str(pom),
            found=error or "no jar of Kafka among its files",
            next_step="name a released Kafka version with --kafka-version, or an image with --image",
        )
