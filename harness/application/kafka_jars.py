"""Jars of Kafka's own applications (Streams, Connect, MirrorMaker) of any version, from Maven."""

from __future__ import annotations

import tempfile
from pathlib import Path

import compose
from harness.host.maven import copy_dependencies, jar_cache, require_commands
from harness.model.errors import PrerequisiteMissing
from harness.model.progress import report_progress

DEFAULT_VERSION = "4.3.1"
"""The version of Kafka Streams, Connect and MirrorMaker where none is asked for."""


def streams_jars(version: str = DEFAULT_VERSION) -> tuple[Path, ...]:
    """Kafka Streams and what it loads, without RocksDB (15 MB). Raises as `connect_jars`."""
    return _jars("kafka-streams", "Kafka Streams", version)


def connect_jars(version: str = DEFAULT_VERSION) -> tuple[Path, ...]:
    """A worker of Kafka Connect with MirrorMaker and the file connectors (34 MB).

    Raises:
        PrerequisiteMissing: Maven is missing, or cannot resolve this version.
    """
    return _jars("kafka-connect", "Kafka Connect and MirrorMaker", version)


def _jars(name: str, title: str, version: str) -> tuple[Path, ...]:
    folder = jar_cache() / f"{name}-{version}"
    if not folder.is_dir():
        purpose = f"{title} {version}"
        require_commands({"mvn": "maven"}, purpose)
        report_progress(f"fetching the jars of {purpose} (Maven)")
        folder.parent.mkdir(parents=True, exist_ok=True)
        pom = compose.FOLDER / "applications" / name / "pom.xml"
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder.parent) as scratch:
            fetched = Path(scratch) / name
            error = copy_dependencies(pom, fetched, f"-Dkafka.version={version}")
            if error is not None:
                raise PrerequisiteMissing(
                    f"Maven could not resolve the jars of {purpose}",
                    where=str(pom),
                    found=error,
                    next_step="use a released version, or check that Maven reaches its repository",
                )
            if not folder.is_dir():
                fetched.replace(folder)
    return tuple(sorted(folder.glob("*.jar")))
