"""Other versions of confluent-kafka, each in a folder of its own that a process can load."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from harness.host.maven import jar_cache, last_lines
from harness.model.errors import PrerequisiteMissing

_PACKAGE = "confluent-kafka"


def confluent_kafka(version: str) -> Path:
    """The folder with confluent-kafka of a version: from the cache beside that of jars, else installed there
    by pip from a wheel (about 10 MB).

    Raises:
        PrerequisiteMissing: pip cannot install it.
    """
    folder = jar_cache().parent / "python" / f"{_PACKAGE}-{version}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder.parent) as scratch:
        target = Path(scratch) / folder.name
        options = ("--quiet", "--no-deps", "--only-binary", ":all:", "--no-warn-conflicts")
        command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target)]
        run = subprocess.run(
            [*command, f"{_PACKAGE}=={version}"], capture_output=True, text=True, check=False
        )
        if run.returncode != 0:
            raise PrerequisiteMissing(
                f"{_PACKAGE} {version} is not available",
                where="the version of a reader",
                expected="a version that pip can install for this Python from a wheel",
                found=last_lines(run.stderr or run.stdout),
                next_step="use a released version, or check that pip reaches its package index",
            )
        target.replace(folder)
    return folder
