"""Chooses images: one on this machine, one that can be pulled, or one that is built here
(`harness.cluster.containers.image_build`).

`python -m harness.cluster.containers.images` pulls or builds the Kafka image and the toolbox if needed
(`kafka-chaos images` does so for another version or image).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Literal

from docker import DockerClient
from testcontainers.core.config import testcontainers_config

from harness.cluster.containers import image_build
from harness.cluster.containers.docker_engine import connect, local_image, pull, ryuk_available
from harness.cluster.containers.kept_images import keep, load_kept
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput, KafkaChaosError, PrerequisiteMissing
from harness.model.progress import progress_on_stdout, report_progress
from harness.model.run import ImageInfo

OFFICIAL = "apache/kafka"
OWN = "kafka-chaos/kafka"
TOOLBOX = "kafka-chaos/toolbox:1"
TOOLBOX_BASE = "debian:bookworm-slim"


def resolve(client: DockerClient, version: str = DEFAULT_VERSION, image: str | None = None) -> ImageInfo:
    """The Kafka image to use, pulled or built if it is not on this machine.

    With `image`: that image only, local or pulled. Without, the first of: `apache/kafka:<version>` if local,
    our own build of this version if local and up to date, `apache/kafka:<version>` pulled, our own built now.

    Raises:
        BadInput: `version` is not a version number.
        PrerequisiteMissing: no image is available; names each way that was tried.
    """
    if image is not None:
        if (here := present(client, image)) is not None:
            return here
        refusal = pull(client, image)
        if refusal is None:
            return _info(client.images.get(image), image, "pulled")
        raise PrerequisiteMissing(
            f"the image {image} is not available",
            expected="an image on this machine or one that can be pulled",
            found=f"not local; pull: {refusal}",
            next_step="load or build it, correct --image, or leave --image out",
        )
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise BadInput(
            "the Kafka version cannot be used",
            where="--kafka-version",
            expected=f"three numbers, for example {DEFAULT_VERSION}",
            found=version,
            next_step="name a released version, or an image with --image",
        )
    return _by_version(client, version)


def local(client: DockerClient, version: str = DEFAULT_VERSION) -> ImageInfo | None:
    """The local image of this version, official or our own if up to date; else None."""
    own = f"{OWN}:{version}"
    up_to_date = _is_up_to_date(client, own, image_build.kafka_fingerprint(version))
    return present(client, f"{OFFICIAL}:{version}") or (present(client, own) if up_to_date else None)


def present(client: DockerClient, reference: str) -> ImageInfo | None:
    """This image, if it is local; else None."""
    image = local_image(client, reference)
    return None if image is None else _info(image, reference, "local")


def refusal_of(reference: str) -> str | None:
    """Pull an image unless it is on this machine; returns why it cannot be had, None: it is there.

    Raises:
        PrerequisiteMissing: there is no container engine.
    """
    client = connect()
    try:
        return None if local_image(client, reference) is not None else pull(client, reference)
    finally:
        client.close()


def require_image(reference: str, whose: str, where: str) -> None:
    """Pull an image that a user has named, unless it is here; a message names `whose` it is, and `where`.

    Raises:
        BadInput: it is neither here nor in a registry that answers.
        PrerequisiteMissing: there is no container engine.
    """
    if (refusal := refusal_of(reference)) is not None:
        raise BadInput(
            f"the image of {whose} is not available",
            where=f"{where}: {reference}",
            expected="an image on this machine, or in a registry that answers",
            found=refusal,
            next_step="build or load it: `docker build -t NAME .`, `docker load`",
        )


def _by_version(client: DockerClient, version: str) -> ImageInfo:
    official, own = f"{OFFICIAL}:{version}", f"{OWN}:{version}"
    if (here := local(client, version)) is not None:
        return here
    refusal = pull(client, official)
    if refusal is None:
        return _info(client.images.get(official), official, "pulled")
    report_progress(f"{official} cannot be pulled ({refusal}); building {own} here")
    with image_build.one_at_a_time():
        if (here := local(client, version)) is not None:
            return here
        try:
            image_build.build_kafka(client, version, own)
        except PrerequisiteMissing as error:
            raise PrerequisiteMissing(
                f"no image of Kafka {version} is available",
                where=error.where,
                expected=f"{official} or {own} on this machine, {official} pulled, or {own} built here",
                found=f"neither is local; pull: {refusal}; build: {error.what}: {error.found}",
                next_step=error.next_step,
            ) from error
    return _info(client.images.get(own), own, "built")


def local_toolbox(client: DockerClient) -> str | None:
    """The toolbox's reference if it is local and up to date; else None."""
    return TOOLBOX if _is_up_to_date(client, TOOLBOX, image_build.toolbox_fingerprint()) else None


