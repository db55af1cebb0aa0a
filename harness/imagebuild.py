"""Images made on this machine where no image registry can be reached.

A Debian with Java comes from `compose/base/rootfs.sh`, Kafka's jars from Maven with `compose/kafka/pom.xml`;
the rest is `docker build` without network. Every image carries the fingerprint of what it was made from, so
that an image of an older context is recognised and made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import APIError, BuildError, ImageNotFound

import compose
from harness.model.errors import PrerequisiteMissing

Say = Callable[[str], None]

IMAGE_LABEL = "kafka-chaos.image"
"""Marks our images; its value is "base", "kafka" or "toolbox"."""
FINGERPRINT_LABEL = "kafka-chaos.fingerprint"
VERSION_LABEL = "org.opencontainers.image.version"
ROOTFS_SCRIPT = Path(compose.__file__).resolve().parent / "base" / "rootfs.sh"


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


def base_reference() -> str:
    """The base image's name; compose/setup.sh makes the same tag with sha256sum."""
    return f"kafka-chaos/base:{hashlib.sha256(ROOTFS_SCRIPT.read_bytes()).hexdigest()[:12]}"


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold this user's build lock: two processes never build the same image at once."""
    path = Path(tempfile.gettempdir()) / f"kafka-chaos-images-{os.getuid()}.lock"
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def require_commands(packages: dict[str, str], purpose: str, say: Say) -> None:
    """See that each command (key) is there; where we are root on Debian, install its package (value).

    Raises:
        PrerequisiteMissing: a command is missing and cannot be installed here.
    """
    missing = {command: package for command, package in packages.items() if shutil.which(command) is None}
    if not missing:
        return
    names = " ".join(sorted(missing.values()))
    if os.geteuid() == 0 and Path("/etc/debian_version").exists() and shutil.which("apt-get"):
        say(f"installing {names}")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        install = f"apt-get install -y -qq --no-install-recommends {names}"
        # The lists may be fresh already; a mirror of something else that fails to update does not matter.
        script = f"{install} || {{ apt-get update -qq; {install}; }}"
        run = subprocess.run(
            ["sh", "-c", script], env=environment, capture_output=True, text=True, check=False
        )
        if run.returncode == 0:
            return
        found = last_lines(run.stderr)
    else:
        found = f"no {' and no '.join(sorted(missing))} on PATH"
    raise PrerequisiteMissing(
        f"{purpose} needs {' and '.join(sorted(missing))}",
        found=found,
        next_step=f"install {names} (Debian's package names), or make an image registry reachable",
    )


def build_base(client: DockerClient, say: Say) -> str:
    """Make the Debian + Java base image unless it is there; returns its name. About 30 s.

    Raises:
        PrerequisiteMissing: mmdebstrap is not to be had here, or failed.
    """
    reference = base_reference()
    if _exists(client, reference):
        return reference
    require_commands({"mmdebstrap": "mmdebstrap"}, "building a Debian base image", say)
    if os.geteuid() != 0:
        raise PrerequisiteMissing(
            "building a Debian base image needs root",
            found=f"user id {os.geteuid()}",
            next_step="run it as root once, or make an image registry reachable",
        )
    say("making a Debian base image with Java (mmdebstrap)")
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(["sh", str(ROOTFS_SCRIPT)], stdout=subprocess.PIPE, stderr=errors) as process:
            assert process.stdout is not None
            blocks = iter(partial(process.stdout.read, 1 << 20), b"")
            try:
                imported = client.api.import_image_from_stream(blocks, changes=[f"LABEL {IMAGE_LABEL}=base"])
            except APIError as error:
                process.kill()
                raise PrerequisiteMissing(
                    "the Docker engine does not take the Debian base image",
                    where=reference,
                    found=last_lines(str(error.explanation or error)),
                    next_step="look at the engine's log, and for room on its disk",
                ) from error
        if process.returncode != 0:
            errors.seek(0)
            raise PrerequisiteMissing(
                "mmdebstrap could not make a Debian base image",
                where=str(ROOTFS_SCRIPT),
                found=last_lines(errors.read()),
                next_step="see whether Debian's package mirror can be reached, then run this again",
            )
    # Named only now: a half-written import is never taken for the base.
    image_id = imported.strip().splitlines()[-1].split('"')[3]
    client.api.tag(image_id, *reference.split(":"))
    return reference


