"""A configuration with the defaults of its client, and what it configures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.model.config.properties import PropertyLine
from harness.tools.audit.clients.catalogue import OwnClient, own_client
from harness.tools.audit.kafka_version import NEWEST, VersionNumbers
from harness.tools.audit.known_settings import (
    SERVER_KINDS,
    ClientLibrary,
    SettingKind,
    canonical,
    known_settings,
)
from harness.tools.audit.setting_values import c_number

ASSIGNORS = "partition.assignment.strategy"


def is_plain(value: str) -> bool:
    """Whether this is a name of letters, digits, `-` and `_`: no name of a class, and no placeholder."""
    return value.replace("-", "").replace("_", "").isalnum()


@dataclass(frozen=True)
class EffectiveSettings:
    """The settings in `entries`, with the defaults of this version of Kafka; of two entries with one name the
    later one counts, as in Java."""

    entries: tuple[PropertyLine, ...]
    client: ClientLibrary
    kafka: VersionNumbers = NEWEST
    server_defaults: bool = True
    """Whether brokers and topics have Kafka's defaults; otherwise what is not written is not known."""
    declared: frozenset[SettingKind] = frozenset()
    """What the configuration is known to configure, whatever its names."""

    @cached_property
    def written(self) -> dict[str, str]:
        """Values as written, by canonical name, without surrounding blanks."""
        return {canonical(entry.name): entry.value.strip() for entry in self.entries}

    @cached_property
    def kinds(self) -> frozenset[SettingKind]:
        """What this configures: what is declared, and the kinds of all names that belong to exactly one."""
        own = self.own
        names = (name for name in self.written if own is None or not own.knows(name))
        known = (known_settings(self.kafka).get(name) for name in names)
        return self.declared | frozenset(
            kind for setting in known if setting and len(setting.kinds) == 1 for kind in setting.kinds
        )

    @property
    def own(self) -> OwnClient | None:
        """The client, if its settings have names of its own."""
        return own_client(self.client)

    def value(self, name: str) -> str | None:
        """The value as written, else its default; None: it has none, a long one, or it is not known."""
        known = known_settings(self.kafka).get(name)
        if self.own is not None and (
            known is None or self.own.knows(name) or known.kinds.isdisjoint(SERVER_KINDS)
        ):
            return self.written.get(name) or self.own.default(name)
        if known is not None and not self.server_defaults and known.kinds.issubset(SERVER_KINDS):
            known = None
        return self.written.get(name) or (known.default(self.client) if known else None)

    def number(self, name: str, otherwise: int = 0) -> int:
        """As `value`, as an integer; `otherwise` if it is not one. librdkafka reads numbers as C does."""
        text = self.value(name) or str(otherwise)
        if self.client is ClientLibrary.LIBRDKAFKA and (read := c_number(text)[0]) is not None:
            return read
        try:
            return int(text) if text.lstrip("+-").isdecimal() else int(float(text))
        except (ValueError, OverflowError):
            return otherwise

    def says(self, name: str, *values: str) -> bool:
        """Whether the configuration sets this to one of these values, ignoring case."""
        return self.written.get(name, "\0").lower() in values

    def has(self, name: str, *values: str) -> bool:
        """As `says`, or whether the default is one of these values."""
        return (self.value(name) or "").lower() in values

    def names(self, *names: str) -> bool:
        """Whether the configuration sets one of these."""
        return any(name in self.written for name in names)

    def listed(self, name: str) -> tuple[str, ...]:
        """The elements of a list as written."""
        return tuple(filter(None, (element.strip() for element in self.written.get(name, "").split(","))))

    @property
    def producing(self) -> bool:
        return SettingKind.PRODUCER in self.kinds

    @property
    def consuming(self) -> bool:
        return SettingKind.CONSUMER in self.kinds

    @property
    def acks(self) -> str:
        """`0`, `1` or `all` (or any other text as written). An idempotent producer without acks uses all."""
        implied = self.wants_idempotence and (self.own is None or self.own.implies_all)
        text = self.written.get("acks") or ("all" if implied else self.value("acks") or "all")
        return "all" if text == "-1" else text.lower()

    @property
    def transactional(self) -> bool:
        return bool(self.written.get("transactional.id"))

    @property
    def wants_idempotence(self) -> bool:
        """Whether idempotence is configured, directly or by transactions."""
        return self.says("enable.idempotence", "true") or self.transactional

    @property
    def rules_out_idempotence(self) -> bool:
        """Whether acks or retries rule idempotence out."""
        return self.acks != "all" or self.written.get("retries") == "0"

    @property
    def idempotent_by_default(self) -> bool:
        """Whether the client tries to be idempotent by itself: Java's does since Kafka 3.0.1, 3.1.1 and 3.2
        (KIP-679; in 3.0.0 and 3.1.0 the default had no effect, KAFKA-13598)."""
        if self.own is not None:
            return self.own.default("enable.idempotence") == "true"
        return self.client is ClientLibrary.JAVA and self.kafka >= (3, 0, 1) and self.kafka != (3, 1, 0)

    @property
    def idempotent(self) -> bool:
        """Whether the producer is idempotent. The Java client switches its default off if acks or retries
        rule it out (KAFKA-13673), and before Kafka 4.0 if more than 5 requests are in flight; kafka-python
        does for all three."""
        if "enable.idempotence" in self.written:
            return self.says("enable.idempotence", "true")
        if self.transactional:
            return True
        strict = self.client is ClientLibrary.JAVA and self.kafka >= (4,)
        too_many = not strict and self.number("max.in.flight.requests.per.connection") > 5
        return self.idempotent_by_default and not self.rules_out_idempotence and not too_many


def client_of(entries: Sequence[PropertyLine]) -> ClientLibrary:
    """The client that the settings belong to: librdkafka if only it has one of the names, or the assignors
    are not names of classes; else Java's."""
    for entry in entries:
        known = known_settings().get(entry.name)
        if known is not None and known.clients == {ClientLibrary.LIBRDKAFKA}:
            return ClientLibrary.LIBRDKAFKA
        if canonical(entry.name) == ASSIGNORS and is_plain(entry.value.replace(",", "").replace(" ", "")):
            return ClientLibrary.LIBRDKAFKA
    return ClientLibrary.JAVA
