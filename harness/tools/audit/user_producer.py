"""A user's own configuration of a producer, in any format that is read, as settings of our producers: Java's
names become librdkafka's, which these use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer
from pydantic import ValidationError

from harness.model.config.properties import PropertyLine
from harness.model.errors import BadInput, located_words_of
from harness.model.secrets import is_secret, without_secrets
from harness.tools.audit.effective_settings import EffectiveSettings, client_of
from harness.tools.audit.known_settings import (
    ClientLibrary,
    SettingKind,
    canonical,
    closest_setting,
    every_name,
    known_settings,
)
from workloads.records.clients import client_logger
from workloads.records.config.producer_settings import ProducerSettings

NOT_OF_PRODUCERS = "not a producer setting"
"""Why a setting of a consumer, a topic or a broker is not used."""
NOT_IN_LIBRDKAFKA = "librdkafka has no equivalent"
"""Why one that only the Java client has is not used."""
_FIELDS = frozenset(
    str(field.alias or name) for name, field in ProducerSettings.model_fields.items() if name != "extra"
)
"""The settings with a field in `ProducerSettings`, by Kafka's names."""
_OTHER_NAMES = {
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "compression.gzip.level": "compression.level",
    "compression.lz4.level": "compression.level",
    "compression.zstd.level": "compression.level",
}
"""Java's name -> librdkafka's of the same meaning."""
_CONNECTION = ("bootstrap.servers", "security.", "sasl.", "ssl.", "client.dns.lookup", "metadata.recovery.")
_NO_EQUIVALENT = (
    "max.block.ms",
    "partitioner.class",
    "interceptor.classes",
    "key.serializer",
    "value.serializer",
)
_JAVA_IN_FLIGHT = 5
_LONGEST_SOCKET_MS = 300_000


@dataclass(frozen=True, slots=True)
class UserProducer:
    """A user's producer, as ours are configured like it. `written` are its settings by canonical name,
    `left_out` has those that are not used, each with the reason; `client` is whose defaults it has."""

    settings: ProducerSettings
    transactional: bool
    client: ClientLibrary
    written: dict[str, str]
    left_out: dict[str, str]

    @property
    def promise(self) -> dict[str, str]:
        """What it promises: that nothing is lost, and that nothing is written twice if it is idempotent."""
        idempotent = self.settings.enable_idempotence or self.transactional
        return {"lost": "0", "duplicate": "0" if idempotent else "any"}


def user_producer(entries: Sequence[PropertyLine], path: Path, client: ClientLibrary | None) -> UserProducer:
    """The producer of these entries of the file `path`; `client` None: told by the names.

    Raises:
        BadInput: the client refuses the configuration.
    """
    effective = EffectiveSettings(tuple(entries), client or client_of(entries))
    fields, left_out = _to_librdkafka(effective)
    try:
        settings = ProducerSettings.model_validate(fields)
        if effective.transactional:
            settings.check_transactional()
        given = settings.to_librdkafka("127.0.0.1:1", "own" if effective.transactional else None)
        Producer({**given, "log_level": 0}, logger=client_logger())
    except ValidationError as error:
        raise _refused(path, located_words_of(error), entries) from None
    except (KafkaException, ValueError, TypeError) as error:
        reason: Any = error.args[0] if error.args else error
        message = reason.str() if isinstance(error, KafkaException) else str(reason)
        raise _refused(path, message, entries) from None
    return UserProducer(settings, effective.transactional, effective.client, effective.written, left_out)


def _to_librdkafka(effective: EffectiveSettings) -> tuple[dict[str, Any], dict[str, str]]:
    """The configuration as fields of `ProducerSettings`, for librdkafka, and the unused settings, each with
    the reason. A Java configuration keeps the Java client's defaults (idempotence, and 5 requests in flight),
    to reproduce its behaviour."""
    java = effective.client is ClientLibrary.JAVA
    settings: dict[str, str] = {}
    if java:
        settings["enable.idempotence"] = str(effective.idempotent).lower()
        settings["max.in.flight.requests.per.connection"] = str(_JAVA_IN_FLIGHT)
    extra: dict[str, str] = {}
    left_out = {}
    for name, value in effective.written.items():
        why = _reason_unused(name, java)
        if why is not None:
            left_out[name] = why
        elif name == "transactional.id":
            continue
        elif name in _FIELDS:
            settings[name] = value
        elif java and name == "buffer.memory":
            whole = value.isascii() and value.isdigit()
            extra["queue.buffering.max.kbytes"] = str(max(1, int(value) // 1024)) if whole else value
        else:
            extra[_OTHER_NAMES.get(name, name)] = value
    if java and "request.timeout.ms" in settings and "socket.timeout.ms" not in settings:
        # Java's setting is how long the client waits for an answer: librdkafka's socket.timeout.ms.
        waiting = effective.number("request.timeout.ms", _LONGEST_SOCKET_MS)
        settings["socket.timeout.ms"] = str(min(waiting, _LONGEST_SOCKET_MS))
    return {**settings, "extra": extra}, left_out


def _reason_unused(name: str, java: bool) -> str | None:
    """Why a setting is not used; None: it is used."""
    if name.startswith(_CONNECTION) or is_secret(name):
        return "the experiment has its own cluster"
    known = known_settings().get(name)
    if name in _NO_EQUIVALENT or name.startswith(("metric", "enable.metrics")):
        return NOT_IN_LIBRDKAFKA
    if known is not None and SettingKind.PRODUCER not in known.kinds and canonical(name) == name:
        return NOT_OF_PRODUCERS
    only_java = known is not None and (ClientLibrary.LIBRDKAFKA, SettingKind.PRODUCER) not in known.defaults
    if java and only_java and name not in _OTHER_NAMES and name != "buffer.memory":
        return NOT_IN_LIBRDKAFKA
    return None


def _refused(path: Path, reason: str, entries: Sequence[PropertyLine]) -> BadInput:
    """The error for a configuration that the client refuses; it names the line of a name that nobody has."""
    unknown = next((entry for entry in entries if _is_quoted(entry.name, reason)), None)
    close = None if unknown is None else closest_setting(unknown.name)
    return BadInput(
        "the client refuses this producer configuration",
        where=str(path) if unknown is None else f"{path}, line {unknown.line}",
        expected=f"did you mean {close!r}?" if close else None,
        found=without_secrets(reason, {entry.name: entry.value for entry in entries}),
        next_step=f"`kafka-chaos audit {path}` shows contradictions",
    )


def _is_quoted(name: str, reason: str) -> bool:
    return f'"{name}"' in reason and canonical(name) not in every_name()