def toolbox(client: DockerClient) -> str:
    """The reference of the sidecar image (iptables, iproute2, procps, libfaketime; no volumes), built if
    needed.

    Raises:
        PrerequisiteMissing: it is not local and cannot be built.
    """
    if local_toolbox(client) is not None:
        return TOOLBOX
    with image_build.one_at_a_time():
        if local_toolbox(client) is not None:
            return TOOLBOX
        if local_image(client, image_build.base_reference()) is None:
            refusal = None if local_image(client, TOOLBOX_BASE) is not None else pull(client, TOOLBOX_BASE)
            if refusal is None:
                try:
                    image_build.build_toolbox(client, TOOLBOX, TOOLBOX_BASE, "default")
                    return TOOLBOX
                except PrerequisiteMissing as error:
                    report_progress(f"{error.what} on {TOOLBOX_BASE}: {error.found}")
            else:
                report_progress(f"{TOOLBOX_BASE} cannot be pulled ({refusal})")
        base = image_build.build_base(client)
        image_build.build_toolbox(client, TOOLBOX, base, "none")
    return TOOLBOX


def _is_up_to_date(client: DockerClient, reference: str, fingerprint: str) -> bool:
    image = local_image(client, reference)
    return image is not None and (image.labels or {}).get(image_build.FINGERPRINT_LABEL) == fingerprint


def _info(image: Any, reference: str, origin: Literal["local", "pulled", "built"]) -> ImageInfo:
    digests = image.attrs.get("RepoDigests") or []
    tag = re.search(r":v?(\d+\.\d+\.\d+)", reference)
    labelled = (image.labels or {}).get(image_build.VERSION_LABEL, "")
    version = labelled if re.fullmatch(r"\d+\.\d+\.\d+", labelled) else tag.group(1) if tag else "unknown"
    digest = digests[0] if digests else image.id
    return ImageInfo(reference=reference, digest=digest, origin=origin, kafka_version=version)


def prepare(version: str = DEFAULT_VERSION, image: str | None = None, kept: Path | None = None) -> None:
    """Pull or build the Kafka image and the toolbox if needed, and report how as progress. With a folder
    `kept`, first load from it what is missing, and write to it what it lacks; Testcontainers' reaper, too.

    Raises:
        BadInput: `version` is not a version number, or the folder cannot be written.
        PrerequisiteMissing: no engine answers, or no image is available.
    """
    with progress_on_stdout("images: "):
        client = connect()
        reaper = testcontainers_config.ryuk_image
        if kept is not None:
            kafka = (f"{OFFICIAL}:{version}", f"{OWN}:{version}") if image is None else (image,)
            load_kept(client, kept, (*kafka, TOOLBOX, reaper))
        info = resolve(client, version, image)
        report_progress(f"{info.reference} {info.origin}, Kafka {info.kafka_version}, {info.digest[:19]}")
        report_progress(f"{toolbox(client)} ready")
        if kept is not None:
            ryuk_available(client)  # pulls it, where that is possible
            keep(client, kept, (info.reference, TOOLBOX, reaper))


if __name__ == "__main__":
    try:
        prepare()
    except KafkaChaosError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
