"""Audits a configuration: its settings, findings and unknown names."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

from harness.model.config.properties import PropertyLine
from harness.model.defaults import DEFAULT_VERSION
from harness.model.secrets import masked
from harness.tools.audit import (
    framework_rules,
    other_rules,
    own_client_rules,
    producer_rules,
    retention_rules,
    topic_rules,
)
from harness.tools.audit.audit_result import Audit, AuditedSetting, AuditFinding, UnknownSetting, by_severity
from harness.tools.audit.clients.own_lines import OwnLine
from harness.tools.audit.effective_settings import EffectiveSettings, client_of
from harness.tools.audit.kafka_version import VersionNumbers, read_version
from harness.tools.audit.known_settings import (
    SERVER_KINDS,
    ClientLibrary,
    SettingKind,
    canonical,
    change_of_name,
    closest_setting,
    guarantees,
    known_settings,
)
from harness.tools.audit.rule import AuditRule, Severity, source_of
from harness.tools.audit.rule_finding import finding_of, listed_defaults, own_promise
from harness.tools.audit.setting_values import PLACEHOLDERS, expected_values, read_as_number

RULES: tuple[AuditRule, ...] = (
    *producer_rules.RULES,
    *topic_rules.RULES,
    *retention_rules.RULES,
    *framework_rules.RULES,
    *other_rules.RULES,
    *own_client_rules.RULES,
)
_FREE_PREFIXES = ("listener.name.", "interceptor.", "metrics.", "ssl.", "sasl.")
"""Names with these prefixes are not all listed."""
_IGNORED = "the Java client and brokers ignore names that they do not know, librdkafka refuses them"
_COMMENT = re.compile(r"\s(#|//|;)")
_OWN_LINE = "put the comment in {}, line {}, on a line of its own: what follows a value belongs to it"
_MOST_GUESSES = 100
"""Finding the nearest name takes milliseconds."""


def audit(
    entries: Sequence[PropertyLine],
    client: ClientLibrary | None = None,
    kafka: str = DEFAULT_VERSION,
    *,
    server_defaults: bool = True,
    kinds: frozenset[SettingKind] = frozenset(),
    silent: frozenset[str] = frozenset(),
) -> Audit:
    """Audit a configuration for a version of Kafka; `client` None: the client whose settings have these
    names. `server_defaults`: brokers and topics have Kafka's defaults where `entries` say nothing; otherwise
    no rule is built on what they have. `kinds` is what it configures, if its names need not tell; no rule is
    applied to names that are `silent`.

    Raises:
        BadInput: the rules of this version are not known.
    """
    chosen = client_of(entries) if client is None else client
    last = {(entry.file, canonical(entry.name)): entry for entry in entries}
    counting = [entry for entry in entries if last[entry.file, canonical(entry.name)] is entry]
    effective = EffectiveSettings(tuple(entries), chosen, read_version(kafka), server_defaults, kinds)
    refused = {canonical(name): finding for name, finding in _refused_values(counting, effective)}
    unsaid = {*silent, *refused, *(canonical(entry.name) for entry in entries if _is_filled_in_later(entry))}
    rules = [rule for rule in RULES if unsaid.isdisjoint(rule.settings) and rule.speaks(effective)]
    findings = [
        *refused.values(),
        *(finding_of(rule, effective) for rule in rules),
        *_comments(counting, refused, effective.kafka),
        *_cut_numbers(counting, refused, effective),
    ]
    names = known_settings(effective.kafka)
    return Audit(
        client=chosen,
        kafka=kafka,
        settings=(
            *(
                _audited_setting(entry, refused, last[entry.file, canonical(entry.name)], effective)
                for entry in entries
                if canonical(entry.name) in names or (isinstance(entry, OwnLine) and not entry.unknown)
            ),
            *listed_defaults(effective),
        ),
        findings=by_severity(findings),
        unknown=tuple(_unknown(entries, effective)),
    )


def _is_filled_in_later(entry: PropertyLine) -> bool:
    """Whether a placeholder stands for the value; of a name or an id no rule needs the value."""
    return any(mark in entry.value for mark in PLACEHOLDERS) and not entry.name.endswith(".id")


def _audited_setting(
    entry: PropertyLine, refused: Container[str], last: PropertyLine, effective: EffectiveSettings
) -> AuditedSetting:
    """`last`: what the same file says of this name at the end, which is what counts."""
    name = canonical(entry.name)
    promise = guarantees().get(name)
    value = None if name in refused else entry.value.strip().lower()
    says = promise.by_value.get(str(value), promise.says) if promise else None
    source = promise.source if promise else None
    shown, text = entry.name, entry.value
    if isinstance(entry, OwnLine) and effective.own is not None:
        says, shown, text = own_promise(effective.own, entry.name, value), entry.own_name, entry.own_value
        source = source or (str(effective.own) if says else None)
    elif says and effective.own is not None:
        says = effective.own.in_own_words(says, {})
    if says and last is not entry:
        says = f"has no effect: {last.where} sets it again"
    return AuditedSetting(
        name=shown, value=masked(shown, text), where=entry.where, promise=says, source=source
    )


def _unknown(entries: Iterable[PropertyLine], effective: EffectiveSettings) -> Iterable[UnknownSetting]:
    client, kinds = effective.client, effective.declared
    names = known_settings(effective.kafka)
    guesses = _MOST_GUESSES
    for entry in entries:
        if isinstance(entry, OwnLine):
            yield from _unknown_own(entry)
            continue
        known = names.get(entry.name) or names.get(canonical(entry.name))
        changed, close = None, None
        if known is None or (client not in known.clients and known.kinds.isdisjoint(SERVER_KINDS)):
            changed = change_of_name(entry.name, client, effective.kafka)
        if known is None and changed is None:
            guesses -= 1
            close = closest_setting(entry.name) if guesses >= 0 else None
        if changed is not None:
            says = f"Kafka {changed.version} {changed.what} it; {_IGNORED}"
        elif known is None:
            if close is None and entry.name.startswith(_FREE_PREFIXES):
                continue
            says = f"unknown name: {_IGNORED}"
            if close is not None and close.lower() == entry.name.lower():
                says += "; upper and lower case are told apart"
        elif client not in known.clients and known.kinds.isdisjoint(SERVER_KINDS):
            says = f"only {', '.join(known.clients)} has it, not {client}"
        elif kinds and known.kinds.isdisjoint(kinds):
            says = f"a setting of {' and '.join(sorted(known.kinds))}, not of {' and '.join(sorted(kinds))}"
        elif _is_filled_in_later(entry):
            says = "its value is filled in later, so no rule about it was applied"
        else:
            continue
        yield UnknownSetting(name=entry.name, where=entry.where, did_you_mean=close, says=says)


def _unknown_own(entry: OwnLine) -> Iterable[UnknownSetting]:
    """What a client with names of its own does not have, and what is filled in later."""
    says = entry.unknown or (
        "its value is filled in later, so no rule about it was applied"
        if _is_filled_in_later(entry)
        else None
    )
    if says is not None:
        yield UnknownSetting(name=entry.own_name, where=entry.where, did_you_mean=entry.meant, says=says)


def _refused_own(entry: OwnLine, effective: EffectiveSettings) -> AuditFinding:
    """The finding of a value that a client with names of its own does not have."""
    return AuditFinding(
        rule="value",
        severity=Severity.REFUSED,
        says=f"{entry.own_name} cannot be {entry.own_value!r}: it is {entry.refused}",
        do=f"correct the value in {entry.file}, line {entry.line}",
        source=str(effective.own),
        settings={entry.own_name: entry.own_value},
        where={entry.own_name: entry.where},
    )


def _refused_values(
    entries: Iterable[PropertyLine], effective: EffectiveSettings
) -> Iterable[tuple[str, AuditFinding]]:
    """A setting's name and a finding for each value that the client's, the topic's or the broker's own
    validator refuses."""
    for entry in entries:
        value = entry.value.strip()
        if masked(entry.name, value) != value:
            continue
        if isinstance(entry, OwnLine):
            if entry.refused and masked(entry.own_name, entry.own_value) == entry.own_value:
                yield entry.name, _refused_own(entry, effective)
            continue
        refused = expected_values(entry.name, value, effective.client, effective.kinds, effective.kafka)
        if refused is not None:
            expected, kind = refused
            remedy = _OWN_LINE if _COMMENT.search(value) else "correct the value in {}, line {}"
            yield (
                entry.name,
                AuditFinding(
                    rule="value",
                    severity=Severity.REFUSED,
                    says=f"{entry.name} cannot be {value!r}: it is {expected}",
                    do=remedy.format(entry.file, entry.line),
                    source=source_of(effective.client, kind),
                    settings={entry.name: value},
                    where={entry.name: entry.where},
                ),
            )


def _cut_numbers(
    entries: Iterable[PropertyLine], refused: Container[str], effective: EffectiveSettings
) -> Iterable[AuditFinding]:
    """One finding for each value that librdkafka takes for another number than is written there."""
    for entry in entries:
        value = entry.value.strip()
        taken = read_as_number(entry.name, value, effective.client, effective.kafka)
        if taken is not None and canonical(entry.name) not in refused:
            yield AuditFinding(
                rule="number-cut",
                severity=Severity.RISK,
                says=f"librdkafka takes {entry.name}={value} for {taken[0]:,}: {taken[1]}",
                do=f"write the whole number in decimal in {entry.file}, line {entry.line}",
                source="librdkafka reads numbers by strtol; it refuses only what begins with none",
                settings={entry.name: value},
                where={entry.name: entry.where},
            )


def _comments(
    entries: Iterable[PropertyLine], refused: Container[str], kafka: VersionNumbers
) -> Iterable[AuditFinding]:
    """One finding for each value that is taken as it is, and seems to end with a comment."""
    for entry in entries:
        name, value = canonical(entry.name), entry.value.strip()
        known = name in known_settings(kafka) and name not in refused and masked(entry.name, value) == value
        known = known and not isinstance(entry, OwnLine)
        if known and " #" in value:
            yield AuditFinding(
                rule="comment",
                severity=Severity.RISK,
                says=f"the value of {entry.name} is {value!r}, with what looks like a comment",
                do=_OWN_LINE.format(entry.file, entry.line),
                source="java.util.Properties, load: a comment is a line whose first character is # or !",
                settings={entry.name: value},
                where={entry.name: entry.where},
            )
