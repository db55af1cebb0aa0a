"""The known setting names: their clients, kinds, defaults and promises, the closest known name to a misspelt
one, and whether a value is one that Kafka's or librdkafka's own validators take."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import resources

import yaml
from pydantic import TypeAdapter

from harness.audit.kafka_version import NEWEST, VersionNumbers, numbers
from harness.model.errors import closest
from harness.model.frozen import Frozen

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
_BOUNDS = {"short": 2**15 - 1, "int": 2**31 - 1, "long": 2**63 - 1}
_FLAGS = ("true", "false", "t", "f", "1", "0")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?", re.ASCII)
_PLACEHOLDERS = ("${", "{{")
"""Marks of a value that a config provider or a template fills in later."""


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


SERVER_KINDS = (SettingKind.TOPIC, SettingKind.BROKER)
"""Both clients have the same settings of these."""


_Place = tuple[ClientLibrary, SettingKind]


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

    defaults: dict[_Place, str]
    values: dict[_Place, str]
    changes: dict[_Place, tuple[SettingChange, ...]] = field(default_factory=dict)

    @property
    def clients(self) -> set[ClientLibrary]:
        return {client for client, _ in self.values}

    @property
    def kinds(self) -> set[SettingKind]:
        return {kind for _, kind in self.values}

    def default(self, client: ClientLibrary) -> str | None:
        """The default in this client, else in topics, else in brokers; None: there is none, or a long one."""
        return self.defaults.get(self._place(client))

    def default_words(self, client: ClientLibrary, kafka: VersionNumbers) -> str:
        """`default`, with the versions of Kafka that have it, if others have another one."""
        changes = [one for one in self.changes.get(self._place(client), ()) if one.what == "default"]
        later = next((one.version for one in changes if one.is_after(kafka)), None)
        if later is not None:
            return f"default before Kafka {later}"
        return f"default since Kafka {changes[-1].version}" if changes else "default"

    def _place(self, client: ClientLibrary) -> _Place:
        places = [(client, kind) for kind in SettingKind]
        places += [(ClientLibrary.JAVA, kind) for kind in SERVER_KINDS]
        return next((one for one in places if self.defaults.get(one)), places[0])


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
def _catalogue() -> tuple[tuple[_Place, str, str, str, tuple[SettingChange, ...]], ...]:
    """The lines of settings.tsv: place, name, default, values and changes."""
    found = []
    for line in (resources.files("harness.audit") / "settings.tsv").read_text().splitlines():
        if not line.startswith("#"):
            client, kind, name, default, _alias, values, *rest = line.split("\t")
            words = [change.split(" ", 2) for one in rest for change in one.split("; ")]
            changes = tuple(SettingChange(one[0], one[1], "".join(one[2:])) for one in words)
            found.append(((ClientLibrary(client), SettingKind(kind)), name, default, values, changes))
    return tuple(found)


@cache
def known_settings(kafka: VersionNumbers = NEWEST) -> dict[str, KnownSetting]:
    """Every setting that this version of Kafka knows, by name."""
    found = {name: KnownSetting({}, {(ClientLibrary.JAVA, SettingKind.TOPIC): _COUNT}) for name in _OURS}
    for place, name, default, values, changes in _catalogue():
        if any(one.is_after(kafka) == (one.what == "added") for one in changes if one.what in _PRESENCE):
            continue
        older = {one.what: one.before for one in reversed(changes) if one.is_after(kafka)}
        known = found.setdefault(name, KnownSetting({}, {}))
        known.defaults[place] = older.get("default", default)
        known.values[place] = older.get("values", values)
        known.changes[place] = changes
    return found


def change_of_name(name: str, client: ClientLibrary, kafka: VersionNumbers) -> SettingChange | None:
    """What added or removed a name that this client, or a broker, does not know in this version of Kafka;
    None: none knows it."""
    return next(
        (
            one
            for (library, kind), known, *_, changes in _catalogue()
            for one in changes
            if known == name
            and (library is client or kind in SERVER_KINDS)
            and one.what in _PRESENCE
            and one.is_after(kafka) == (one.what == "added")
        ),
        None,
    )


def closest_setting(name: str) -> str | None:
    """The known name that was probably meant; None: none is similar."""
    return closest(canonical(name), known_settings(), cutoff=0.8)


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


def expected_values(
    name: str,
    value: str,
    client: ClientLibrary,
    kinds: Collection[SettingKind],
    kafka: VersionNumbers = NEWEST,
) -> tuple[str, SettingKind] | None:
    """What would be taken instead of `value`, in words, and by what; None: the value is taken.

    `kinds` is what the configuration configures. A name that several of these have, such as
    `compression.type`, may have the value of any of them.
    """
    known = known_settings(kafka).get(listed_name(name))
    if known is None or any(mark in value for mark in _PLACEHOLDERS):
        return None
    places = known.values.items()
    values = {kind: one for (library, kind), one in places if library is client or kind in SERVER_KINDS}
    narrowed = {kind: one for kind, one in values.items() if kind in kinds} or values
    prefix_only = client is ClientLibrary.LIBRDKAFKA
    if not narrowed or any(_takes(one, value, prefix_only) for one in narrowed.values()):
        return None
    kind, one = next(iter(narrowed.items()))
    return _words(one, value), kind


def _takes(values: str, value: str, prefix_only: bool) -> bool:
    """Whether the catalogue (see settings.tsv) has this among the values. `prefix_only`: the client reads
    only the beginning of a number, as strtol does."""
    what, _, choices = values.partition(" ")
    if what in _BOUNDS or what == "double":
        pattern = _DECIMAL if what == "double" else _WHOLE
        found = pattern.match(value) if prefix_only else pattern.fullmatch(value)
        if found is None:
            return what == "double" and value in ("NaN", "Infinity", "-Infinity")
        number = float(found[0].rstrip("dDfF")) if what == "double" else int(found[0])
        bound = _BOUNDS.get(what)
        fits = bound is None or -bound - 1 <= number <= bound
        return fits and (not choices or any(_within(number, one) for one in choices.split("|")))
    if what in ("boolean", "flag"):
        return value.lower() in (_FLAGS if what == "flag" else _FLAGS[:2])
    known = choices.split("|")
    if what == "list":
        return all(one.strip() in known for one in value.split(",") if one.strip())
    if what == "word":
        return value.lower() in (one.lower() for one in known)
    return what != "string" or any(
        value.startswith(one[:-1]) if one.endswith("*") else value == one for one in known
    )


def _within(number: float, choice: str) -> bool:
    low, dots, high = choice.partition("..")
    return float(low) <= number and (number <= float(high) if high else bool(dots) or number == float(low))


def _words(values: str, value: str) -> str:
    what, _, choices = values.partition(" ")
    if what in _BOUNDS or what == "double":
        ranges = " or ".join(_range_words(one, what) for one in choices.split("|")) if choices else ""
        return ("a number" if what == "double" else "a whole number") + (f", {ranges}" if ranges else "")
    if what in ("boolean", "flag"):
        return "true or false"
    known = choices.split("|")
    close = closest(value, known)
    several = "a list of" if what == "list" else "one of"
    return f"{several} {', '.join(known)}" + (f" (did you mean {close!r}?)" if close else "")


def _range_words(choice: str, what: str) -> str:
    low, dots, high = choice.partition("..")
    if dots and not high and what in ("short", "int"):
        high = str(_BOUNDS[what])
    return f"from {low} to {high}" if high else f"at least {low}" if dots else low
