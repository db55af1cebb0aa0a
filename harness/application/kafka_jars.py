"""Jars of Kafka's own applications (Streams, Connect, MirrorMaker) of any version, from Maven."""

from __future__ import annotations

from pathlib import Path

from harness.application.maven_jars import jars_of_pom

DEFAULT_VERSION = "4.3.1"
"""The version of Kafka Streams, Connect and MirrorMaker where none is asked for."""


def streams_jars(version: str = DEFAULT_VERSION) -> tuple[Path, ...]:
    """Kafka Streams and what it loads, without RocksDB (15 MB). Raises as `connect_jars`."""
    return jars_of_pom("kafka-streams", "Kafka Streams", {"kafka.version": version})


def connect_jars(version: str = DEFAULT_VERSION) -> tuple[Path, ...]:
    """A worker of Kafka Connect with MirrorMaker and the file connectors (34 MB).

    Raises:
        PrerequisiteMissing: Maven is missing, or cannot resolve this version.
    """
    return jars_of_pom("kafka-connect", "Kafka Connect and MirrorMaker", {"kafka.version": version})
