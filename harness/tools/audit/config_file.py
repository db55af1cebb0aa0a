"""A user's file as it was understood: its format, and the clients, topics and brokers in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.model.config.properties import PropertyLine
from harness.model.errors import BadInput
from harness.tools.audit.known_settings import ClientLibrary, SettingKind, canonical

PROFILE = "(profile "
"""Begins the label of what belongs to one profile of an application."""
_OWN_NAMES = frozenset(
    ("client.id", "group.id", "group.instance.id", "transactional.id", "node.id", "broker.id", "listeners")
) | {"advertised.listeners", "broker.rack", "log.dirs", "partitions"}
"""Parts that differ in the values of these only are judged once."""


@dataclass(frozen=True, slots=True)
class Process:
    """What runs a client, such as a service of a Compose file. `copies` says how many times, if it is more
    than once: "3 copies"."""

    name: str
    copies: str = ""


@dataclass(frozen=True, slots=True)
class ConfigSection:
    """The settings of one client, of a topic, or of brokers; several with one configuration are one section.

    `kind` and `client` None: the names say it. `labels` tell sections of one kind apart. `alone`: an internal
    topic, which the clients of the same file do not write to. An entry in line 0 is a default of the format.
    `process`: what runs it, if the file says so. `silent`: names that the file sets below keys that are not
    read, so that no rule may take their defaults.
    """

    kind: SettingKind | None
    labels: tuple[str, ...]
    client: ClientLibrary | None
    entries: tuple[PropertyLine, ...]
    alone: bool = False
    process: Process | None = None
    silent: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """As in "consumer orders, bills and 3 others"."""
        shown = [label for label in self.labels if label]
        if len(shown) > 4:
            shown = [*shown[:3], f"{len(shown) - 3} others"]
        names = " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
        return " ".join(filter(None, (self.kind and str(self.kind), names)))


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file, its format by name, and its sections. `notes` say what was not read of it; `clients` are all
    sections with an id, also those that are judged once; `kafka` is the version of Kafka that the file names,
    with the text that does: of several the oldest."""

    path: Path
    format: str
    sections: tuple[ConfigSection, ...]
    notes: tuple[str, ...] = ()
    clients: tuple[ConfigSection, ...] = ()
    kafka: tuple[str, str] | None = None

    def __str__(self) -> str:
        titles = list(filter(None, (section.title for section in self.sections)))
        shown = titles if len(titles) <= 6 else [*titles[:5], f"{len(titles) - 5} others"]
        clients = sorted(
            {str(section.client) for section in self.sections if section.kind and section.client}
        )
        whose = f", client {' and '.join(clients)}" if clients else ""
        return f"{self.path}: {self.format}" + (f" ({', '.join(shown)})" if shown else "") + whose


def without_repetition(sections: Iterable[ConfigSection]) -> tuple[ConfigSection, ...]:
    """The sections; of several that only differ in names and addresses the first, with the labels of all."""
    distinct: dict[object, ConfigSection] = {}
    labels: dict[object, list[str]] = {}
    for section in sections:
        pairs = ((canonical(entry.name), entry.value.strip()) for entry in section.entries)
        # Of two entries with one name the later one counts.
        settings = {name: str(bool(value)) if name in _OWN_NAMES else value for name, value in pairs}
        key = (section.kind, section.client, section.alone, section.silent, frozenset(settings.items()))
        distinct.setdefault(key, section)
        merged = labels.setdefault(key, [])
        # A profile that has what all have is not told.
        if not merged or PROFILE not in section.labels[0] or PROFILE in merged[0]:
            merged += section.labels
    return tuple(replace(section, labels=tuple(labels[key])) for key, section in distinct.items())


def sole_section(file: ConfigFile, kind: SettingKind) -> tuple[ConfigSection, list[str]]:
    """The one section of this kind, or whose names say what it is, and a sentence about each other section.

    Raises:
        BadInput: there is none, or there are several.
    """
    sections = [section for section in file.sections if section.kind in (kind, None) and not section.alone]
    if len(sections) != 1:
        raise BadInput(
            f"this file does not have one {kind}" if sections else f"this file has no {kind}",
            where=str(file.path),
            found=f"{file.format}: {', '.join(section.title or 'settings' for section in file.sections)}",
            next_step=f"cut out the settings of one {kind}"
            if sections
            else "name a file that has one, or this file by another option",
        )
    others = [
        f"{section.title}: only the {kind} of this file"
        for section in file.sections
        if section is not sections[0]
    ]
    return sections[0], others
