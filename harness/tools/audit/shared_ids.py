"""Ids that clients share although each needs its own: constants in a process that runs several times, or in
several processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.model.config.properties import PropertyLine
from harness.model.finding_class import FindingClass
from harness.tools.audit.audit_result import AuditFinding
from harness.tools.audit.config_file import PROFILE, ConfigFile, ConfigSection
from harness.tools.audit.known_settings import canonical
from harness.tools.audit.rule import CONSUMER_DOCS, JAVA_DOCS, Severity
from harness.tools.audit.setting_values import PLACEHOLDERS
from harness.tools.audit.value_forms import is_filled_in_later


@dataclass(frozen=True, slots=True)
class _Id:
    """An id that no two clients may have at a time, `within` what, and what happens otherwise."""

    name: str
    within: tuple[str, ...]
    says: str
    source: str
    finding: FindingClass | None


_IDS = (
    _Id(
        "transactional.id",
        ("bootstrap.servers",),
        "each that starts fences the other, whose transactions fail (ProducerFencedException, "
        "INVALID_PRODUCER_EPOCH), and none of them works for long",
        f"{JAVA_DOCS}, transactional.id (KIP-98); Spring for Apache Kafka, Transactions",
        None,
    ),
    _Id(
        "group.instance.id",
        ("bootstrap.servers", "group.id"),
        "each that joins takes the partitions of the other, which ends with a fatal error "
        "(FENCED_INSTANCE_ID, or UNRELEASED_INSTANCE_ID with group.protocol=consumer). What was not "
        "committed is given again",
        f"{CONSUMER_DOCS}, group.instance.id (KIP-345, KIP-848)",
        FindingClass.REDELIVERED,
    ),
)


def shared_ids(files: Iterable[ConfigFile]) -> Iterator[AuditFinding]:
    """One finding for each id that several clients share, in whatever files they are."""
    clients = [section for file in files for section in file.clients]
    for rule in _IDS:
        by_value: defaultdict[tuple[str, ...], list[tuple[ConfigSection, PropertyLine]]] = defaultdict(list)
        for section in clients:
            last = {canonical(entry.name): entry for entry in section.entries}
            entry = last.get(rule.name)
            if entry is not None and _is_constant(entry):
                within = (last[name].value.strip() if name in last else "" for name in rule.within)
                by_value[(entry.value.strip(), *within)].append((section, entry))
        for (value, *_), holders in by_value.items():
            who = _several(holders)
            if who:
                yield AuditFinding(
                    rule=f"shared-{rule.name.replace('.', '-')}",
                    severity=Severity.RISK,
                    says=f"{who} one {rule.name}, {value}: {rule.says}",
                    do=f"give each copy its own, such as {value.rstrip('-')}-${{HOSTNAME}}",
                    source=rule.source,
                    settings={rule.name: value},
                    where={rule.name: " and ".join(dict.fromkeys(entry.where for _, entry in holders))},
                    finding=rule.finding,
                )


def _is_constant(entry: PropertyLine) -> bool:
    """Whether the text is the same in all copies; what frameworks set (line 0 or implied) is not."""
    later = any(mark in entry.value for mark in PLACEHOLDERS) or is_filled_in_later(entry.value)
    return bool(entry.value.strip()) and not later and not entry.is_default and " " not in entry.value.strip()


def _several(holders: list[tuple[ConfigSection, PropertyLine]]) -> str:
    """Who has the id, as the beginning of a sentence; empty: one process, whatever its profiles."""
    copies = {section.process.name: section.process.copies for section, _ in holders if section.process}
    others = {
        _name(section): entry
        for section, entry in holders
        if not section.process and section.kind and _name(section)
    }
    if len({(entry.file, entry.line) for entry in others.values()}) < len(others):
        others = {}  # What all of them have is one setting of the framework, which knows how to use it.
    names = sorted({*copies, *others})
    if len(names) > 1:
        return f"{', '.join(names[:-1])} and {names[-1]} have"
    sentences = [f"{name} runs {words}, which have" for name, words in copies.items() if words]
    return sentences[0] if sentences else ""


def _name(section: ConfigSection) -> str:
    label = next(iter(section.labels), "")
    return label.partition(PROFILE)[0].strip()
