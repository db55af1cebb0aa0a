"""The lines of one document of a file, sorted by what they set: clients, topics and brokers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from harness.model.config.properties import PropertyLine, raw_lines
from harness.tools.audit.config_file import ConfigSection
from harness.tools.audit.formats import Format
from harness.tools.audit.known_settings import (
    SERVER_KINDS,
    ClientLibrary,
    SettingKind,
    canonical,
    closest_setting,
    known_settings,
)
from harness.tools.audit.names_in_text import inner_name

VARIABLES = "environment variables"
_SIGNS = {1: ".", 2: "_", 3: "-"}
"""What underscores in the name of a variable stand for, by their number, in images of Kafka."""
_OF_ERRORS = ("errors.tolerance", "errors.deadletterqueue.topic.name")
"""Without these nothing is known of a connector itself."""
_MOST_GUESSES = 30
_COMMA = re.compile(r",(?=[a-z][\w.]*\s*=)")
"""Between two settings of a list, whose values may have commas, too."""


class SortedLines:
    """The lines of one document, by what they set."""

    def __init__(self, format_: Format, client: ClientLibrary | None) -> None:
        self.format = format_
        self.client = client
        self.own: defaultdict[tuple[SettingKind | None, str, bool], list[PropertyLine]] = defaultdict(list)
        self.common: list[PropertyLine] = []
        self.implied: defaultdict[SettingKind, list[PropertyLine]] = defaultdict(list)
        self.embedded: defaultdict[tuple[str, str], list[PropertyLine]] = defaultdict(list)
        self.foreign: set[tuple[SettingKind | None, str]] = set()
        self.left: list[PropertyLine] = []
        self.copies: dict[str, str] = {}
        self.versions: list[str] = []

    def put(self, line: PropertyLine) -> None:
        """Put a line where it belongs; what no row of the format is for is `left`."""
        matched = self.format.row_of(line.name, line.value)
        if matched is None:
            self.left.append(line)
            return
        row, groups = matched
        part, name = groups.get("part", "").strip('"'), row.name or groups.get("name", "")
        if row.into is not None:
            if self.format.name == VARIABLES:
                name = re.sub("_{1,3}", lambda match: _SIGNS[len(match[0])], name.lower())
            self.embedded[row.into, part].append(replace(line, name=name))
            return
        for value, settings in row.implies.items():
            if re.fullmatch(value, line.value.strip()):
                for kind, pairs in settings.items():
                    self.implied[kind] += [replace(line, name=key, value=to) for key, to in pairs.items()]
        what = groups.get("kind") or row.of
        if row.pairs:
            inside = list(_pairs(line))
            known = [kinds for pair in inside if (kinds := kinds_of(pair.name))]
            of = SettingKind(what) if what and all(what in tuple(kinds) for kinds in known) else None
            (self.own[of, part, row.alone] if known else self.left).extend(inside or [line])
        elif what == "version":
            self.versions.append(line.value.strip())
        elif what == "copies":
            self.copies[part] = _copies_in_words(line.value) or self.copies.get(part, "")
        elif what == "clients":
            self.common.append(replace(line, name=name))
        elif what != "ours":
            kind_ = None if what in (None, "named") else SettingKind(what)
            lines = self.own[kind_, part, row.alone]
            if row.only is None:
                lines.append(replace(line, name=name))
            elif re.search(row.only, line.value) is None:
                self.foreign.add((kind_, part))

    def copies_of(self, part: str) -> str:
        """How many times a process runs, in words; empty: once."""
        return self.copies.get(part) or self.copies.get("", "")

    def only_of_brokers(self, name: str) -> bool:
        """Whether a name in this spelling is a setting of brokers and not of clients."""
        kinds = kinds_of(self.format.setting_name(name, SettingKind.BROKER))
        return SettingKind.BROKER in kinds and kinds <= set(SERVER_KINDS)

    def sections(self, label: str) -> Iterator[ConfigSection]:
        """What the lines configure; a client with a label of its own also has what all of its kind have."""
        for always in self.format.always:
            self.own.setdefault((always, "", False), [])
        self._leave_sections()
        named = {kind for kind, part, _ in self.own if part}
        for (kind, part, alone), lines in self.own.items():
            client = kind is not None and kind not in SERVER_KINDS
            if (kind, part) in self.foreign:
                self.left += lines
                continue
            if client and not part and kind in named:
                continue
            if kind is SettingKind.CONNECTOR and all(line.name not in _OF_ERRORS for line in lines):
                continue
            base = self.own.get((kind, "", alone), []) if client and part else []
            shared = self._entries(self.common, kind) if client else ()
            fitting = [entry for entry in shared if kind in kinds_of(entry.name)]
            own = self._entries([*base, *lines, *(self.implied[kind] if kind else ())], kind)
            entries = [*fitting, *own]
            names = {canonical(entry.name) for entry in entries}
            source = f"the default of {self.format.name}"
            defaults = (self.format.defaults.get(kind, {}) if kind else {}).items()
            first = [PropertyLine(name, value, source, 0) for name, value in defaults if name not in names]
            whose = self._client(kind, entries)
            silent = self._silent(kind, entries)
            yield ConfigSection(kind, (joined(label, part),), whose, (*first, *entries), alone, silent=silent)
        if self.common and not any(kind not in SERVER_KINDS for kind, *_ in self.own):
            entries = list(self._entries(self.common, None))
            yield ConfigSection(None, (label,), self._client(None, entries), tuple(entries))

    def _leave_sections(self) -> None:
        """Leave the lines of clients of which Kafka knows no name: they are those of an application."""
        for (kind, part, alone), lines in list(self.own.items()):
            if self.format.sections and kind is not None and kind not in SERVER_KINDS:
                names = (self.format.setting_name(re.sub(r"\[\d+\]$", "", line.name), kind) for line in lines)
                if not any(map(kinds_of, names)) and not has_misspelt(line.name for line in lines):
                    self.left += self.own.pop((kind, part, alone))

    def _silent(self, kind: SettingKind | None, entries: Sequence[PropertyLine]) -> frozenset[str]:
        """Names of Kafka in lines of which the rest is not known; what is left over may be of any client."""
        unknown = [entry.name for entry in entries if not kinds_of(entry.name)]
        if self.format.sections or kind is None:
            unknown += [line.name for line in self.left]
        inner = (canonical(name) for word in unknown if (name := inner_name(word)) is not None)
        return frozenset(inner) - {canonical(entry.name) for entry in entries}

    def _client(self, kind: SettingKind | None, entries: list[PropertyLine]) -> ClientLibrary | None:
        if kind in SERVER_KINDS or self.format.syntax == ():
            return None
        if self.format.syntax is None:
            return self.format.client
        known = [setting for setting in (known_settings().get(entry.name) for entry in entries) if setting]
        java = any(
            setting.clients == {ClientLibrary.JAVA} and setting.kinds.isdisjoint(SERVER_KINDS)
            for setting in known
        )
        return self.client or (None if java else self.format.client)

    def _entries(self, lines: Iterable[PropertyLine], kind: SettingKind | None) -> Iterator[PropertyLine]:
        for line in lines:
            name = self.format.setting_name(re.sub(r"\[\d+\]$", "", line.name), kind)
            yield replace(line, name=name, value=self.format.setting_value(name, line.value))


def _pairs(line: PropertyLine) -> Iterator[PropertyLine]:
    """The settings in a value that is a text of properties, or a list of name=value."""
    text = _COMMA.sub("\n", line.value)
    for number, name, _, value in raw_lines(text):
        if re.fullmatch(r"[\w.\-]+", name):
            yield replace(line, name=name, value=value, line=line.line + number)


def _copies_in_words(value: str) -> str:
    """The number of copies that a line asks for; empty: one, or it says nothing of it."""
    if value in ("DaemonSet", "global"):
        return "a copy on each node"
    return f"{int(value)} copies" if value.isdecimal() and len(value) < 9 and int(value) > 1 else ""


def has_misspelt(names: Iterable[str]) -> bool:
    """Whether one of the first names is nearly one of Kafka's, and not one of these below another key."""
    return any(inner_name(name) is None and closest_setting(name) for name in islice(names, _MOST_GUESSES))


def kinds_of(name: str) -> set[SettingKind]:
    """What a setting of this name configures; empty: Kafka does not have it."""
    known = known_settings().get(canonical(name))
    return known.kinds if known else set()


def joined(label: str, part: str) -> str:
    """The label of what is within another section."""
    return label if part in label else f"{label} {part}".strip()
