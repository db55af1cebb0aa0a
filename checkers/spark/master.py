"""Settings of a session for each kind of Spark master. Pure: nothing here starts Spark."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from harness.model.errors import BadInput
from harness.model.storage import s3_settings

LOCAL = re.compile(r"local(\[.*\])?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_KINDS = ("spark://", "sc://", "k8s://", "yarn")


@dataclass(frozen=True)
class SparkPlace:
    """The Spark that runs the checks.

    `settings` are Spark's own and override ours, `jars` are added to its class path, `driver_memory` is the
    heap of our JVM ("4g"; with Spark Connect the server has its own).
    """

    master: str = "local[*]"
    driver_memory: str = "4g"
    settings: Mapping[str, str] = field(default_factory=dict)
    jars: tuple[Path, ...] = ()

    @property
    def is_local(self) -> bool:
        return LOCAL.fullmatch(self.master) is not None

    @property
    def is_connect(self) -> bool:
        return self.master.startswith("sc://")

    @property
    def on_this_machine(self) -> bool:
        """Local, or a master that listens on the loopback address, so that all of it is here."""
        host = urlsplit(self.master.split(",")[0]).hostname if "://" in self.master else None
        return self.is_local or host in _LOOPBACK

    def checked(self) -> SparkPlace:
        """Itself.

        Raises:
            BadInput: it is no master of Spark's, or a Spark Connect server is to get jars.
        """
        if not self.is_local and not self.master.startswith(_KINDS):
            raise BadInput(
                "this is no Spark master",
                where=f"--spark-master {self.master}",
                expected="local[N], spark://host:port, sc://host:port (Spark Connect), k8s://... or yarn",
                next_step="correct it; see docs/how-to/scale.md",
            )
        if self.is_connect and self.jars:
            raise BadInput(
                "a Spark Connect server brings its own jars",
                where=f"--spark-master {self.master}",
                next_step="start the server with them (--jars), and run this without",
            )
        return self


def parse_settings(given: list[str]) -> dict[str, str]:
    """`spark.name=value`, ... as a mapping.

    Raises:
        BadInput: one is not of that form.
    """
    pairs = [setting.partition("=") for setting in given]
    for name, found, _ in pairs:
        if not found or not name.startswith("spark."):
            raise BadInput(
                "this is not a setting of Spark",
                where=f"--spark-conf {name}",
                expected="spark.name=value",
                next_step="correct it; Spark's documentation, Configuration, lists them",
            )
    return {name: value for name, _, value in pairs}


def cluster_settings(place: SparkPlace) -> dict[str, str]:
    """Settings of a session whose executors are other processes."""
    # Executors' Python workers read the journals too, with the environment of their executor.
    names = [name for name in os.environ if name.startswith("AWS_")]
    settings = {f"spark.executorEnv.{name}": os.environ[name] for name in names}
    # Spark's default pattern does not match the names of these variables; values that match are not logged.
    settings["spark.redaction.regex"] = r"(?i)secret|password|token|access[._]?key"
    if place.on_this_machine:
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def hadoop_s3_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's S3 settings from the environment; Spark itself takes the keys from there."""
    given = s3_settings(environment)
    settings = {}
    if endpoint := given.get("endpoint_override"):
        settings["spark.hadoop.fs.s3a.endpoint"] = endpoint
        # Only Amazon's own service has bucket names in the host name.
        settings["spark.hadoop.fs.s3a.path.style.access"] = "true"
        settings["spark.hadoop.fs.s3a.connection.ssl.enabled"] = str(endpoint.startswith("https")).lower()
    if region := given.get("region"):
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region
    return settings


def python_executable(place: SparkPlace, environment: Mapping[str, str]) -> str:
    """The interpreter of Python workers: ours where they run on this machine."""
    return sys.executable if place.on_this_machine else environment.get("PYSPARK_PYTHON", "python3")
