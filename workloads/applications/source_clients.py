"""Write records where an application reads them that reads no topic: lines of a file, or requests of HTTP.

They have the calls of confluent-kafka's `Producer`, so that `workloads.records.producer.producers.Producers`
writes with them. A record is offered once, so that what is doubled was doubled by the application.
"""

from __future__ import annotations

import base64
import http.client
import select
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from confluent_kafka import KafkaException

from harness.model.errors import BadInput

ANSWER_SECONDS = 10.0
"""How long an application may take to answer a request; without an answer it is not known what it did."""


class SourceClient(ABC):
    """Offers the records of one producer to an application, which sees their place as `seen`. `taken` is the
    number of records that it has, or may have; `last_error` is "" if there was none.

    `payload`: values are the user's own; else they are bytes of ours, written as Base64.
    """

    def __init__(self, seen: str, *, payload: bool) -> None:
        self.seen, self._payload = seen, payload
        self._number = self.taken = 0
        self.last_error = ""

    @abstractmethod
    def _offer(self, value: bytes) -> str | None:
        """Offer a value; returns why it is not known whether it was taken (None: it was).

        Raises:
            BufferError: it cannot be offered now.
            KafkaException: it was certainly not taken.
        """

    def produce(
        self, _topic: str, value: bytes, _key: Any, partition: int, report: Callable[..., None], **_: Any
    ) -> None:
        """Offer a record, and report it at once, with its number as offset. Raises what `_offer` raises."""
        content = value or b""
        try:
            unclear = self._offer(content if self._payload else base64.b64encode(content))
        except KafkaException as error:
            self._number, self.last_error = self._number + 1, error.args[0].name()
            raise
        fields = {"value": value, "offset": self._number, "partition": partition, "latency": None}
        self._number, self.taken = self._number + 1, self.taken + 1
        self.last_error = unclear or self.last_error
        report(unclear and _error(unclear), _calls(**fields))

    def poll(self, seconds: float = 0) -> int:
        """Wait: everything has been reported."""
        time.sleep(seconds)
        return 0

    def flush(self, *_: float) -> int:
        return 0

    def purge(self, **_: bool) -> int:
        return 0

    @abstractmethod
    def close(self) -> None:
        """Close the file or the connection."""


def _error(name: str) -> Any:
    """An error with the calls of a `KafkaError`."""
    return _calls(name=name, code=0, fatal=False)


def _calls(**values: object) -> Any:
    return SimpleNamespace(**{name: lambda value=value: value for name, value in values.items()})


class FileClient(SourceClient):
    """Appends each record to the file `path`, as a line.

    Raises:
        BadInput: the file cannot be written.
    """

    def __init__(self, path: Path, seen: str, *, payload: bool) -> None:
        super().__init__(seen, payload=payload)
        self._errors: Callable[[], AbstractContextManager[None]] = lambda: BadInput.for_os_errors(
            "the application's input cannot be written",
            where=path,
            expected="a writable folder with free space",
            next_step="name another folder with --results",
        )
        with self._errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab")

    def _offer(self, value: bytes) -> None:
        if b"\n" in value:
            raise BadInput(
                "a record does not fit a line of the application's input",
                where="workload.payload",
                expected="values without a line break",
                found=repr(value[:80]),
                next_step="leave the line break out, or use `input: {http: ...}`",
            )
        with self._errors():
            self._file.write(value + b"\n")
            self._file.flush()

    def close(self) -> None:
        self._file.close()


class HttpClient(SourceClient):
    """Posts each record to a URL. It is taken if the answer is 2xx, and refused if it is another 4xx than 408
    (RFC 9110). While nobody listens a record waits, for `patience` seconds, and is refused then."""

    def __init__(self, url: str, content_type: str, *, payload: bool, patience: float) -> None:
        super().__init__(url, payload=payload)
        parts = urlsplit(url)
        self._path = parts._replace(scheme="", netloc="").geturl() or "/"
        self._headers = {"Content-Type": content_type}
        self._patience, self._away_since = patience, 0.0
        host = parts.hostname or ""
        self._connection = http.client.HTTPConnection(host, parts.port, timeout=ANSWER_SECONDS)

    def _offer(self, value: bytes) -> str | None:
        self._connect()
        try:
            self._connection.request("POST", self._path, value, self._headers)
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            return type(error).__name__
        status = f"HTTP_{answer.status}"
        if 400 <= answer.status < 500 and answer.status != http.client.REQUEST_TIMEOUT:
            raise KafkaException(_error(status))
        return None if 200 <= answer.status < 300 else status

    def _connect(self) -> None:
        """Connect, unless a connection is open. Without one nothing was sent, so the record may wait."""
        if self._connection.sock is not None:
            if not select.select([self._connection.sock], [], [], 0)[0]:
                return
            self._connection.close()  # There is nothing to read but its end.
        try:
            self._connection.connect()
        except OSError as error:
            self._connection.close()
            now = time.monotonic()
            self._away_since = self._away_since or now
            if now - self._away_since < self._patience:
                raise BufferError from error
            raise KafkaException(_error(type(error).__name__)) from error
        self._away_since = 0.0

    def close(self) -> None:
        self._connection.close()
