"""A session over Spark Connect: the server has the JVM, and gets plans, our code and our settings.

Everything that the checks need is available there: DataFrames, SQL functions, `mapInArrow`, artifacts. A
client cannot change the server: heap, jars and file system settings are those with which it was started.
"""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from checkers.spark.executor_archive import write_zip
from checkers.spark.master import SparkPlace
from harness.model.errors import CheckError, PrerequisiteMissing

_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def connect_session(place: SparkPlace) -> SparkSession:
    """A session on the server that `place.master` (`sc://host:port`) names.

    Raises:
        PrerequisiteMissing: gRPC's Python packages are not installed.
        CheckError: no server answers there, or it refuses a setting or our code.
    """
    missing = [name for name in ("grpc", "grpc_status", "google.rpc") if not _is_importable(name)]
    if missing:
        raise PrerequisiteMissing(
            "Spark Connect needs Python packages that are not installed",
            where=place.master,
            found=f"no module {', '.join(missing)}",
            next_step="install them: pip install 'kafka-chaos[connect]'",
        )
    try:
        session = SparkSession.builder.remote(place.master).getOrCreate()
        for name, value in {**_SETTINGS, **place.settings}.items():
            session.conf.set(name, value)
        with tempfile.TemporaryDirectory(prefix="kafka-chaos-connect-") as scratch:
            session.addArtifacts(str(write_zip(Path(scratch) / "kafka-chaos.zip")), pyfile=True)
    except PySparkException as error:
        raise CheckError(
            "the Spark Connect server opened no session, so nothing was checked",
            where=place.master,
            found=(str(error).strip().splitlines() or [type(error).__name__])[0],
            next_step="check that it runs, can be reached from here, and accepts these settings",
        ) from error
    return session


def _is_importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
