"""A configuration with the defaults of its client, and what it configures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.audit.known_settings import ClientLibrary, SettingKind, canonical, known_settings
from harness.config.properties import PropertyLine

_KIND_OF: dict[str, SettingKind] = {
    "acks": SettingKind.PRODUCER,
    "group.id": SettingKind.CONSUMER,
    "replication.factor": SettingKind.TOPIC,
}


@dataclass(frozen=True)
class EffectiveSettings:
    """The settings in `entries`, with defaults; of two entries with one name the later one counts, as in
    Java."""

    entries: tuple[PropertyLine, ...]
    client: ClientLibrary

    @cached_property
    def written(self) -> dict[str, str]:
        """Values as written, by canonical name, without surrounding blanks."""
        return {canonical(entry.name): entry.value.strip() for entry in self.entries}

    @cached_property
    def kinds(self) -> frozenset[SettingKind]:
        """What this configures: the kinds of all names that belong to exactly one kind."""
        found = set()
        for name in self.written:
            known = known_settings().get(name)
            if name in _KIND_OF:
                found.add(_KIND_OF[name])
            elif known is not None and len(known.kinds) == 1:
                found |= known.kinds
        return frozenset(found)

    def value(self, name: str, kind: SettingKind) -> str | None:
        """The value as written, else its default; None: it has none, or a long one."""
        known = known_settings().get(name)
        defaults = {} if known is None else known.defaults
        by = self.client if kind in (SettingKind.PRODUCER, SettingKind.CONSUMER) else ClientLibrary.JAVA
        return self.written.get(name) or defaults.get((by, kind)) or None

    def number(self, name: str, kind: SettingKind) -> int | None:
        """As `value`, as an integer; None: it is not one."""
        text = self.value(name, kind)
        try:
            return None if text is None else int(float(text))
        except (ValueError, OverflowError):
            return None

    def says(self, name: str, *values: str) -> bool:
        """Whether the configuration sets this to one of these values, ignoring case."""
        return self.written.get(name, "\0").lower() in values

    def has(self, name: str, kind: SettingKind, *values: str) -> bool:
        """As `says`, or whether the default is one of these values."""
        return (self.value(name, kind) or "").lower() in values

    def names(self, *names: str) -> bool:
        """Whether the configuration sets one of these."""
        return any(name in self.written for name in names)

    @property
    def producing(self) -> bool:
        """Whether it configures a producer."""
        return SettingKind.PRODUCER in self.kinds

    @property
    def consuming(self) -> bool:
        """Whether it configures a consumer."""
        return SettingKind.CONSUMER in self.kinds

    @property
    def acks(self) -> str:
        """`0`, `1` or `all` (or any other text as written)."""
        text = (self.value("acks", SettingKind.PRODUCER) or "all").lower()
        return "all" if text == "-1" else text

    @property
    def transactional(self) -> bool:
        return bool(self.written.get("transactional.id"))

    @property
    def idempotent(self) -> bool:
        """Whether the producer is idempotent. The Java client switches its default off if acks or retries
        rule it out (KAFKA-13673)."""
        if "enable.idempotence" in self.written:
            return self.says("enable.idempotence", "true")
        if self.transactional:
            return True
        if self.client is ClientLibrary.LIBRDKAFKA:
            return False
        return self.acks == "all" and self.written.get("retries") != "0"


def client_of(entries: Sequence[PropertyLine]) -> ClientLibrary:
    """The client that the names belong to: librdkafka if only it has one of them, else Java's."""
    for entry in entries:
        known = known_settings().get(entry.name)
        if known is not None and known.clients == {ClientLibrary.LIBRDKAFKA}:
            return ClientLibrary.LIBRDKAFKA
    return ClientLibrary.JAVA
