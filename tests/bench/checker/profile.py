"""Every request that a check sends to its engine: seconds, processor seconds, rows scanned, bytes written."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import pyarrow.parquet as pq
from pyspark.sql.connect.client.core import SparkConnectClient

from tests.bench.checker.processes import use_of

_METHODS = {
    "to_table": "plan",
    "execute_command": "command",
    "_analyze": "schema",
    "schema": "schema",
    "config": "settings",
}
"""The methods of the client that send a request, and what kind of request that is."""
_PATH = re.compile(r'paths: "(?:file://)?([^"]+)"')


@dataclass(frozen=True)
class Request:
    """One request: what of the check sent it, its seconds, and the processor seconds that all processes used
    meanwhile, also for a request beside it.

    `scanned` are rows, by the folder of the journal or of the intermediate result, once for each time that
    the plan reads it; `written` are the bytes that are in the scratch folder and the findings more than
    before.
    """

    sender: str
    kind: str
    seconds: float
    cpu_seconds: float
    scanned: dict[str, int]
    written: int


class Profile:
    """Notes all requests of this process to an engine while it is open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.requests: list[Request] = []
        self._of_thread = threading.local()
        self._rows: dict[str, int] = {}

    @contextmanager
    def open(self) -> Iterator[None]:
        self.requests.clear()
        self._rows.clear()  # each pass writes other findings
        with ExitStack() as stack:
            for name, kind in _METHODS.items():
                original = getattr(SparkConnectClient, name)
                stack.enter_context(mock.patch.object(SparkConnectClient, name, self._noting(original, kind)))
            yield

    def _noting(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def request(client: SparkConnectClient, *args: Any, **named: Any) -> Any:
            if getattr(self._of_thread, "asking", False):  # one request is made of another
                return original(client, *args, **named)
            self._of_thread.asking = True
            sender = _sender(sys._getframe(1))
            written, used = self._bytes, use_of(os.getpid()).cpu_seconds
            began = time.perf_counter()
            try:
                return original(client, *args, **named)
            finally:
                seconds = time.perf_counter() - began
                cpu = use_of(os.getpid()).cpu_seconds - used
                scanned = self._scanned(str(args[0])) if kind in ("plan", "command") else {}
                self.requests.append(
                    Request(sender, kind, seconds, cpu, scanned, max(0, self._bytes - written))
                )
                self._of_thread.asking = False

        return request

    def _scanned(self, plan: str) -> dict[str, int]:
        """Rows by the folder of what a plan reads, as the text of its protocol buffer says."""
        scanned: Counter[str] = Counter()
        for path in _PATH.findall(plan):
            scanned[_journal(Path(path))] += self._rows_in(path)
        return scanned

    def _rows_in(self, path: str) -> int:
        if path not in self._rows:
            place = Path(path)
            files = [place] if place.is_file() else sorted(place.rglob("*.parquet"))
            self._rows[path] = sum(pq.read_metadata(file).num_rows for file in files)
        return self._rows[path]

    @property
    def _bytes(self) -> int:
        """What intermediate results and findings have in bytes."""
        return sum(
            file.stat().st_size
            for folder in self._folder.iterdir()
            if folder.is_dir() and folder.name not in ("sends", "reads", "live", "committed")
            for file in folder.rglob("*.parquet")
        )

    @cached_property
    def journals(self) -> dict[str, int]:
        """The rows of the sends and of the final read."""
        return {name: self._rows_in(str(self._folder / name)) for name in ("sends", "reads")}


def _journal(path: Path) -> str:
    folder = path.parent if path.suffix == ".parquet" else path
    return folder.name


def _sender(frame: FrameType | None) -> str:
    """The nearest function of `checkers` that is not a helper of all: file and name."""
    names = []
    while frame is not None:
        file = frame.f_code.co_filename
        if "/checkers/" in file:
            names.append(f"{file.rpartition('/checkers/')[2]} {frame.f_code.co_name}")
        frame = frame.f_back
    helpers = ("journals/views.py", "sql.py", "check.py", "classes/classify.py")
    return next((name for name in names if not name.startswith(helpers)), names[0] if names else "-")


def table(requests: list[Request], journals: dict[str, int]) -> str:
    """One line per sender of plans, in order, then the sums, as Markdown."""
    head = ("step", "requests", "s", "CPU s", "scans of sends", "scans of reads", "other rows", "KB written")
    lines = [head, ("---",) + ("---:",) * (len(head) - 1)]
    senders = list(dict.fromkeys(request.sender for request in requests))
    for sender in senders:
        lines.append(_row(sender, [each for each in requests if each.sender == sender], journals))
    lines.append(_row("all", requests, journals))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(name: str, requests: list[Request], journals: dict[str, int]) -> tuple[str, ...]:
    scanned: Counter[str] = Counter()
    for request in requests:
        scanned.update(request.scanned)
    others = sum(rows for journal, rows in scanned.items() if journal not in journals)
    return (
        name,
        str(len(requests)),
        f"{sum(request.seconds for request in requests):.2f}",
        f"{sum(request.cpu_seconds for request in requests):.1f}",
        *(f"{scanned[journal] / max(rows, 1):.0f}" for journal, rows in journals.items()),
        f"{others:,}",
        f"{sum(request.written for request in requests) / 1024:,.0f}",
    )
