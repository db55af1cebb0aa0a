"""A configuration to look at: settings with defaults behind them, and what it is the configuration of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.audit.settings_catalog import ClientLibrary, SettingKind, canonical, default, known_settings
from harness.config.properties import PropertyLine

_TELLING: dict[str, SettingKind] = {
    "acks": SettingKind.PRODUCER,
    "group.id": SettingKind.CONSUMER,
    "replication.factor": SettingKind.TOPIC,
}


@dataclass(frozen=True)
class EffectiveSettings:
    """`entries` as written; later ones win, as in Java."""

    entries: tuple[PropertyLine, ...]
    client: ClientLibrary

    @cached_property
    def given(self) -> dict[str, str]:
        """Values by canonical name, without blanks around them."""
        return {canonical(entry.name): entry.value.strip() for entry in self.entries}

    @cached_property
    def kinds(self) -> frozenset[SettingKind]:
        """What this configures: the kinds of all names that belong to one kind only."""
        found = set()
        for name in self.given:
            known = known_settings().get(name)
            if name in _TELLING:
                found.add(_TELLING[name])
            elif known is not None and len(known.kinds) == 1:
                found |= known.kinds
        return frozenset(found)

    def value(self, name: str, kind: SettingKind) -> str | None:
        """What the setting comes to: as given, else its default."""
        return self.given.get(name) or default(name, self.client, kind)

    def number(self, name: str, kind: SettingKind) -> int | None:
        """As `value`, of a whole number; None: there is none."""
        text = self.value(name, kind)
        try:
            return None if text is None else int(float(text))
        except (ValueError, OverflowError):
            return None

    def says(self, name: str, *values: str) -> bool:
        """Whether the configuration gives this setting one of these values, in whatever case."""
        return self.given.get(name, "\0").lower() in values

    @property
    def acks(self) -> str:
        """`0`, `1` or `all` (or what else was written)."""
        text = (self.value("acks", SettingKind.PRODUCER) or "all").lower()
        return "all" if text == "-1" else text

    @property
    def transactional(self) -> bool:
        return bool(self.given.get("transactional.id"))

    @property
    def idempotent(self) -> bool:
        """Whether the producer is idempotent in the end. The Java client switches what it does by default off
        where acks or retries rule it out (KAFKA-13673)."""
        if "enable.idempotence" in self.given:
            return self.says("enable.idempotence", "true")
        if self.transactional:
            return True
        if self.client is ClientLibrary.LIBRDKAFKA:
            return False
        return self.acks == "all" and self.given.get("retries") != "0"


def client_of(entries: Sequence[PropertyLine]) -> ClientLibrary:
    """The client that the names tell of: librdkafka if one is known to it alone, else Java's."""
    for entry in entries:
        known = known_settings().get(entry.name)
        if known is not None and known.clients == {ClientLibrary.LIBRDKAFKA}:
            return ClientLibrary.LIBRDKAFKA
    return ClientLibrary.JAVA
