"""A server process of ours, Sail or Apache Spark as a Spark Connect server, and the engine that a check sees.

A server listens on 127.0.0.1 only, prints nothing to the terminal, and ends with this process, however that
ends (`checkers.engine.supervisor`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checkers.engine import spark_server
from checkers.engine.choice import EngineChoice
from checkers.engine.connect import engine_name, open_session, sail_name, spark_name
from checkers.engine.supervisor import LOG, how_it_ended
from harness.model.errors import CheckError
from harness.model.storage import s3_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_START_SECONDS = 300.0
_END_SECONDS = 10.0

SCRATCH_PREFIX = "kafka-chaos-engine-"
NICE = 19
"""Brokers and producers, which are measured, go before a server."""

_REMEDIES = {
    r"BindException|failed to bind": "leave out the port, so that a free one is taken, or name another one",
    r"heap": "give --driver-memory a size that this machine has free, such as 4g",
}
"""What to do about some reasons why Spark does not start, by patterns that these contain."""

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Server:
    """A running server: its URL (with a secret, if it asks for one), its folder, and its supervisor."""

    url: str
    scratch: Path
    supervisor: subprocess.Popen[str]

    @property
    def alive(self) -> bool:
        return self.supervisor.poll() is None

    def stop(self, seconds: float = _END_SECONDS) -> None:
        """End it and remove its folder; returns when it is gone. It is killed if that takes longer."""
        for pipe in (self.supervisor.stdin, self.supervisor.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self.supervisor.wait(seconds)
        except subprocess.TimeoutExpired:
            self.supervisor.kill()
            self.supervisor.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)


def start_server(
    choice: EngineChoice,
    *,
    scratch: Path | None = None,
    more_environment: Mapping[str, str] | None = None,
    archive: Path | None = None,
) -> Server:
    """Start the server of a choice whose engine is "sail" or "spark", and wait until it listens.

    Args:
        scratch: folder for its log, spills and temporary files, removed at the end (None: a temporary one).
        more_environment: variables of its process, by which somebody else can recognise it.
        archive: where Spark's JVM writes an archive of its classes when it is stopped
            (`checkers.make_class_data`).

    Raises:
        PrerequisiteMissing: no Java, or one older than 17.
        CheckError: it did not start; the reason comes from its log.
    """
    scratch = (scratch or Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX))).resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    environment = _environment(scratch) | dict(more_environment or {})
    command, parameters = None, ""
    try:
        if choice.engine == "spark":
            command = _spark_command(choice, scratch, archive)
            token = secrets.token_urlsafe(24)
            environment |= _environment_of_spark(choice, token)
            parameters = f"/;authorization=Bearer%20{token}"
        else:
            # A command asks again after any time; Sail would end a session after 15 idle minutes.
            environment.setdefault("SAIL_SPARK__SESSION_TIMEOUT_SECS", str(365 * 24 * 3600))
            if s3_settings(os.environ).get("endpoint_override", "").startswith("http://"):
                # Sail reads the variables `AWS_*` itself, but talks without TLS only where it is told to.
                environment["AWS_ALLOW_HTTP"] = "true"
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    with (scratch / LOG).open("ab") as log:
        supervisor = subprocess.Popen(
            # -P: modules of the folder that this process was started in are not the server's.
            [sys.executable, "-P", "-m", "checkers.engine.supervisor"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            cwd=scratch,
            text=True,
            start_new_session=True,  # Ctrl-C in a terminal is for the command, which then ends it
        )
    job = {
        "scratch": str(scratch),
        "nice": NICE,
        "java": command,
        "seconds": _START_SECONDS,
        "polite": archive is not None,
    }
    answer = _ask(supervisor, job)
    server = Server(answer.get("url", "") + parameters, scratch, supervisor)
    if "url" in answer:
        return server
    server.stop()
    reason = answer.get("error") or how_it_ended(supervisor.returncode)
    if choice.engine == "sail":
        raise CheckError(
            "Sail did not start, so nothing was checked; the journals are untouched",
            where="the embedded engine (pysail)",
            found=reason,
            next_step="check the machine's free memory, or use Apache Spark: --engine spark",
        )
    raise CheckError(
        "Spark did not start, so nothing was checked; the journals are untouched",
        where=f"master {choice.master}, driver memory {choice.driver_memory}",
        found=reason,
        next_step=_remedy(reason, choice) + ", then run `kafka-chaos check` again",
    )


def _remedy(reason: str, choice: EngineChoice) -> str:
    known = (what for pattern, what in _REMEDIES.items() if re.search(pattern, reason, re.IGNORECASE))
    master = "" if choice.is_local else " and that the master answers"
    return next(known, f"check that the machine has this much free memory{master}")


def _ask(supervisor: subprocess.Popen[str], job: object) -> dict[str, str]:
    assert supervisor.stdin is not None
    assert supervisor.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        supervisor.stdin.write(json.dumps(job) + "\n")
        supervisor.stdin.flush()
    answer: dict[str, str] = json.loads(supervisor.stdout.readline().strip() or "{}")
    return answer


def _environment(scratch: Path) -> dict[str, str]:
    """Of every server: Python workers must import what stands beside this package, wherever this process was
    started, and leave their temporary files in the server's folder."""
    # A client's variables would make the server's Python workers clients as well.
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SPARK_CONNECT_") and name != "SPARK_REMOTE"
    }
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    ours = [] if str(_ROOT) in paths else [str(_ROOT)]
    return kept | {"PYTHONPATH": os.pathsep.join([*ours, *paths]), "TMPDIR": str(scratch)}


