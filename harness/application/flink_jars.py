"""Jars of Flink with a version of its Kafka connector, from Maven."""

from __future__ import annotations

from pathlib import Path

from harness.application.maven_jars import jars_of_pom

CONNECTORS = ("3.2.0-1.19", "3.3.0-1.19")
"""The versions of flink-connector-kafka that can be asked for; the first has FLINK-35749."""


def flink_jars(connector: str) -> tuple[Path, ...]:
    """Flink 1.19 with this version of its Kafka connector (52 jars, 78 MB).

    Raises:
        PrerequisiteMissing: Maven is missing, or cannot resolve them.
    """
    return jars_of_pom("flink", "Flink with its Kafka connector", {"connector.version": connector})
