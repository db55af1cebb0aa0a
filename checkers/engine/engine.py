"""An engine as a check sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from checkers.engine.choice import EngineChoice
from checkers.engine.connect import engine_name, open_session, sail_name, spark_name
from checkers.engine.server import start_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class ConnectEngine:
    """An engine behind a Spark Connect server: at `url`, and called `told` (None: the server is asked).

    `settings` are set in the session, `send_code` gives the server's workers our code. If the server is ours,
    `stop` ends it, and `alive` says whether it still runs.
    """

    url: str
    told: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    send_code: bool = False
    stop: Callable[[], None] = lambda: None
    alive: Callable[[], bool] = lambda: True

    @cached_property
    def _session(self) -> SparkSession:
        return open_session(self.url, name=self.told, settings=self.settings, send_code=self.send_code)

    def session(self) -> SparkSession:
        """Its session, the same one every time.

        Raises:
            CheckError: it cannot be had (`checkers.engine.connect.open_session`).
        """
        return self._session

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
    engine = engine_of(server.url, choice)
    engine.stop, engine.alive = server.stop, lambda: server.alive
    return engine


def engine_of(url: str, choice: EngineChoice) -> ConnectEngine:
    """The engine of a choice whose server of ours runs at `url`."""
    if choice.engine == "sail":
        return ConnectEngine(url, sail_name(version("pysail")))
    from pyspark import __version__

    where = "local" if choice.is_local else choice.master
    return ConnectEngine(url, spark_name(__version__, where), send_code=not choice.is_local)
