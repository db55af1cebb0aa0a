"""What is said of a rule that applies: in Kafka's words, or in those of a client with names of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from harness.model.secrets import MASK, masked
from harness.tools.audit.audit_result import AuditedSetting, AuditFinding
from harness.tools.audit.clients.catalogue import OwnClient, RuleWords
from harness.tools.audit.clients.own_lines import OwnLine
from harness.tools.audit.effective_settings import EffectiveSettings
from harness.tools.audit.known_settings import canonical, guarantees, known_settings
from harness.tools.audit.rule import AuditRule

_LEAST = "min.insync.replicas"
_RULED_OUT = "has no effect here: acks, retries or the number of requests in flight rule it out"


def finding_of(rule: AuditRule, effective: EffectiveSettings) -> AuditFinding:
    """The finding of a rule that applies."""
    own = effective.own
    words = own.rules.get(rule.id, RuleWords()) if own is not None else RuleWords()
    general = rule.do if isinstance(rule.do, str) else rule.do(effective)
    says, do = words.says or rule.says, words.do or general
    if words.do and _LEAST in general and _LEAST not in words.do:
        do = f"{words.do}; and set {_LEAST}=2 on the topic"
    plain = {name: _plain(name, effective) for name in rule.settings}
    if own is not None:
        says, do = own.in_own_words(says, plain), own.in_own_words(do, plain)
    settings = dict(_shown(name, effective) for name in rule.settings)
    return AuditFinding(
        rule=rule.id,
        severity=rule.severity,
        says=_filled(says, plain),
        do=_filled(do, plain),
        source=words.source or "; ".join(_sources(rule, own)),
        settings={name: value for name, value in settings.items() if value},
        where=dict(_written_at(rule.settings, effective)),
        versions=rule.versions,
        finding=rule.finding,
        experiment=rule.proof.experiment if rule.proof else None,
        arms=rule.proof.arms if rule.proof else (),
    )


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{([a-z.]+)\}", lambda match: values.get(match[1]) or "?", text)


def listed_defaults(effective: EffectiveSettings) -> Iterator[AuditedSetting]:
    """The defaults of a client with names of its own that are worth knowing, where nothing else is written,
    and what it does not have."""
    own = effective.own
    if own is None:
        return
    kinds = effective.declared
    for setting in own.settings:
        # What both clients have is worth knowing of producers.
        if setting.listed and setting.kinds[0] in kinds and setting.rule_name not in effective.written:
            value = setting.read(setting.default or "")
            ruled_out = setting.kafka == "enable.idempotence" and value == "true" and not effective.idempotent
            yield AuditedSetting(
                name=setting.name,
                value=setting.default or "",
                where=f"the default of {own}",
                promise=_RULED_OUT if ruled_out else own_promise(own, setting.rule_name, value),
                source=f"{own}, {setting.at}",
            )
    for name, lack in own.lacks.items():
        known = known_settings().get(name)
        if lack.listed and known is not None and not kinds.isdisjoint(known.kinds):
            yield AuditedSetting(
                name=lack.title,
                value=lack.shown,
                where=f"the default of {own}",
                promise=lack.says,
                source=f"{own}, {lack.at}" if lack.at else str(own),
            )


def own_promise(own: OwnClient, rule_name: str, value: str | None) -> str | None:
    """What a setting of a client with names of its own promises, in its words; None: nothing."""
    setting, promise = own.by_rule_name.get(rule_name), guarantees().get(rule_name)
    if setting is not None and setting.says is not None:
        return setting.says
    return own.in_own_words(promise.by_value.get(str(value).lower(), promise.says), {}) if promise else None


def _sources(rule: AuditRule, own: OwnClient | None) -> Iterator[str]:
    yield rule.source
    ats = list(dict.fromkeys(own.sources(rule.settings))) if own is not None and rule.client is None else []
    if ats:
        yield f"{own}, {', '.join(ats)}"


def _plain(name: str, effective: EffectiveSettings) -> str:
    """A setting's value as the client's users write it."""
    line = _own_line(name, effective)
    if line is not None:
        return masked(line.own_name, line.own_value)
    setting = effective.own.by_rule_name.get(name) if effective.own is not None else None
    if setting is not None and name not in effective.written:
        implied = setting.own_value(effective.acks) if name == "acks" else None
        return implied or setting.default or ""
    return masked(name, effective.value(name) or "")


def _shown(name: str, effective: EffectiveSettings) -> tuple[str, str]:
    """A setting's name and its value, fit to be shown; an empty value: it has none."""
    own, line = effective.own, _own_line(name, effective)
    if line is not None:
        return line.own_name, masked(line.own_name, line.own_value) or MASK
    if own is not None and name in own.lacks:
        return own.lacks[name].title, own.lacks[name].shown if own.lacks[name].value is not None else ""
    if own is not None and name in own.by_rule_name and name not in effective.written:
        default = _plain(name, effective)
        return own.by_rule_name[name].name, f"{default} (default)" if default else ""
    if name in effective.written:
        return name, masked(name, effective.written[name]) or MASK
    known, value = known_settings(effective.kafka).get(name), effective.value(name)
    words = known.default_words(effective.client, effective.kafka) if known and value else ""
    return name, f"{value} ({words})" if words else ""


def _written_at(names: Iterable[str], effective: EffectiveSettings) -> Iterator[tuple[str, str]]:
    """The file and line of each of these settings that is written, by the name that is shown."""
    last = {canonical(entry.name): entry for entry in effective.entries}
    for entry in (last[name] for name in names if name in last):
        yield (entry.own_name if isinstance(entry, OwnLine) else canonical(entry.name)), entry.where


def _own_line(name: str, effective: EffectiveSettings) -> OwnLine | None:
    """The line of a client with names of its own that sets this."""
    lines = (line for line in reversed(effective.entries) if isinstance(line, OwnLine) and line.name == name)
    return next(lines, None)
