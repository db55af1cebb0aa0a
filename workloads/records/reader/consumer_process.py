"""A consumer in a process of its own, which can be killed: the process, its program, and their calls.

The process may load another version of confluent-kafka than this one, so this module imports nothing but that
and the standard library. Each message is a pickle behind its length. The caller sends ("call", method,
arguments), and the process answers with ("result", value) or ("error", kind, value). Before that it may send
("callback", name, arguments): the caller answers ("done",), and may make further calls before it does.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

_CALLBACKS = ("on_commit", "stats_cb")
_END_SECONDS = 5.0
_LENGTH = struct.Struct(">I")


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
            [sys.executable, *(program or ("-P", __file__))],
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
        # Callbacks of assignments get the consumer first.
        self._callbacks |= {name: partial(call, self) for name, call in callbacks.items()}
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
            send_message(calls, ("call", name, list(arguments), list(named.items())))
            while True:
                kind, *parts = receive(answers)
                if kind == "result":
                    return parts[0]
                if kind == "error":
                    raise KafkaException(parts[1]) if parts[0] == "kafka" else RuntimeError(": ".join(parts))
                self._callbacks[parts[0]](*parts[1])
                send_message(calls, ("done",))
        except (OSError, EOFError, ValueError) as error:
            how = self._how_it_ended() or error
            raise ConsumerGone(f"the process of a consumer has ended: {how}") from error

    def _how_it_ended(self) -> str | None:
        """How the process ended, in words; None: it has not yet."""
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_END_SECONDS)
            return signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return None


def send_message(stream: IO[bytes], value: tuple[Any, ...]) -> None:
    """Write one message; the parts are encoded."""
    data = pickle.dumps(tuple(map(encode, value)))
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Any, ...]:
    """Read one message.

    Raises:
        EOFError: the other process has ended.
    """
    data = _exactly(stream, _LENGTH.unpack(_exactly(stream, _LENGTH.size))[0])
    # Both ends of the pipe are this program.
    return tuple(map(decode, pickle.loads(data)))


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError("the process of the consumer has ended")
    return data


def encode(value: Any) -> Any:
    """A value of confluent-kafka, or a list of them, as a tuple that any version of it can take."""
    if isinstance(value, (list, tuple)):
        return ("list", [encode(item) for item in value])
    if isinstance(value, KafkaError):
        return ("error", value.code(), value.str())
    if isinstance(value, TopicPartition):
        coordinates = (value.topic, value.partition, value.offset)
        return ("topic_partition", coordinates, encode(value.error), getattr(value, "leader_epoch", None))
    if isinstance(value, Message):
        fields = ("topic", "partition", "offset", "key", "value", "headers", "timestamp", "leader_epoch")
        given = {name: getattr(value, name)() for name in fields}
        # The class takes no None for a number that a message has not.
        return (
            "message",
            {name: field for name, field in given.items() if field is not None},
            encode(value.error()),
        )
    return ("plain", value)


def decode(value: Any) -> Any:
    """The opposite of `encode`."""
    match value:
        case ("list", items):
            return [decode(item) for item in items]
        case ("error", code, text):
            return KafkaError(code, text)
        case ("topic_partition", (topic, partition, offset), error, epoch):
            if (failure := decode(error)) is not None:
                # TopicPartition has no way to take an error.
                return SimpleNamespace(topic=topic, partition=partition, offset=offset, error=failure)
            more = {} if epoch is None else {"leader_epoch": epoch}
            return TopicPartition(topic, partition, offset, **more)
        case ("message", fields, error):
            return Message(**fields, error=decode(error))
        case (_, plain):
            return plain


@dataclass
class CallServer:
    """Makes the calls that arrive on one stream, and answers on the other, until the first is closed. `make`
    creates the consumer from its settings, with their callbacks."""

    calls: IO[bytes]
    answers: IO[bytes]
    make: Callable[[dict[str, Any]], Any]
    _consumer: Any = None

    def serve(self) -> bool:
        """Make calls until the caller answers a callback (True), or ends the process (False)."""
        while True:
            try:
                kind, *parts = receive(self.calls)
            except EOFError:
                return False
            if kind == "done":
                return True
            name, arguments, named = parts[0], parts[1], dict(parts[2])
            try:
                send_message(self.answers, ("result", self._call(name, arguments, named)))
            except KafkaException as failure:
                send_message(self.answers, ("error", "kafka", failure.args[0]))
            # Told to the caller, which raises it.
            except Exception as failure:
                send_message(self.answers, ("error", type(failure).__name__, str(failure)))

    def _call(self, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name == "create":
            self._consumer = self.make(
                {**arguments[0], **{event: self._callback(event) for event in arguments[1]}}
            )
            return None
        if name == "subscribe":
            callbacks = {event: self._callback(event) for event in arguments[1]}
            return self._consumer.subscribe(arguments[0], **callbacks)
        return getattr(self._consumer, name)(*arguments, **named)

    def _callback(self, name: str) -> Any:
        def call(*arguments: Any) -> None:
            # The consumer itself, which the callbacks of assignments get first, stays here.
            given = [argument for argument in arguments if argument is not self._consumer]
            send_message(self.answers, ("callback", name, given))
            if not self.serve():
                raise SystemExit

        return call


def serve(make: Callable[[dict[str, Any]], Any]) -> None:
    """The program of a consumer's process, which ends when its standard input is closed."""
    # Whatever the client prints must not come between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    CallServer(sys.stdin.buffer, answers.buffer, make).serve()


if __name__ == "__main__":
    serve(Consumer)
