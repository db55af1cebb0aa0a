"""The known setting names: their clients, kinds, defaults and promises, and the closest known name to a
misspelt one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

import yaml
from pydantic import TypeAdapter

from harness.model.errors import closest
from harness.model.frozen import Frozen

OURS = {
    "replication.factor": "replicas of each partition, as kafka-topics.sh and Streams take it",
    "partitions": "number of partitions, as kafka-topics.sh takes it",
}
"""Facts about a topic that are not topic settings, but are needed to judge these."""
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


class ClientLibrary(StrEnum):
    """Client libraries, whose names and defaults differ."""

    JAVA = "java"
    LIBRDKAFKA = "librdkafka"


class SettingKind(StrEnum):
    """What a setting configures."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    TOPIC = "topic"
    BROKER = "broker"


@dataclass(frozen=True, slots=True)
class KnownSetting:
    """A known name; `defaults` and the possible `values` (as settings.tsv words them) are by client and kind
    (for topics and brokers: Java)."""

    defaults: dict[tuple[ClientLibrary, SettingKind], str]
    values: dict[tuple[ClientLibrary, SettingKind], str]

    @property
    def clients(self) -> set[ClientLibrary]:
        return {client for client, _ in self.values}

    @property
    def kinds(self) -> set[SettingKind]:
        return {kind for _, kind in self.values}


def canonical(name: str) -> str:
    """The name that the rules use for a setting: without a prefix like `producer.`, and Java's name instead
    of librdkafka's alias."""
    name = listed_name(name)
    return _CANONICAL.get(name, name)


def listed_name(name: str) -> str:
    """The name without a prefix like `producer.`, if it is known only without it."""
    if name not in known_settings():
        for prefix in _PREFIXES:
            if name.startswith(prefix) and name.removeprefix(prefix) in known_settings():
                return name.removeprefix(prefix)
    return name


@cache
def known_settings() -> dict[str, KnownSetting]:
    """Every known setting by name."""
    counts = {(client, SettingKind.TOPIC): _COUNT for client in ClientLibrary}
    found = {name: KnownSetting({}, dict(counts)) for name in OURS}
    text = (resources.files("harness.audit") / "settings.tsv").read_text()
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        client, kind, name, default, _alias, values = line.split("\t")
        known = found.setdefault(name, KnownSetting({}, {}))
        where = (ClientLibrary(client), SettingKind(kind))
        known.defaults[where], known.values[where] = default, values
    return found


def closest_setting(name: str) -> str | None:
    """The known name that was probably meant; None: none is similar."""
    return closest(canonical(name), known_settings(), cutoff=0.8)


def default(name: str, client: ClientLibrary, kind: SettingKind) -> str | None:
    """A setting's default; None: it has none, or a long one."""
    known = known_settings().get(name)
    if known is None:
        return None
    by = client if kind in (SettingKind.PRODUCER, SettingKind.CONSUMER) else ClientLibrary.JAVA
    return known.defaults.get((by, kind)) or None


class Guarantee(Frozen):
    """A setting's promise; `by_value` has more exact ones for values in lower case."""

    says: str
    source: str
    by_value: dict[str, str] = {}


@cache
def guarantees() -> dict[str, Guarantee]:
    """The promises of `guarantees.yaml` by the setting's name."""
    text = (resources.files("harness.audit") / "guarantees.yaml").read_text()
    return TypeAdapter(dict[str, Guarantee]).validate_python(yaml.safe_load(text))
