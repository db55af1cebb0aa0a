"""Which sections of which files are one configuration: each client with the topics, brokers and clients of
other kinds. Files that set the same name for one client are not merged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from harness.model.config.properties import PropertyLine
from harness.model.errors import BadInput
from harness.tools.audit.config_file import ConfigFile, ConfigSection
from harness.tools.audit.effective_settings import client_of
from harness.tools.audit.known_settings import (
    SERVER_KINDS,
    ClientLibrary,
    SettingKind,
    canonical,
    known_settings,
)

_MOST_TOGETHER = 2000
_ORDER = [
    *(SettingKind.BROKER, SettingKind.TOPIC, SettingKind.CONNECTOR, SettingKind.STREAMS),
    *(None, SettingKind.CONSUMER, SettingKind.PRODUCER),
]
"""Of two entries with one name the later one counts: rules about such names are those of producers."""
_SHARED_BY_CLIENTS = ("bootstrap.servers", "client.id", "client.dns.lookup", "security.", "sasl.", "ssl.")
"""Begin the names that clients of one application have in common."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A section and the number of its file; None: it is made of several files."""

    section: ConfigSection
    file: int | None


def units(files: Sequence[ConfigFile], client: ClientLibrary | None) -> list[Unit]:
    """All sections. Those of which only the names tell what they are are one section, in whatever files they
    are, unless two files set the same name."""
    numbered = [Unit(section, number) for number, file in enumerate(files) for section in file.sections]
    named = [unit for unit in numbered if unit.section.kind is None]
    apart = [unit for unit in named if any(_shared(unit, other) for other in named)]
    grouped = [Unit(_named_section(files, unit, client), unit.file) for unit in apart]
    entries = tuple(entry for unit in named if unit not in apart for entry in unit.section.entries)
    if entries:
        merged = [unit.section for unit in named if unit not in apart]
        given = next((section.client for section in merged if section.client), None)
        silent = frozenset(name for section in merged for name in section.silent)
        whole = ConfigSection(None, ("",), _library(entries, client or given), entries, silent=silent)
        grouped = [Unit(whole, None), *grouped]
    return [*grouped, *(unit for unit in numbered if unit.section.kind is not None)]


def repeated(found: Sequence[Unit]) -> Iterator[str]:
    """What is said of names that two files set for one client, topic or broker."""
    known = set()
    for first, other in combinations(found, 2):
        names = _shared(first, other)
        if not names:
            continue
        files = [_file_of(unit, names[0]) for unit in (first, other)]
        what = next((str(unit.section.kind) for unit in (first, other) if unit.section.kind), "client")
        others = "another name" if len(names) == 2 else f"{len(names) - 1} other names"
        rest = f" and {others} are" if len(names) > 1 else " is"
        key = (what, *files)
        if key not in known:
            known.add(key)
            yield (
                f"{names[0]}{rest} set in {files[0]} and in {files[1]}: these are judged as two of kind "
                f"{what}, not merged into one. Where one overrides the other, give what counts in one file"
            )


def together(found: Sequence[Unit]) -> Iterator[tuple[ConfigSection, ...]]:
    """The configurations to judge: one section of each kind and file, whose clients are of one library.

    Raises:
        BadInput: there are too many clients and topics to judge each with each.
    """
    yield from ((unit.section,) for unit in found if unit.section.alone)
    groups: dict[object, list[Unit]] = {}
    for unit in found:
        if not unit.section.alone:
            groups.setdefault((unit.file, unit.section.kind), []).append(unit)
    chosen = _alternatives(list(groups.values()))
    if math.prod(map(len, chosen)) > _MOST_TOGETHER:
        counts = ", ".join(
            f"{len(group)} of kind {group[0].section.kind}" for group in chosen if len(group) > 1
        )
        raise BadInput(
            "these files have too many clients and topics to judge each with each",
            found=counts,
            next_step="audit fewer files at a time",
        )
    for combination in product(*chosen):
        sections = [unit.section for unit in combination]
        for library in dict.fromkeys(section.client for section in sections if section.client) or [None]:
            fitting = [section for section in sections if section.client in (None, library)]
            yield tuple(sorted(fitting, key=lambda section: _ORDER.index(section.kind)))


def _alternatives(groups: list[list[Unit]]) -> list[list[Unit]]:
    """The groups, of which those that set the same name for one client are one."""
    done: list[list[Unit]] = []
    for group in groups:
        same = [other for other in done if any(_shared(mine, theirs) for mine in group for theirs in other)]
        done = [other for other in done if other not in same]
        done.append([*(unit for other in same for unit in other), *group])
    return done


def _shared(one: Unit, other: Unit) -> list[str]:
    """The names that these two set for one client, topic or broker, if they are of different files."""
    if one.file == other.file or one.section.alone or other.section.alone:
        return []
    kinds = _kinds(one.section) & _kinds(other.section)
    names = _names(other.section)
    known = known_settings()
    return [
        name
        for name in _names(one.section)
        if name in names and name in known and not known[name].kinds.isdisjoint(kinds)
    ]


def _names(section: ConfigSection) -> dict[str, None]:
    """The names that a section itself sets."""
    names = (canonical(entry.name) for entry in section.entries if entry.line)
    return dict.fromkeys(name for name in names if not name.startswith(_SHARED_BY_CLIENTS))


def _kinds(section: ConfigSection) -> frozenset[SettingKind]:
    """What a section configures: by the names that only one kind has, else whatever has its names."""
    if section.kind is not None:
        return frozenset([section.kind])
    known = [item for entry in section.entries if (item := known_settings().get(canonical(entry.name)))]
    sole = frozenset(kind for setting in known if len(setting.kinds) == 1 for kind in setting.kinds)
    return sole or frozenset(kind for setting in known for kind in setting.kinds)


def _named_section(files: Sequence[ConfigFile], one: Unit, client: ClientLibrary | None) -> ConfigSection:
    """A section of which only the names tell what it is, as a section of that kind."""
    kinds = _kinds(one.section)
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    path = files[one.file or 0].path
    several = len({file.path.name for file in files}) < len(files)
    library = None if kind in SERVER_KINDS else _library(one.section.entries, client or one.section.client)
    label = str(path) if several else path.name
    return ConfigSection(kind, (label,), library, one.section.entries, silent=one.section.silent)


def _library(entries: Sequence[PropertyLine], given: ClientLibrary | None) -> ClientLibrary | None:
    known = (known_settings().get(canonical(entry.name)) for entry in entries)
    of_servers = all(setting is None or not setting.kinds.isdisjoint(SERVER_KINDS) for setting in known)
    return given or (None if of_servers else client_of(entries))


def _file_of(one: Unit, name: str) -> str:
    entries: Iterable[PropertyLine] = one.section.entries
    return next(entry.file for entry in entries if canonical(entry.name) == name and entry.line)
