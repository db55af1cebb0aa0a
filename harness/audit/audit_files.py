"""Audits files in whatever formats they have: each client together with the topics, brokers and other clients
that it meets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from harness.audit.audit import Audit, AuditFinding, audit, by_severity
from harness.audit.effective_settings import client_of
from harness.audit.known_settings import SERVER_KINDS, ClientLibrary, SettingKind, canonical, known_settings
from harness.audit.parts import ConfigFile, Part
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput

_MOST_TOGETHER = 2000
_OF_ONE_SETTING = ("value", "comment")
"""Rules that need no other part."""
_ORDER = [SettingKind.BROKER, SettingKind.TOPIC, None, SettingKind.CONSUMER, SettingKind.PRODUCER]
"""Of two entries with one name the later one counts: rules about such names are those of producers."""


def audit_files(
    files: Sequence[ConfigFile], client: ClientLibrary | None = None, kafka: str = DEFAULT_VERSION
) -> Audit:
    """Audit files as one configuration. Parts of one kind in one file, such as two producers, are judged one
    after the other, each with the parts of other kinds. `client`, `kafka`: as for `read_config`.

    Raises:
        BadInput: there are too many clients and topics to judge each with each, or the rules of this version
            are not known.
    """
    parts = list(_parts(files, client))
    done = [audit(part.entries, part.client, kafka, kinds=_kinds((part,))) for part in parts]
    several = len(parts) > 1
    settings, unknown = [], []
    found: dict[tuple[str | None, str], AuditFinding] = {}
    for part, one in zip(parts, done, strict=True):
        of = part.title if several and part.title else None
        settings += [setting.model_copy(update={"of": of}) for setting in one.settings]
        unknown += list(one.unknown)
        values = (finding for finding in one.findings if finding.rule in _OF_ONE_SETTING)
        found |= {(of, finding.says): finding.model_copy(update={"of": of}) for finding in values}
    for together in _together(files, parts):
        entries = [entry for part in together for entry in part.entries]
        whose = next((part.client for part in together if part.client), None)
        judged = audit(entries, whose, kafka, kinds=_kinds(together))
        for finding in (one for one in judged.findings if one.rule not in _OF_ONE_SETTING):
            of = " with ".join(_concerned(finding, together)) if several else ""
            found.setdefault((of, finding.rule + finding.says), finding.model_copy(update={"of": of or None}))
    library = next((part.client for part in parts if part.client), done[0].client)
    return Audit(
        client=library,
        kafka=kafka,
        settings=tuple(settings),
        findings=by_severity(found.values()),
        unknown=tuple(unknown),
        read=tuple(_read(files, library)),
    )


def _read(files: Iterable[ConfigFile], client: ClientLibrary) -> Iterator[str]:
    for file in files:
        is_open = any(part.kind is None for part in file.parts)
        yield f"read {file}" + (
            f", as of the client {client} (--client names another one)" if is_open else ""
        )
        yield from (f"    {note}" for note in file.notes)


def _parts(files: Iterable[ConfigFile], client: ClientLibrary | None) -> Iterator[Part]:
    """All parts; those of which only the names tell what they are, in whatever files, are one."""
    whole = [part for file in files for part in file.parts]
    entries = tuple(entry for part in whole if part.kind is None for entry in part.entries)
    if entries:
        given = client or next((part.client for part in whole if part.kind is None and part.client), None)
        known = (known_settings().get(canonical(entry.name)) for entry in entries)
        of_servers = all(one is None or not one.kinds.isdisjoint(SERVER_KINDS) for one in known)
        yield Part(None, ("",), given or (None if of_servers else client_of(entries)), entries)
    yield from (part for part in whole if part.kind is not None)


def _together(files: Iterable[ConfigFile], parts: Sequence[Part]) -> Iterator[tuple[Part, ...]]:
    """The configurations to judge: one part of each kind and file, whose clients are of one library."""
    yield from ((part,) for part in parts if part.alone)
    groups = [[part for part in parts if part.kind is None]]
    for file in files:
        groups += [[one for one in file.parts if one.kind is kind and not one.alone] for kind in SettingKind]
    groups = [group for group in groups if group]
    if math.prod(map(len, groups)) > _MOST_TOGETHER:
        counts = ", ".join(f"{len(group)} of kind {group[0].kind}" for group in groups if len(group) > 1)
        raise BadInput(
            "these files have too many clients and topics to judge each with each",
            found=counts,
            next_step="audit fewer files at a time",
        )
    for chosen in product(*groups):
        for library in dict.fromkeys(part.client for part in chosen if part.client) or [None]:
            fitting = [part for part in chosen if part.client in (None, library)]
            yield tuple(sorted(fitting, key=lambda part: _ORDER.index(part.kind)))


def _kinds(parts: Iterable[Part]) -> frozenset[SettingKind]:
    return frozenset(part.kind for part in parts if part.kind is not None)


def _concerned(finding: AuditFinding, parts: Iterable[Part]) -> Iterator[str]:
    """The titles of the parts that set what a finding is about."""
    for part in parts:
        if part.title and any(canonical(entry.name) in finding.settings for entry in part.entries):
            yield part.title
