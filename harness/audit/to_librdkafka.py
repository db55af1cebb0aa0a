"""Translates a user's producer configuration for our producers: Java's names to librdkafka's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.audit.effective_settings import EffectiveSettings, client_of
from harness.audit.known_settings import ClientLibrary, SettingKind, canonical, known_settings
from harness.config.properties import PropertyLine
from harness.model.secrets import is_secret

OTHER_NAMES = {
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


@dataclass(frozen=True)
class LibrdkafkaSettings:
    """`settings` are those of `ProducerSettings`, `extra` other settings of librdkafka. `transactional`: the
    configuration has a transactional.id. `left_out` names the unused settings, each with the reason."""

    settings: dict[str, str] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    transactional: bool = False
    left_out: tuple[str, ...] = ()


def to_librdkafka_settings(entries: Sequence[PropertyLine], fields: frozenset[str]) -> LibrdkafkaSettings:
    """The configuration for librdkafka. A Java configuration keeps the Java client's defaults
    (idempotence, and 5 requests in flight), to reproduce its behaviour.

    Args:
        fields: the settings with a field in `ProducerSettings`, by Kafka's names.
    """
    subject = EffectiveSettings(tuple(entries), client_of(entries))
    java = subject.client is ClientLibrary.JAVA
    settings: dict[str, str] = {}
    if java:
        settings["enable.idempotence"] = str(subject.idempotent).lower()
        settings["max.in.flight.requests.per.connection"] = str(_JAVA_IN_FLIGHT)
    extra: dict[str, str] = {}
    left_out = []
    for name, value in subject.written.items():
        why = _reason_unused(name, java)
        if why is not None:
            left_out.append(f"{name}: {why}")
        elif name == "transactional.id":
            continue
        elif name in fields:
            settings[name] = value
        elif java and name == "buffer.memory":
            extra["queue.buffering.max.kbytes"] = _kbytes(value)
        else:
            extra[OTHER_NAMES.get(name, name)] = value
    if java and "request.timeout.ms" in settings and "socket.timeout.ms" not in settings:
        # Java's setting is how long the client waits for an answer: librdkafka's socket.timeout.ms.
        waiting = subject.number("request.timeout.ms", SettingKind.PRODUCER)
        if waiting is not None:
            settings["socket.timeout.ms"] = str(min(waiting, _LONGEST_SOCKET_MS))
    return LibrdkafkaSettings(settings, extra, subject.transactional, tuple(left_out))


def _reason_unused(name: str, java: bool) -> str | None:
    """Why a setting is not used; None: it is used."""
    if name.startswith(_CONNECTION) or is_secret(name):
        return "the experiment has its own cluster"
    known = known_settings().get(name)
    if name in _NO_EQUIVALENT or name.startswith(("metric", "enable.metrics")):
        return "librdkafka has no equivalent"
    if known is not None and SettingKind.PRODUCER not in known.kinds and canonical(name) == name:
        return "not a producer setting"
    only_java = known is not None and ClientLibrary.LIBRDKAFKA not in _producers(name)
    if java and only_java and name not in OTHER_NAMES and name != "buffer.memory":
        return "librdkafka has no equivalent"
    return None


def _producers(name: str) -> set[ClientLibrary]:
    """The clients whose producers have this setting."""
    return {client for client, kind in known_settings()[name].defaults if kind is SettingKind.PRODUCER}


def _kbytes(value: str) -> str:
    return str(max(1, int(value) // 1024)) if value.isascii() and value.isdigit() else value
