"""An engine as a check sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checkers.engine.choice import EngineChoice
from checkers.engine.connect import engine_name, open_session, sail_name, spark_name
from checkers.engine.server import Server, start_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class ConnectEngine:
    """An engine behind a Spark Connect server: at `url`, and called `told` (None: the server is asked).

    `settings` are set in the session, `send_code` gives the server's workers our code. `server`: what this
    process has started, if it has.
    """

    url: str
    told: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    send_code: bool = False
    server: Server | None = None

    @cached_property
    def _session(self) -> SparkSession:
        return open_session(self.url, name=self.told, settings=self.settings, send_code=self.send_code)

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
        scratch, more_environment: as `checkers.engine.server.start_server` has them.

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
