"""Rules about configurations, as data: when one applies, its severity, its text and its source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from harness.model.finding_class import FindingClass
from harness.tools.audit.effective_settings import EffectiveSettings
from harness.tools.audit.kafka_version import numbers
from harness.tools.audit.known_settings import SERVER_KINDS, ClientLibrary, SettingKind, known_settings

JAVA_DOCS = "Kafka documentation, Producer Configs"
CONSUMER_DOCS = "Kafka documentation, Consumer Configs"
TOPIC_DOCS = "Kafka documentation, Topic Configs"
BROKER_DOCS = "Kafka documentation, Broker Configs"
RDK_DOCS = "librdkafka, CONFIGURATION.md"


def source_of(client: ClientLibrary, kind: SettingKind) -> str:
    """The document that describes the settings of this kind."""
    if client is ClientLibrary.LIBRDKAFKA and kind not in SERVER_KINDS:
        return RDK_DOCS
    return f"Kafka documentation, {kind.capitalize()} Configs"


class Severity(StrEnum):
    """The severity of a finding, the worst first."""

    REFUSED = "refused"
    """The client or broker refuses such a configuration."""
    CONTRADICTION = "contradiction"
    """One setting breaks the promise of another one."""
    RISK = "risk"
    """It may be intended, but records can be lost, duplicated, reordered or skipped."""


@dataclass(frozen=True, slots=True)
class RuleProof:
    """The arms of a built-in experiment that show it on real brokers."""

    experiment: str
    arms: tuple[str, ...]


NOT_IDEMPOTENT = RuleProof("kill-leader", ("acks=all", "acks=all-idempotent"))
TRANSACTIONS = RuleProof("transactions", ())
UNCLEAN = RuleProof("unclean-election", ("unclean=true", "unclean=false"))


@dataclass(frozen=True, slots=True)
class AuditRule:
    """`applies` decides; `says` is its text, which may contain values as {name} (empty: it is only about
    clients whose files have words for it); `do` may depend on what is known. `settings` are those
    concerned, `finding` is the class of findings that it would cause, `proof` the experiment that shows
    it."""

    severity: Severity
    id: str
    settings: tuple[str, ...]
    applies: Callable[[EffectiveSettings], bool]
    says: str
    do: str | Callable[[EffectiveSettings], str]
    source: str
    finding: FindingClass | None = None
    proof: RuleProof | None = None
    client: ClientLibrary | None = None
    """The client that the rule is about; None: all, of those with names of their own only what they refuse
    themselves (`rules` in their files)."""
    since: str | None = None
    """The first version of Kafka that it is about; None: every known one."""
    before: str | None = None
    """The first version that it is no longer about; None: there is none."""

    @property
    def versions(self) -> str | None:
        """The versions of Kafka that it is about, in words; None: all."""
        words = [
            f"{word} Kafka {version}"
            for word, version in (("since", self.since), ("before", self.before))
            if version
        ]
        return ", ".join(words) or None

    @property
    def by_client(self) -> bool:
        """Whether it is the client that refuses: which of them do is not the same for all."""
        known = (known_settings().get(name) for name in self.settings)
        of_clients = any(setting is not None and setting.kinds.isdisjoint(SERVER_KINDS) for setting in known)
        return self.severity is Severity.REFUSED and of_clients

    def speaks(self, effective: EffectiveSettings) -> bool:
        """Whether it is about this client and version, and applies."""
        own = effective.own
        words = own.rules.get(self.id) if own is not None else None
        if not self.says and (words is None or not words.says):
            return False
        if words is not None and words.silent:
            return False
        if own is not None and words is None and self.client is None and self.by_client:
            return False
        return (
            self.client in (None, effective.client)
            and (self.since is None or effective.kafka >= numbers(self.since))
            and (self.before is None or effective.kafka < numbers(self.before))
            and self.applies(effective)
        )


refused = partial(AuditRule, Severity.REFUSED)
contradiction = partial(AuditRule, Severity.CONTRADICTION)
risk = partial(AuditRule, Severity.RISK)
