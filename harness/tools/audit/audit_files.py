"""Audits files in whatever formats they have: each client together with the topics, brokers and other clients
that it meets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.model.config.properties import PropertyLine
from harness.model.defaults import DEFAULT_VERSION
from harness.tools.audit.audit import audit
from harness.tools.audit.audit_result import Audit, AuditFinding, by_severity
from harness.tools.audit.clients.catalogue import own_client
from harness.tools.audit.clients.own_lines import OwnLine
from harness.tools.audit.config_file import ConfigFile, ConfigSection
from harness.tools.audit.configurations import Unit, repeated, together, units
from harness.tools.audit.effective_settings import EffectiveSettings, client_of
from harness.tools.audit.kafka_version import oldest_version, read_version
from harness.tools.audit.known_settings import (
    SERVER_KINDS,
    ClientLibrary,
    SettingKind,
    canonical,
    known_settings,
)
from harness.tools.audit.shared_ids import shared_ids

_OF_ONE_SETTING = ("value", "comment")
"""Rules that need no other section."""
_LEAST = "min.insync.replicas"
_NO_LEAST = (
    f"{_LEAST} was not given, and is 1 by default: with acks=all a leader whose followers have all left "
    "the ISR acknowledges alone, as with acks=1. Audit the settings of the topic or of the brokers, too: "
    f"with replication.factor=3 and {_LEAST}=2 acks=all keeps its promise"
)


def audit_files(
    files: Sequence[ConfigFile], client: ClientLibrary | None = None, kafka: str | None = None
) -> Audit:
    """Audit files as one configuration. Sections of one kind in one file, such as two producers, are judged
    one after the other, each with the sections of other kinds. `client`: as for `read_config`; `kafka`: the
    version of the brokers and of the Java client (None: that of the brokers' image in the files, else the
    newest).

    Raises:
        BadInput: there are too many clients and topics to judge each with each, or the rules of this version
            are not known.
    """
    version, kafka_from = (kafka, None) if kafka else _version(files)
    found_units = units(files, client)
    sections = [unit.section for unit in found_units]
    # What is said of topics is said to users of this client, too.
    own = next((section.client for section in sections if own_client(section.client)), None)
    done = [
        audit(
            section.entries, section.client or own, version, kinds=_kinds((section,)), silent=section.silent
        )
        for section in sections
    ]
    several = len(sections) > 1
    settings, unknown = [], []
    findings: dict[tuple[str | None, str], AuditFinding] = {}
    for section, audited in zip(sections, done, strict=True):
        of = section.title if several and section.title else None
        settings += [setting.model_copy(update={"of": of}) for setting in audited.settings]
        unknown += list(audited.unknown)
        values = (finding for finding in audited.findings if finding.rule in _OF_ONE_SETTING)
        findings |= {(of, finding.says): finding.model_copy(update={"of": of}) for finding in values}
    for combination in together(found_units):
        entries = [entry for section in combination for entry in section.entries]
        whose = next((section.client for section in combination if section.client), own)
        judged = audit(entries, whose, version, kinds=_kinds(combination), silent=_silent(combination))
        for finding in (candidate for candidate in judged.findings if candidate.rule not in _OF_ONE_SETTING):
            of = " with ".join(_concerned(finding, combination)) if several else ""
            findings.setdefault(
                (of, finding.rule + finding.says), finding.model_copy(update={"of": of or None})
            )
    findings |= {(None, finding.says): finding for finding in shared_ids(files)}
    library = next((section.client for section in sections if section.client), done[0].client)
    return Audit(
        client=library,
        kafka=version,
        kafka_from=kafka_from,
        notes=tuple(_notes(found_units, version)),
        settings=tuple(settings),
        findings=by_severity(findings.values()),
        unknown=tuple(unknown),
        read=tuple(_read(files, library)),
    )


def _read(files: Iterable[ConfigFile], client: ClientLibrary) -> Iterator[str]:
    for file in files:
        is_open = any(section.kind is None for section in file.sections)
        yield f"read {file}" + (
            f", as of the client {client} (--client names another one)" if is_open else ""
        )
        yield from (f"    {note}" for note in file.notes)


def _version(files: Sequence[ConfigFile]) -> tuple[str, str | None]:
    """The oldest version of Kafka that the files name, and what names it; else the newest known one."""
    oldest = oldest_version(file.kafka[1] for file in files if file.kafka)
    return oldest or (DEFAULT_VERSION, None)


def _notes(found: Sequence[Unit], kafka: str) -> Iterator[str]:
    """What the files leave open: names that two of them set, and the minimum ISR behind acks=all."""
    yield from repeated(found)
    sections = [unit.section for unit in found if not unit.section.alone]
    if any(section.kind in SERVER_KINDS for section in sections):
        return
    version = read_version(kafka)
    effective_settings = [
        EffectiveSettings(
            section.entries,
            section.client or client_of(section.entries),
            version,
            declared=_kinds((section,)),
        )
        for section in sections
    ]
    stored = any(
        not settings.kinds.isdisjoint(SERVER_KINDS) or _LEAST in settings.written
        for settings in effective_settings
    )
    known = stored or not _silent(sections).isdisjoint((_LEAST, "acks"))
    if not known and any(settings.producing and settings.acks == "all" for settings in effective_settings):
        own = own_client(next((section.client for section in sections if section.client), None))
        yield own.in_own_words(_NO_LEAST, {}) if own is not None else _NO_LEAST


def _silent(sections: Iterable[ConfigSection]) -> frozenset[str]:
    return frozenset(name for section in sections for name in section.silent)


def _kinds(sections: Iterable[ConfigSection]) -> frozenset[SettingKind]:
    return frozenset(section.kind for section in sections if section.kind is not None)


def _concerned(finding: AuditFinding, sections: Iterable[ConfigSection]) -> Iterator[str]:
    """The titles of the sections that set what a finding is about; of one about defaults alone, of those that
    have these defaults."""
    known = (known_settings().get(name) for name in finding.settings if not finding.where)
    kinds = frozenset(kind for setting in known if setting is not None for kind in setting.kinds)
    for section in sections:
        sets = any(_shown_name(entry) in finding.settings for entry in section.entries)
        if section.title and (sets or section.kind in kinds):
            yield section.title


def _shown_name(entry: PropertyLine) -> str:
    return entry.own_name if isinstance(entry, OwnLine) else canonical(entry.name)
