"""The image of the proxy's containers: Python and kio. It is built when a cluster first needs it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from docker import DockerClient
from docker.errors import DockerException

import compose
from harness.cluster.containers import capabilities, image_build
from harness.cluster.containers.docker_engine import labels, local_image, pull
from harness.model.errors import PrerequisiteMissing
from harness.model.host.fetched import last_lines
from harness.model.progress import report_progress

PROXY = "kafka-chaos/proxy:1"
_PYTHON = "python:3.11-slim-bookworm"
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Names of processors in wheels, by Docker's."""


def proxy_image(client: DockerClient) -> str:
    """The reference of the proxy's image, built if needed.

    Raises:
        PrerequisiteMissing: it is not local and cannot be built.
    """
    if _up_to_date(client):
        return PROXY
    with image_build.one_at_a_time():
        if not _up_to_date(client):
            base = _base(client)
            with tempfile.TemporaryDirectory(prefix="kafka-chaos-image-") as scratch:
                stage = Path(scratch) / "context"
                shutil.copytree(compose.context("proxy"), stage)
                _fetch_wheels(client, base, stage / "wheels")
                report_progress(f"building {PROXY} on {base}")
                marks = {
                    image_build.IMAGE_LABEL: "proxy",
                    image_build.FINGERPRINT_LABEL: _fingerprint(),
                }
                image_build.docker_build(client, stage, PROXY, {"BASE": base}, marks, network="none")
    return PROXY


def _fingerprint() -> str:
    return image_build.fingerprint([compose.context("proxy")], version("kio"))


def _up_to_date(client: DockerClient) -> bool:
    image = local_image(client, PROXY)
    return image is not None and image.labels.get(image_build.FINGERPRINT_LABEL) == _fingerprint()


def _base(client: DockerClient) -> str:
    """An image with Python: the official one, or a Debian that is made here."""
    if local_image(client, _PYTHON) is not None:
        return _PYTHON
    script = compose.context("proxy") / "rootfs.sh"
    own = f"kafka-chaos/python:{image_build.fingerprint([script])}"
    if local_image(client, own) is not None:
        return own
    refusal = pull(client, _PYTHON)
    if refusal is None:
        return _PYTHON
    report_progress(f"{_PYTHON} cannot be pulled ({refusal})")
    image_build.import_debian(client, script, own, "Python")
    return own


def _fetch_wheels(client: DockerClient, base: str, folder: Path) -> None:
    """Fetch kio, of this environment's version, and what it needs, for the image's Python and processor.

    Raises:
        PrerequisiteMissing: pip cannot fetch them.
    """
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        python = (
            client.containers.run(
                base, ["python3", "-c", ask], remove=True, labels=labels(PROXY), **capabilities.NONE
            )
            .decode()
            .strip()
        )
    except DockerException as error:
        raise PrerequisiteMissing(
            "Python does not run in the base image", where=base, found=str(error)
        ) from error
    architecture = str(client.version()["Arch"])
    machine = _MACHINES.get(architecture, architecture)
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in range(36, 16, -1)]
    platforms.append(f"--platform=manylinux2014_{machine}")
    options = ["--quiet", "--only-binary=:all:", f"--python-version={python}", "--implementation=cp"]
    wanted = f"kio=={version('kio')}"
    report_progress(f"fetching {wanted} for Python {python} (pip)")
    command = [sys.executable, "-m", "pip", "download", *options, *platforms, f"--dest={folder}", wanted]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise PrerequisiteMissing(
            f"{wanted} for the proxy's image is not available",
            expected=f"a wheel for Python {python} on {machine} that pip can fetch",
            found=last_lines(run.stderr or run.stdout),
            next_step="check that pip is installed in this environment and reaches its package index",
        )
