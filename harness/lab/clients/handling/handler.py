"""What consumers in Python share: the handler of a record, its journal, and what happens to this process."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.tracebacklimit = 0  # What the handler raises is in the journal.
IDENTITY_BYTES = 28


class HandlerFailed(Exception): ...


class Handler:
    """Handles records, and journals each one once it is handled. `ends` is what happens to this process: "",
    kill, stop, error-raised, error-caught or error-closed."""

    def __init__(self, library: str) -> None:
        folder, instance = Path(os.environ["KAFKA_CHAOS_DELIVERIES"]), os.environ["KAFKA_CHAOS_INSTANCE"]
        folder.mkdir(parents=True, exist_ok=True)
        is_first = instance == "0" and not any(folder.glob("0-*.jsonl"))
        self.ends = os.environ["KAFKA_CHAOS_ENDS"] if is_first else ""
        self.seconds = float(os.environ["KAFKA_CHAOS_HANDLE_MS"]) / 1000
        self.join_seconds = int(instance) * int(os.environ["KAFKA_CHAOS_JOIN_MS"]) / 1000
        self._after = int(os.environ["KAFKA_CHAOS_AFTER"] or 0)
        path = folder / f"{instance}-{time.time_ns() // 1_000_000}.jsonl"
        self._journal = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._handled, self._failed = 0, False
        self.tell("begin", client=f"{library} {version(library)}")

    @property
    def stops(self) -> bool:
        """Whether the program shall leave its loop now."""
        return self.ends == "stop" and self._handled == self._after

    def handle(self, partition: int, offset: int, key: bytes | None, value: bytes | None) -> None:
        self.take()
        time.sleep(self.seconds)
        self.done(partition, offset, key, value)

    def take(self) -> None:
        """A record is in hand."""
        if self.ends == "kill" and self._handled == self._after:
            os.kill(os.getpid(), signal.SIGKILL)

    def done(self, partition: int, offset: int, key: bytes | None, value: bytes | None) -> None:
        """The work on a record is done, or has failed."""
        at: dict[str, Any] = {"partition": partition, "offset": offset}
        if self.ends.startswith("error") and self._handled == self._after and not self._failed:
            self._failed = True
            self.tell("failed", **at, error="HandlerFailed")
            raise HandlerFailed
        value = value or b""
        if len(value) < IDENTITY_BYTES:  # The key may tell what the record is.
            at["key"] = (key or b"").hex()
        self.tell("handled", **at, value=value[:IDENTITY_BYTES].hex())
        self._handled += 1

    def tell_partitions(self, event: str, partitions: Iterable[Any]) -> None:
        self.tell(event, partitions=[one.partition for one in partitions])

    def tell(self, event: str, **more: Any) -> None:
        line = json.dumps({"event": event, "time_ms": time.time_ns() // 1_000_000, **more})
        os.write(self._journal, line.encode() + b"\n")
