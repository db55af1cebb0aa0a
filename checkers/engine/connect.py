"""Sessions over Spark Connect: the server has the JVM, or is Sail, and gets plans, our code and our settings.

A client cannot change the server: heap, jars and file system settings are those with which it was started.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from checkers.engine.failures import cause_of, is_failure
from harness.model.errors import CheckError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_SETTINGS = {"spark.sql.session.timeZone": "UTC", "spark.sql.execution.arrow.pyspark.enabled": "true"}
NO_CALL_SITES = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""Else every call of the API looks for IPython, to name the line of a notebook in errors. Apache Spark takes
the setting only when its server starts."""
_ANSWER_SECONDS = 10.0
"""How long a server may take to accept a connection."""

_RETRIES_HERE: dict[str, Any] = {"max_retries": 4, "initial_backoff": 100, "max_backoff": 1000}
"""For a server on this machine: a connection to it fails only if it has ended, which is told after 3 s. The
client's own policy retries for 10 minutes."""
_RETRIES_ELSEWHERE: dict[str, Any] = {"max_retries": 8, "initial_backoff": 100, "max_backoff": 8000}
"""Half a minute, since networks between machines do fail."""

_HERE = re.compile(r"sc://(127\.0\.0\.1|localhost|\[::1\])([:/;]|$)")

_RAISED_AS_WELL = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of PySpark that print an error of a query, with the JVM's stack, before it is raised."""

_names: dict[str, str] = {}
"""Session id -> name of the engine, of the sessions that were opened here."""


_ROOT = Path(__file__).resolve().parents[2]
_FILES = (
    "checkers/**/*.py",
    "workloads/**/*.py",
    "harness/model/**/*.py",
    "harness/__init__.py",
    "harness/check_jobs/__init__.py",
    "harness/check_jobs/spark_topic_reader.py",
)


def open_session(
    url: str, *, name: str | None = None, settings: Mapping[str, str] | None = None, send_code: bool = False
) -> SparkSession:
    """A new session on a Spark Connect server, in UTC.

    Args:
        url: `sc://host:port`, with parameters as Spark Connect has them (`;token=...`).
        name: what `engine_name` answers for the session; None: the server is asked.
        settings: settings of this session.
        send_code: whether the server's Python workers need our code sent, since they run on other machines.

    Raises:
        CheckError: nobody answers there, the server is older than our PySpark, it refuses a setting or our
            code, or this process has a classic session of Spark already.
    """
    _refuse_classic(url)
    # Without gRPC's handlers for forks, which may end children of this process; it reads this when it is
    # imported.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    from pyspark.logger import PySparkLogger
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    # The functions of `pyspark.sql.functions` look at this variable to know for whom they build columns.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    # What it warns of is raised as well.
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    for name_of_log in _RAISED_AS_WELL:
        PySparkLogger.getLogger(name_of_log).setLevel(logging.CRITICAL)
    try:
        here = _HERE.match(url) is not None
        builder = DefaultChannelBuilder(url, [("grpc.enable_http_proxy", 0)] if here else [])
        _await_answer(builder, url)
        session = ConnectSession.builder.channelBuilder(builder).create()
        session.client.set_retry_policies([DefaultPolicy(**(_RETRIES_HERE if here else _RETRIES_ELSEWHERE))])
        own = NO_CALL_SITES if name is not None and name.startswith("Sail ") else {}
        for setting, value in {**_SETTINGS, **own, **(settings or {})}.items():
            session.conf.set(setting, value)
        if send_code:
            with tempfile.TemporaryDirectory(prefix="kafka-chaos-connect-") as scratch:
                session.addArtifacts(str(write_zip(Path(scratch) / "kafka-chaos.zip")), pyfile=True)
        opened = cast("SparkSession", session)
        _refuse_older(opened, url)
        _names[session.session_id] = name or name_of_unknown(opened, public_url(url))
    except Exception as error:
        if not is_failure(error):
            raise
        raise CheckError(
            "the Spark Connect server opened no session, so nothing was checked",
            where=public_url(url),
            found=cause_of(error),
            next_step="check that it runs, can be reached from here, and accepts these settings",
        ) from error
    return opened


def public_url(url: str) -> str:
    """A server's URL without its parameters, among which are tokens."""
    return url.partition(";")[0].rstrip("/")


def engine_name(session: SparkSession) -> str:
    """Which engine a session is of, and its version: "Sail 0.7.2 (PySpark's API on an embedded engine)",
    "Apache Spark 4.2.1 (local)". A session of unknown origin is told by what it answers.

    Raises:
        PySparkException, grpc.RpcError: the session's server does not answer.
    """
    return _names.get(getattr(session, "session_id", "")) or name_of_unknown(session)


def name_of_unknown(session: SparkSession, where: str = "") -> str:
    """As `engine_name`, by asking the server; `where` is put behind the version of Spark."""
    # Spark answers its version and a git revision (Spark SQL, Built-in Functions, version), Sail its own
    # version alone, while `session.version` is the version of Spark whose API it speaks.
    answer = session.sql("select version()").collect()[0][0]
    if re.fullmatch(r"\d+\.\d+\.\d+\S*", answer) and answer != session.version:
        return sail_name(answer)
    return spark_name(session.version, where)


def sail_name(version: str) -> str:
    return f"Sail {version} (PySpark's API on an embedded engine)"


def spark_name(version: str, where: str = "") -> str:
    """`where`: "local", or a master."""
    return f"Apache Spark {version}" + (f" ({where})" if where else "")


def _await_answer(builder: Any, url: str) -> None:
    """Connect once, since the session would retry for minutes before it is told that nobody answers."""
    import grpc

    with builder.toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_ANSWER_SECONDS)
        except grpc.FutureTimeoutError:
            raise CheckError(
                "no Spark Connect server answers, so nothing was checked",
                where=public_url(url),
                expected=f"a connection within {_ANSWER_SECONDS:.0f} s",
                found="none",
                next_step="check that it runs and can be reached from here",
            ) from None


def _refuse_classic(url: str) -> None:
    """A process in which Spark runs by itself cannot be a client of a server as well."""
    core = sys.modules.get("pyspark.core.context")
    if core is not None and core.SparkContext._active_spark_context is not None:
        raise CheckError(
            "this process has a Spark session of its own, so it cannot use a Spark Connect server",
            where=public_url(url),
            next_step="stop that session first, or check from a process of its own: `kafka-chaos check`",
        )


def _refuse_older(session: SparkSession, url: str) -> None:
    """Spark Connect's clients work with servers of their own version and newer ones, not with older ones
    (Spark documentation, Spark Connect Overview)."""
    from pyspark import __version__ as ours

    oldest, theirs = (
        tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
        for version in (ours, session.version)
    )
    if theirs < oldest:
        raise CheckError(
            "the Spark Connect server is older than the PySpark here, so nothing was checked",
            where=public_url(url),
            expected=f"Spark {'.'.join(map(str, oldest))} or later",
            found=f"Spark {session.version}",
            next_step="update the server, or install kafka-chaos with that version of pyspark",
        )


def write_zip(target: Path) -> Path:
    """Write the part of our code that a session sends to executors on other machines, the modules that tasks
    and checks import, into `target`; returns it. They also need pyarrow, numpy, pydantic, and crc32c to
    decode values, in the Python that `PYSPARK_PYTHON` names there.

    Raises:
        OSError: it cannot be written.
    """
    # Zip has no dates before 1980, which files of a reproducible image may have.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in (path for pattern in _FILES for path in sorted(_ROOT.glob(pattern))):
            archive.write(path, path.relative_to(_ROOT))
    return target
