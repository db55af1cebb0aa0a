"""A consumer in a process of its own, with any version of confluent-kafka, which can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from workloads.reader import consumer_calls
from workloads.reader.consumer_calls import receive, send

_CALLBACKS = ("on_commit", "stats_cb")
_END_SECONDS = 5.0


class ConsumerGone(Exception):
    """The process of a consumer has ended, or was killed."""


class ConsumerProcess:
    """Has those methods of `confluent_kafka.Consumer` that readers call.

    Callbacks run in this process, in the thread whose call the consumer was making. One thread at a time may
    use it, and any may `kill` it: the call that is being made then raises ConsumerGone.

    Args:
        config: the consumer's, with its callbacks.
        packages: a folder with the confluent-kafka to load; None: this process's own.
        program: the arguments of Python for another program of this kind; None: confluent-kafka's consumer.

    Raises:
        KafkaException: the client refuses the settings.
        ConsumerGone: the process does not start.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        packages: Path | None = None,
        program: Sequence[str] | None = None,
        logger: object = None,  # noqa: ARG002
    ) -> None:
        environment = dict(os.environ)
        if packages is not None:
            environment["PYTHONPATH"] = str(packages)
        # -P: the folder of the program is none to import from.
        self._process = subprocess.Popen(
            [sys.executable, *(program or ("-P", consumer_calls.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            # Ctrl-C is for this process, which closes its clients then.
            start_new_session=True,
        )
        self._callbacks: dict[str, Callable[..., Any]] = {
            name: config[name] for name in _CALLBACKS if name in config
        }
        plain = {name: value for name, value in config.items() if name not in _CALLBACKS}
        try:
            self._call("create", plain, sorted(self._callbacks))
        except BaseException:
            self._end()
            raise

    def subscribe(self, topics: Sequence[str], **callbacks: Callable[..., Any]) -> None:
        self._callbacks |= {name: _with_consumer(self, call) for name, call in callbacks.items()}
        self._call("subscribe", list(topics), sorted(callbacks))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments, **named: self._call(name, *arguments, **named)

    def close(self) -> None:
        """Close the consumer as an application does when it ends, and end the process."""
        try:
            self._call("close")
        finally:
            self._end()

    def kill(self) -> None:
        """Kill the process: the consumer neither commits nor leaves its group."""
        self._process.kill()
        self._process.wait()

    def _end(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        calls, answers = self._process.stdin, self._process.stdout
        assert calls is not None, "made with pipes"
        assert answers is not None, "made with pipes"
        try:
            send(calls, ("call", name, list(arguments), list(named.items())))
            while True:
                kind, *parts = receive(answers)
                if kind == "result":
                    return parts[0]
                if kind == "error":
                    raise KafkaException(parts[1]) if parts[0] == "kafka" else RuntimeError(": ".join(parts))
                self._callbacks[parts[0]](*parts[1])
                send(calls, ("done",))
        except (OSError, EOFError, ValueError) as error:
            raise ConsumerGone(f"the process of a consumer has ended: {error}") from error


def _with_consumer(consumer: ConsumerProcess, call: Callable[..., Any]) -> Callable[..., Any]:
    """A callback of assignments, which gets the consumer first."""
    return lambda *arguments: call(consumer, *arguments)