def fetch_jars(version: str, target: Path, say: Say) -> None:
    """Copy Kafka's jars of `version` and all they need to run into `target`. 3-10 s.

    Raises:
        PrerequisiteMissing: Maven is not to be had here, or could not resolve this version.
    """
    require_commands({"mvn": "maven"}, "fetching Kafka's jars", say)
    say(f"fetching the jars of Kafka {version} (Maven)")
    pom = compose.context("kafka") / "pom.xml"
    profiles = ["-Plog4j2"] if int(version.split(".")[0]) >= 4 else []
    command = ["mvn", "-B", "-q", "-f", str(pom), f"-Dkafka.version={version}", *profiles]
    command += ["dependency:copy-dependencies", f"-DoutputDirectory={target}", "-DincludeScope=runtime"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0 or not any(target.glob("kafka_2.13-*.jar")):
        raise PrerequisiteMissing(
            f"Maven could not resolve Kafka {version}",
            where=str(pom),
            found=last_lines(run.stdout + run.stderr),
            next_step="name a released Kafka version with --kafka-version, or an image with --image",
        )


def build_kafka(client: DockerClient, version: str, reference: str, say: Say) -> None:
    """Build the Kafka image `reference` of `version`, with the interface of the official image.

    Raises:
        PrerequisiteMissing: a tool or download it is made from is not to be had, or the build failed.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-image-") as scratch:
        stage = Path(scratch) / "context"
        shutil.copytree(compose.context("kafka"), stage)
        # apt-get does not run twice at once: all that the two parallel downloads need comes first.
        wanted = {"mvn": "maven"} | (
            {} if _exists(client, base_reference()) else {"mmdebstrap": "mmdebstrap"}
        )
        require_commands(wanted, "building a Kafka image", say)
        with ThreadPoolExecutor(2) as pool:
            base = pool.submit(build_base, client, say)
            pool.submit(fetch_jars, version, stage / "libs", say).result()
            arguments = {"BASE": base.result()}
        say(f"building {reference}")
        labels = {IMAGE_LABEL: "kafka", FINGERPRINT_LABEL: kafka_fingerprint(version), VERSION_LABEL: version}
        docker_build(client, stage, reference, arguments, labels, network="none")


def build_toolbox(client: DockerClient, reference: str, base: str, network: str, say: Say) -> None:
    """Build the toolbox image on `base`: a Debian that has the packages or reaches a mirror over `network`.

    Raises:
        PrerequisiteMissing: the build failed.
    """
    say(f"building {reference} on {base}")
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
    """`docker build` of `folder`; the image that bore the name before goes if nothing uses it.

    Raises:
        PrerequisiteMissing: the build failed; says with its last lines why.
    """
    try:
        old = client.images.get(reference).id
    except ImageNotFound:
        old = None
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
    if old is not None and old != image.id:
        try:
            client.images.remove(old)
        except APIError as error:
            # A container of the old image still runs; the next `kafka-chaos clean --all` takes it.
            if error.status_code not in (404, 409):
                raise


def _exists(client: DockerClient, reference: str) -> bool:
    try:
        client.images.get(reference)
    except ImageNotFound:
        return False
    return True


def _build_output(error: Any) -> str:
    log = getattr(error, "build_log", ())
    text = "".join(str(part.get("stream") or part.get("error") or "") for part in log)
    return last_lines(text or str(error))


def last_lines(text: str, count: int = 8) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n            ".join(lines[-count:]) or "nothing was printed"
