"""Files with settings of a client that has names of its own, as its producers and consumers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.model.config.flat_files import FOREIGN, FlatDocument
from harness.model.config.foreign_syntax import suffix_syntax
from harness.model.config.properties import PropertyLine
from harness.model.errors import BadInput
from harness.tools.audit.clients.catalogue import OwnClient, own_clients
from harness.tools.audit.clients.own_lines import (
    OwnLine,
    closest_own,
    defaults_below,
    find_setting,
    is_of_clients,
    is_of_servers,
    kind_of,
    own_line,
    unknown_line,
)
from harness.tools.audit.config_file import ConfigFile, ConfigSection
from harness.tools.audit.formats import format_of
from harness.tools.audit.known_settings import SettingKind, canonical

_OPEN = ("properties", "settings as JSON", "settings as YAML")
"""The formats that leave open whose names they have."""
_MOST_LINES = 20_000
_LEAST_OWN = 2
_MOST_NAMES = 200
_Key = tuple[SettingKind, str]


def own_file(path: Path, found: Sequence[FlatDocument], client: OwnClient) -> ConfigFile | None:
    """A file as settings of this client; None: it has none of them, so that it may be one of brokers or
    topics, or has a format of its own."""
    read = [document for document in found if _is_read(path, document, client)]
    lines = [line for document in read for line in document.lines]
    lines = lines[:_MOST_LINES]
    if not any(find_setting(client, line.name) or _is_nearly_own(client, line.name) for line in lines):
        return None
    sections, others = _sections(client, lines)
    notes = [f"{len(others)} other lines set nothing of a client, topic or broker"] if others else []
    names = (format_of(document).name for document in read)
    formats = " and ".join(dict.fromkeys(name if name in _OPEN else "lines of code" for name in names))
    return ConfigFile(path, f"{formats} with the names of {client}", sections, tuple(notes), sections)


def _is_read(path: Path, document: FlatDocument, client: OwnClient) -> bool:
    """Whether the format leaves open whose names it has, or these are lines of a program, of which each is a
    setting."""
    if document.syntax in FOREIGN and suffix_syntax(str(path)) is None:
        return bool(document.lines) and all(find_setting(client, line.name) for line in document.lines)
    return format_of(document).name in _OPEN


def check_other_file(file: ConfigFile, client: OwnClient) -> None:
    """Refuse a file with Kafka's names of clients in a format that leaves open whose they are.

    Raises:
        BadInput: it has some.
    """
    if not any(name in _OPEN for name in file.format.split(" and ")):
        return
    names = dict.fromkeys(canonical(entry.name) for section in file.sections for entry in section.entries)
    kafkas = [name for name in names if is_of_clients(name)]
    if kafkas and not any(map(is_of_servers, names)):
        own = [client.by_rule_name[name].name for name in kafkas if name in client.by_rule_name]
        raise BadInput(
            f"this file has no setting of {client}",
            where=str(file.path),
            expected=f"its own names, such as {', '.join(own[:4])}" if own else "its own names",
            found=f"Kafka's names: {', '.join(kafkas[:4])}",
            next_step=f"copy into a file {client.copy_}",
        )


def own_names_note(file: ConfigFile) -> str | None:
    """The clients with names of their own to which most names of a file belong, if two or more do; None: to
    none, or the format says whose names they are."""
    if not any(name in _OPEN for name in file.format.split(" and ")):
        return None
    written = dict.fromkeys(entry.name for section in file.sections for entry in section.entries)
    names = [name for name in written if not is_of_clients(canonical(name)) and not is_of_servers(name)]
    if len(names) < _LEAST_OWN:
        return None
    found: dict[str, list[str]] = {}
    for library, client in own_clients().items():
        named = {name: find_setting(client, name) for name in names[:_MOST_NAMES]}
        # Names that no rule needs, such as `topic`, are those of other software, too.
        found[library] = [
            name for name, one in named.items() if one and one.setting.rule_name in client.by_rule_name
        ]
    most = max(map(len, found.values()))
    if most < _LEAST_OWN:
        return None
    libraries = [library for library, own in found.items() if len(own) == most]
    which = ", ".join(found[libraries[0]][:3])
    options = "` or `".join(sorted(libraries))
    return f"{which} are names of other clients: `--client {options}` reads them"


def _is_nearly_own(client: OwnClient, name: str) -> bool:
    last = name.rpartition(".")[2]
    return (
        not is_of_clients(canonical(last))
        and not is_of_servers(name)
        and closest_own(client, name) is not None
    )


def _sections(
    client: OwnClient, lines: Iterable[PropertyLine]
) -> tuple[tuple[ConfigSection, ...], list[PropertyLine]]:
    """The producers, consumers and topics that lines configure, and the lines that configure none."""
    own: defaultdict[_Key, list[OwnLine]] = defaultdict(list)
    wrapped: dict[_Key, str] = {}
    common: list[OwnLine] = []
    unknown: list[tuple[SettingKind | None, OwnLine]] = []
    servers: list[PropertyLine] = []
    others: list[PropertyLine] = []
    for line in lines:
        named = find_setting(client, line.name)
        if named is not None:
            entry = own_line(client, line, named)
            kind = named.kind or (named.setting.kinds[0] if named.setting.of != "clients" else None)
            if kind is None:
                common.append(entry)
                continue
            if named.setting.of != "clients":
                kind = named.setting.kinds[0]
            own[kind, named.label].append(entry)
            if named.wrapper in client.below:
                wrapped[kind, named.label] = named.wrapper
        elif is_of_servers(line.name):
            servers.append(line)
        elif _may_be_unknown(client, line.name):
            kinds = [kind for part in line.name.split(".")[:-1] if (kind := kind_of(client, part))]
            unknown.append((kinds[-1] if kinds else None, unknown_line(client, line)))
        else:
            others.append(line)
    if not own:
        kinds_of_unknown = [kind for kind, _ in unknown if kind is not None]
        own[kinds_of_unknown[0] if kinds_of_unknown else SettingKind.PRODUCER, ""] = []
    first = next(iter(own))
    for kind, entry in unknown:
        own[next((key for key in own if key[0] is kind), first)].append(entry)
    made = [
        ConfigSection(kind, (label,), client.client, _entries(client, kind, label, own, wrapped, common))
        for kind, label in own
        if label or not any(other == kind and named for other, named in own)
    ]
    if servers:
        made.append(ConfigSection(SettingKind.TOPIC, ("",), None, tuple(servers)))
    return tuple(made), others


def _entries(
    client: OwnClient,
    kind: SettingKind,
    label: str,
    own: dict[_Key, list[OwnLine]],
    wrapped: dict[_Key, str],
    common: Iterable[OwnLine],
) -> tuple[PropertyLine, ...]:
    """What one producer or consumer has: other defaults of its constructor, what all have, and its own."""
    fitting = [entry for entry in common if kind in client.by_name[entry.own_name].kinds]
    shared = own.get((kind, ""), []) if label else []
    entries = [*fitting, *shared, *own[kind, label]]
    named = {entry.name for entry in entries}
    wrapper = wrapped.get((kind, label), "")
    return (*(entry for entry in defaults_below(client, wrapper) if entry.name not in named), *entries)


def _may_be_unknown(client: OwnClient, name: str) -> bool:
    """Whether a name that the client does not have stands where its names do."""
    before = [re.sub(r"\[\d+\]$", "", part) for part in name.split(".")[:-1]]
    near = is_of_clients(canonical(name)) or closest_own(client, name) is not None
    return not before or near or any(kind_of(client, part) for part in before)
