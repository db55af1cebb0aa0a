"""Jars of Flink with a version of its Kafka connector, from Maven."""

from __future__ import annotations

import tempfile
from pathlib import Path

import compose
from harness.host.maven import copy_dependencies, jar_cache, require_commands
from harness.model.errors import PrerequisiteMissing
from harness.model.progress import report_progress

CONNECTORS = ("3.2.0-1.19", "3.3.0-1.19")
"""The versions of flink-connector-kafka that can be asked for; the first has FLINK-35749."""


def flink_jars(connector: str) -> tuple[Path, ...]:
    """Flink 1.19 with this version of its Kafka connector (52 jars, 78 MB).

    Raises:
        PrerequisiteMissing: Maven is missing, or cannot resolve them.
    """
    folder = jar_cache() / f"flink-{connector}"
    if not folder.is_dir():
        purpose = f"Flink with its Kafka connector {connector}"
        require_commands({"mvn": "maven"}, purpose)
        report_progress(f"fetching the jars of {purpose} (Maven)")
        folder.parent.mkdir(parents=True, exist_ok=True)
        pom = compose.FOLDER / "applications" / "flink" / "pom.xml"
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder.parent) as scratch:
            fetched = Path(scratch) / "flink"
            error = copy_dependencies(pom, fetched, f"-Dconnector.version={connector}")
            if error is not None:
                raise PrerequisiteMissing(
                    f"Maven could not resolve the jars of {purpose}",
                    where=str(pom),
                    found=error,
                    next_step="check that Maven reaches its repository, then run this again",
                )
            if not folder.is_dir():
                fetched.replace(folder)
    return tuple(sorted(folder.glob("*.jar")))