def _environment_of_spark(choice: EngineChoice, token: str) -> dict[str, str]:
    """The host name, which may not resolve in a sandbox, must not matter; other users of this machine must
    not be able to use the server."""
    own = {
        "SPARK_HOME": str(spark_server.spark_home()),
        "SPARK_SCALA_VERSION": "2.13",
        "PYSPARK_PYTHON": spark_server.python_executable(choice, os.environ),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
    }
    return own | ({"SPARK_LOCAL_IP": "127.0.0.1"} if choice.on_this_machine else {})


def _spark_command(choice: EngineChoice, scratch: Path, archive: Path | None) -> list[str]:
    java = spark_server.java_of_spark(os.environ)
    log4j = scratch / "log4j2.properties"
    log4j.write_text(spark_server.LOG4J)
    settings = spark_server.server_settings(choice, scratch, os.environ)
    return spark_server.server_command(java, choice, settings, log4j, archive=archive)


@dataclass
class ConnectEngine:
    """An engine behind a Spark Connect server: at `url`, and called `name` (None: the server is asked).

    `settings` are set in the session, `send_code` gives the server's workers our code. `server`: what this
    process has started, if it has.
    """

    url: str
    name: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    send_code: bool = False
    server: Server | None = None

    @cached_property
    def _session(self) -> SparkSession:
        return open_session(self.url, name=self.name, settings=self.settings, send_code=self.send_code)

    def session(self) -> SparkSession:
        """Its session, the same one every time.

        Raises:
            CheckError: it cannot be had (`checkers.engine.connect.open_session`).
        """
        return self._session

    def alive(self) -> bool:
        """Whether its server still runs, if that is ours."""
        return self.server is None or self.server.alive

    def stop(self) -> None:
        """End its server, if that is ours."""
        if self.server is None:
            return
        if "_session" in self.__dict__:
            # Else PySpark asks the server once more when this process ends, and tries again for seconds.
            session: Any = self._session
            session.client.close()
        self.server.stop()

    def describe(self) -> str:
        """What people read: `checkers.engine.connect.engine_name` of its session."""
        return engine_name(self._session)


def start_engine(
    choice: EngineChoice, *, scratch: Path | None = None, more_environment: Mapping[str, str] | None = None
) -> ConnectEngine:
    """The engine of a choice that names one ("spark" or "sail"). A server of ours is started; `stop` ends it.

    Args:
        scratch, more_environment: as `start_server` has them.

    Raises:
        PrerequisiteMissing, CheckError: a server of ours does not start.
    """
    if choice.engine == "auto":
        raise ValueError("an engine must be decided on first")
    if choice.is_connect:
        return ConnectEngine(choice.master, settings=choice.settings, send_code=True)
    server = start_server(choice, scratch=scratch, more_environment=more_environment)
    return replace(engine_of(server.url, choice), server=server)


def engine_of(url: str, choice: EngineChoice) -> ConnectEngine:
    """The engine of a choice whose server of ours runs at `url`."""
    if choice.engine == "sail":
        return ConnectEngine(url, sail_name(version("pysail")))
    from pyspark import __version__

    where = "local" if choice.is_local else choice.master
    return ConnectEngine(url, spark_name(__version__, where), send_code=not choice.is_local)
