"""The known setting names: their clients, kinds, defaults, possible values and promises, and the closest
known name to a misspelt one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import resources

import yaml
from pydantic import TypeAdapter

from harness.model.errors import closest
from harness.model.frozen import Frozen
from harness.tools.audit.kafka_version import NEWEST, VersionNumbers, numbers

_OURS = ("replication.factor", "partitions")
"""Facts about a topic, as kafka-topics.sh and Streams take them, that are not topic settings, but are needed
to judge these."""
_COUNT = "int -1|1.."
"""-1: the broker's default."""
_PREFIXES = ("producer.", "consumer.", "topic.", "broker.", "admin.")
_CANONICAL = {
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "queue.buffering.max.ms": "linger.ms",
    "compression.codec": "compression.type",
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    "auto.commit.enable": "enable.auto.commit",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
}
"""librdkafka's aliases -> the name that the Java client also has."""
_PRESENCE = ("added", "removed")


class ClientLibrary(StrEnum):
    """Client libraries, whose names and defaults differ. Those of Java and librdkafka are in settings.tsv;
    all others have names of their own, in `clients/`."""

    JAVA = "java"
    LIBRDKAFKA = "librdkafka"
    KAFKAJS = "kafkajs"
    SARAMA = "sarama"
    FRANZ_GO = "franz-go"
    KAFKA_GO = "kafka-go"
    KAFKA_PYTHON = "kafka-python"
    AIOKAFKA = "aiokafka"
    PLATFORMATIC = "platformatic"


class SettingKind(StrEnum):
    """What a setting configures."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    TOPIC = "topic"
    BROKER = "broker"
    CONNECTOR = "connector"
    STREAMS = "streams"


SERVER_KINDS = (SettingKind.TOPIC, SettingKind.BROKER)
"""Both clients have the same settings of these."""


_DefaultsKey = tuple[ClientLibrary, SettingKind]


@dataclass(frozen=True, slots=True)
class SettingChange:
    """What a Kafka version changed: it `added` or `removed` the setting, or changed its `default` or its
    `values`, which were `before` until then."""

    version: str
    what: str
    before: str

    def is_after(self, kafka: VersionNumbers) -> bool:
        """Whether this Kafka is older than the change."""
        return kafka < numbers(self.version)


@dataclass(frozen=True, slots=True)
class KnownSetting:
    """A known name in one version of Kafka; `defaults`, the possible `values` (as settings.tsv words them)
    and all `changes`, oldest first, are by client and kind (for topics and brokers: Java)."""

    defaults: dict[_DefaultsKey, str]
    values: dict[_DefaultsKey, str]
    changes: dict[_DefaultsKey, tuple[SettingChange, ...]] = field(default_factory=dict)

    @property
    def clients(self) -> set[ClientLibrary]:
        return {client for client, _ in self.values}

    @property
    def kinds(self) -> set[SettingKind]:
        return {kind for _, kind in self.values}

    def default(self, client: ClientLibrary) -> str | None:
        """The default in this client, else in topics, else in brokers; None: there is none, or a long one."""
        return self.defaults.get(self._defaults_key(client))

    def default_words(self, client: ClientLibrary, kafka: VersionNumbers) -> str:
        """`default`, with the versions of Kafka that have it, if others have another one."""
        changes = [
            change for change in self.changes.get(self._defaults_key(client), ()) if change.what == "default"
        ]
        later = next((change.version for change in changes if change.is_after(kafka)), None)
        if later is not None:
            return f"default before Kafka {later}"
        return f"default since Kafka {changes[-1].version}" if changes else "default"

    def _defaults_key(self, client: ClientLibrary) -> _DefaultsKey:
        keys = [(client, kind) for kind in SettingKind]
        keys += [(ClientLibrary.JAVA, kind) for kind in SERVER_KINDS]
        return next((key for key in keys if self.defaults.get(key)), keys[0])


def canonical(name: str) -> str:
    """The name that the rules use for a setting: without a prefix like `producer.`, and Java's name instead
    of librdkafka's alias."""
    name = listed_name(name)
    return _CANONICAL.get(name, name)


def listed_name(name: str) -> str:
    """The name without a prefix like `producer.`, if it is known only without it."""
    known, rest = known_settings(), name.partition(".")[2]
    return rest if name.startswith(_PREFIXES) and name not in known and rest in known else name


@cache
def _catalogue() -> tuple[tuple[_DefaultsKey, str, str, str, tuple[SettingChange, ...]], ...]:
    """The lines of settings.tsv: place, name, default, values and changes."""
    rows = []
    for line in (resources.files("harness.tools.audit") / "settings.tsv").read_text().splitlines():
        if not line.startswith("#"):
            client, kind, name, default, _alias, values, *rest = line.split("\t")
            words = [change.split(" ", 2) for column in rest for change in column.split("; ")]
            changes = tuple(SettingChange(parts[0], parts[1], "".join(parts[2:])) for parts in words)
            rows.append(((ClientLibrary(client), SettingKind(kind)), name, default, values, changes))
    return tuple(rows)


@cache
def known_settings(kafka: VersionNumbers = NEWEST) -> dict[str, KnownSetting]:
    """Every setting that this version of Kafka knows, by name."""
    settings = {name: KnownSetting({}, {(ClientLibrary.JAVA, SettingKind.TOPIC): _COUNT}) for name in _OURS}
    for key, name, default, values, changes in _catalogue():
        if any(
            change.is_after(kafka) == (change.what == "added")
            for change in changes
            if change.what in _PRESENCE
        ):
            continue
        older = {change.what: change.before for change in reversed(changes) if change.is_after(kafka)}
        known = settings.setdefault(name, KnownSetting({}, {}))
        known.defaults[key] = older.get("default", default)
        known.values[key] = older.get("values", values)
        known.changes[key] = changes
    return settings


@cache
def every_name() -> frozenset[str]:
    """The names that any version of Kafka has."""
    return frozenset((*_OURS, *(name for _, name, *_ in _catalogue())))


def change_of_name(name: str, client: ClientLibrary, kafka: VersionNumbers) -> SettingChange | None:
    """What added or removed a name that this client, or a broker, does not know in this version of Kafka;
    None: none knows it."""
    if name not in every_name():
        return None
    return next(
        (
            change
            for (library, kind), known, *_, changes in _catalogue()
            for change in changes
            if known == name
            and (library is client or kind in SERVER_KINDS)
            and change.what in _PRESENCE
            and change.is_after(kafka) == (change.what == "added")
        ),
        None,
    )


def closest_setting(name: str) -> str | None:
    """The known name that was probably meant; None: none is similar."""
    same = (known for known in known_settings() if known.lower() == name.lower())
    return next(same, None) or closest(canonical(name), known_settings(), cutoff=0.8)


class Guarantee(Frozen):
    """A setting's promise; `by_value` has more exact ones for values in lower case."""

    says: str
    source: str
    by_value: dict[str, str] = {}


@cache
def guarantees() -> dict[str, Guarantee]:
    """The promises of `guarantees.yaml` by the setting's name."""
    text = (resources.files("harness.tools.audit") / "guarantees.yaml").read_text()
    return TypeAdapter(dict[str, Guarantee]).validate_python(yaml.safe_load(text))
