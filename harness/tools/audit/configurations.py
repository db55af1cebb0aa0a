"""Which parts of which files are one configuration: each client with the topics, brokers and clients of other
kinds. Files that set the same name for one client are not merged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from harness.model.config.properties import PropertyLine
from harness.model.errors import BadInput
from harness.tools.audit.effective_settings import client_of
from harness.tools.audit.known_settings import (
    SERVER_KINDS,
    ClientLibrary,
    SettingKind,
    canonical,
    known_settings,
)
from harness.tools.audit.parts import ConfigFile, Part

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
    """A part and the number of its file; None: it is made of several files."""

    part: Part
    file: int | None


def units(files: Sequence[ConfigFile], client: ClientLibrary | None) -> list[Unit]:
    """All parts. Those of which only the names tell what they are are one part, in whatever files they are,
    unless two files set the same name."""
    numbered = [Unit(part, number) for number, file in enumerate(files) for part in file.parts]
    named = [one for one in numbered if one.part.kind is None]
    apart = [one for one in named if any(_shared(one, other) for other in named)]
    found = [Unit(_told_by_names(files, one, client), one.file) for one in apart]
    entries = tuple(entry for one in named if one not in apart for entry in one.part.entries)
    if entries:
        merged = [one.part for one in named if one not in apart]
        given = next((part.client for part in merged if part.client), None)
        silent = frozenset(name for part in merged for name in part.silent)
        whole = Part(None, ("",), _library(entries, client or given), entries, silent=silent)
        found = [Unit(whole, None), *found]
    return [*found, *(one for one in numbered if one.part.kind is not None)]


def repeated(found: Sequence[Unit]) -> Iterator[str]:
    """What is said of names that two files set for one client, topic or broker."""
    told = set()
    for one, other in combinations(found, 2):
        names = _shared(one, other)
        if not names:
            continue
        files = [_place(unit, names[0]) for unit in (one, other)]
        what = next((str(unit.part.kind) for unit in (one, other) if unit.part.kind), "client")
        others = "another name" if len(names) == 2 else f"{len(names) - 1} other names"
        rest = f" and {others} are" if len(names) > 1 else " is"
        key = (what, *files)
        if key not in told:
            told.add(key)
            yield (
                f"{names[0]}{rest} set in {files[0]} and in {files[1]}: these are judged as two of kind "
                f"{what}, not merged into one. Where one overrides the other, give what counts in one file"
            )


def together(found: Sequence[Unit]) -> Iterator[tuple[Part, ...]]:
    """The configurations to judge: one part of each kind and file, whose clients are of one library.

    Raises:
        BadInput: there are too many clients and topics to judge each with each.
    """
    yield from ((one.part,) for one in found if one.part.alone)
    groups: dict[object, list[Unit]] = {}
    for one in found:
        if not one.part.alone:
            groups.setdefault((one.file, one.part.kind), []).append(one)
    chosen = _alternatives(list(groups.values()))
    if math.prod(map(len, chosen)) > _MOST_TOGETHER:
        counts = ", ".join(f"{len(group)} of kind {group[0].part.kind}" for group in chosen if len(group) > 1)
        raise BadInput(
            "these files have too many clients and topics to judge each with each",
            found=counts,
            next_step="audit fewer files at a time",
        )
    for combination in product(*chosen):
        parts = [one.part for one in combination]
        for library in dict.fromkeys(part.client for part in parts if part.client) or [None]:
            fitting = [part for part in parts if part.client in (None, library)]
            yield tuple(sorted(fitting, key=lambda part: _ORDER.index(part.kind)))


def _alternatives(groups: list[list[Unit]]) -> list[list[Unit]]:
    """The groups, of which those that set the same name for one client are one."""
    done: list[list[Unit]] = []
    for group in groups:
        same = [other for other in done if any(_shared(one, two) for one in group for two in other)]
        done = [other for other in done if other not in same]
        done.append([*(unit for other in same for unit in other), *group])
    return done


def _shared(one: Unit, other: Unit) -> list[str]:
    """The names that these two set for one client, topic or broker, if they are of different files."""
    if one.file == other.file or one.part.alone or other.part.alone:
        return []
    kinds = _kinds(one.part) & _kinds(other.part)
    names = _names(other.part)
    known = known_settings()
    return [
        name
        for name in _names(one.part)
        if name in names and name in known and not known[name].kinds.isdisjoint(kinds)
    ]


def _names(part: Part) -> dict[str, None]:
    """The names that a part itself sets."""
    names = (canonical(entry.name) for entry in part.entries if entry.line)
    return dict.fromkeys(name for name in names if not name.startswith(_SHARED_BY_CLIENTS))


def _kinds(part: Part) -> frozenset[SettingKind]:
    """What a part configures; told by the names that only one kind has, else whatever has its names."""
    if part.kind is not None:
        return frozenset([part.kind])
    known = [one for entry in part.entries if (one := known_settings().get(canonical(entry.name)))]
    sole = frozenset(kind for one in known if len(one.kinds) == 1 for kind in one.kinds)
    return sole or frozenset(kind for one in known for kind in one.kinds)


def _told_by_names(files: Sequence[ConfigFile], one: Unit, client: ClientLibrary | None) -> Part:
    """A part of which only the names tell what it is, as a part of that kind."""
    kinds = _kinds(one.part)
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    path = files[one.file or 0].path
    several = len({file.path.name for file in files}) < len(files)
    library = None if kind in SERVER_KINDS else _library(one.part.entries, client or one.part.client)
    label = str(path) if several else path.name
    return Part(kind, (label,), library, one.part.entries, silent=one.part.silent)


def _library(entries: Sequence[PropertyLine], given: ClientLibrary | None) -> ClientLibrary | None:
    known = (known_settings().get(canonical(entry.name)) for entry in entries)
    of_servers = all(one is None or not one.kinds.isdisjoint(SERVER_KINDS) for one in known)
    return given or (None if of_servers else client_of(entries))


def _place(one: Unit, name: str) -> str:
    entries: Iterable[PropertyLine] = one.part.entries
    return next(entry.file for entry in entries if canonical(entry.name) == name and entry.line)
