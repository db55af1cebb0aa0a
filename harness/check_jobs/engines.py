"""The engine of a command: decided on once, started once, and ended with the command.

A command has one server for each kind of engine that it asks for. Processes that it starts find the server
through the environment variable `KAFKA_CHAOS_ENGINE_SERVER` and use it too.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow.parquet as pq

from checkers import (
    SCRATCH_PREFIX,
    ConnectEngine,
    Decision,
    EngineChoice,
    EngineName,
    available_memory,
    decide,
    engine_of,
    java_of_spark,
    start_engine,
    usual_engine,
)
from harness.model.environment import ENGINE_SERVER_VARIABLE
from harness.model.host.processes import end_carrying, owner_has_ended, owner_label
from harness.model.journal import READS_DIR, RUN_FILE, SENDS_DIR
from harness.model.progress import report_progress
from harness.model.storage import StoragePath, s3_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARK = "KAFKA_CHAOS_ENGINE_OWNER"
"""Environment variable of a server's processes: the owner label of the command that started it."""
_OWNER_FILE = "owner"

Warm = Callable[["SparkSession"], object]

HEAD_START_SECONDS = 15.0
"""How long an engine that is started early waits for brokers. A JVM that starts beside theirs makes the boot
of three brokers a third slower on two cores."""

_lock = threading.Lock()
_wanted = threading.Event()
"""Set when an engine that is to be started early should start."""
_engines: dict[tuple[object, ...], Future[ConnectEngine]] = {}


def require_engine(choice: EngineChoice, usual: EngineName = "spark") -> Decision:
    """Decide which engine a choice means, and check that this machine can run it, before anything is started.

    Raises:
        BadInput: the choice contradicts itself.
        PrerequisiteMissing: it needs Java, and there is none.
    """
    decision = decide(choice, usual, os.environ, available_memory())
    if decision.engine == "spark" and not decision.choice.is_connect:
        java_of_spark(os.environ)
    return decision


def decide_for(choice: EngineChoice, folder: StoragePath) -> Decision:
    """The engine for the check of a saved run, by the number of rows in its journals."""
    rows = rows_in(folder)
    return require_engine(choice if choice.optimised else choice.for_rows(rows), usual_engine(rows))


def rows_in(folder: StoragePath) -> int | None:
    """The rows of a run's largest journals, from the footers of their files, or of the largest run in an
    experiment's folder; None: it is not on a local disk, so that reading the footers would take time. A
    damaged file counts as no rows, because the check reports it."""
    if not isinstance(folder, Path):
        return None
    runs = [folder, *(path.parent for path in folder.glob(f"*/{RUN_FILE}"))]
    return max(sum(map(_rows_of, (run / SENDS_DIR, run / READS_DIR))) for run in runs)


def _rows_of(journal: Path) -> int:
    rows = 0
    for path in journal.rglob("*.parquet"):
        with suppress(OSError, ValueError):
            rows += pq.read_metadata(path).num_rows
    return rows


def start_early(decision: Decision, warm: Warm | None = None) -> None:
    """Start the engine in the background, so that it is up when the first run is over, and call `warm` with
    its session. If it does not start, `engine` raises the error.

    It starts when `brokers_are_up` is called, or an engine is asked for, or after `HEAD_START_SECONDS`."""
    if decision.reason:
        report_progress(decision.reason)
    _wanted.clear()
    _begin(decision.choice, warm, early=True)


def brokers_are_up() -> None:
    """Start the engine that was waiting for them."""
    _wanted.set()


def open_engine(decision: Decision) -> ConnectEngine:
    """The engine that was decided on; reports its start as progress, and waits until it is up.

    Raises:
        PrerequisiteMissing, CheckError: it did not start.
    """
    report_progress(decision.reason or f"starting {decision.engine.capitalize()}")
    return engine(decision.choice)


def engine(choice: EngineChoice) -> ConnectEngine:
    """The engine of a choice that names one, when it is up. One that ended or did not start is started anew.

    Raises:
        PrerequisiteMissing, CheckError: it did not start.
    """
    _wanted.set()
    starting = _begin(choice)
    if starting.exception() is None and starting.result().alive():
        return starting.result()
    with _lock:
        if _engines.get(choice.key) is starting:
            del _engines[choice.key]
    starting.result().stop()
    return _begin(choice).result()


def stop_engines() -> None:
    """End the servers of this process. This is also done when the process ends."""
    with _lock:
        started = list(_engines.values())
        _engines.clear()
        os.environ.pop(ENGINE_SERVER_VARIABLE, None)
    for starting in started:
        # A server that is still starting ends by itself once this process has ended.
        if starting.done() and starting.exception() is None:
            starting.result().stop()


def sweep_engines(*, everything: bool = False) -> int:
    """Kill the processes of servers whose command has ended, or, with `everything`, of all commands of this
    machine, and remove their folders. Returns the number of processes."""
    ours = owner_label(os.getpid())

    def wanted(owner: str) -> bool:
        return owner != ours and (everything or owner_has_ended(owner))

    ended = end_carrying(MARK, wanted)
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}*"):
        with suppress(OSError):
            if wanted((folder / _OWNER_FILE).read_text()):
                shutil.rmtree(folder, ignore_errors=True)
    return ended


def _begin(choice: EngineChoice, warm: Warm | None = None, *, early: bool = False) -> Future[ConnectEngine]:
    with _lock:
        if choice.key in _engines:
            return _engines[choice.key]
        starting = _engines[choice.key] = Future[ConnectEngine]()

    def start() -> None:
        if early:
            _wanted.wait(HEAD_START_SECONDS)
        try:
            starting.set_result(_inherited(choice) or _started(choice))
        except BaseException as error:  # raised again by `Future.result`
            starting.set_exception(error)
        # What fails here fails in the check as well, which reports it.
        with suppress(Exception):
            if warm is not None:
                warm(starting.result().session())

    threading.Thread(target=start, name="engine", daemon=True).start()
    return starting


def _inherited(choice: EngineChoice) -> ConnectEngine | None:
    """The engine that the command which started this process has for the same choice."""
    url = _servers().get(server_key(choice))
    if url is None:
        return None
    server = urlsplit(url)
    with suppress(OSError):  # It may have ended meanwhile.
        socket.create_connection((server.hostname, server.port), timeout=1).close()
        return engine_of(url, choice)
    return None


def _started(choice: EngineChoice) -> ConnectEngine:
    owner = owner_label(os.getpid())
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX))
    (scratch / _OWNER_FILE).write_text(owner)
    started = start_engine(choice, scratch=scratch, more_environment={MARK: owner})
    with _lock:
        os.environ[ENGINE_SERVER_VARIABLE] = json.dumps({**_servers(), server_key(choice): started.url})
    return started


def server_key(choice: EngineChoice) -> str:
    """Equal for choices that one server can serve from here: a server has the settings of object stores with
    which it was started. Hashed, since the keys of a store are among them."""
    served = repr((choice.key, sorted(s3_settings(os.environ).items())))
    return hashlib.sha256(served.encode()).hexdigest()


def _servers() -> dict[str, str]:
    """The URLs of the servers that this process may use, by `server_key`."""
    servers: dict[str, str] = json.loads(os.environ.get(ENGINE_SERVER_VARIABLE, "{}"))
    return servers


atexit.register(stop_engines)
