"""Reads users' files as settings of clients, topics and brokers, by the table of formats."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from harness.audit import printed
from harness.audit.formats import Format, format_of, formats
from harness.audit.known_settings import (
    SERVER_KINDS,
    ClientLibrary,
    SettingKind,
    canonical,
    closest_setting,
    every_name,
    known_settings,
)
from harness.audit.parts import PROFILE, ConfigFile, Part, without_repetition
from harness.config.flat_files import FlatDocument, documents
from harness.config.other_files import OtherFile, recognised
from harness.config.properties import PropertyLine, read_text
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput

_DOCS = "docs/how-to/your-files.md lists what is read"
_VARIABLES = "environment variables"
_OF_BROKER = "variables of a broker"
_PROFILE = re.compile(r"spring\.(?:config\.activate\.on-profile|profiles)=(.+)")
_PREFIX = re.compile(r"%([\w,-]+)\.")
_SIGNS = {1: ".", 2: "_", 3: "-"}
"""What underscores in the name of a variable stand for, by their number, in images of Kafka."""
_MOST_GUESSES = 30


def read_config(path: Path, client: ClientLibrary | None = None, kafka: str = DEFAULT_VERSION) -> ConfigFile:
    """Read a user's file in whatever format it has; `client`: whose names and defaults apply where the format
    leaves that open (None: told by the names); `kafka`: the version whose defaults a dump leaves out.

    Raises:
        BadInput: it cannot be read, its format is not read, or no name in it is one of Kafka's.
    """
    text = read_text(path)
    reading = _Reading(client)
    output = printed.read_printed(text, str(path), kafka)
    flat = documents(text, str(path)) if output is None else []
    if output is None:
        reading.file(flat)
    else:
        reading.parts += output.parts
        for name, lines in output.embedded:
            reading.document(formats()[name], lines, "")
        reading.formats, reading.notes = {output.format: None}, list(output.notes)
    if not reading.parts and reading.not_read:
        name, why = reading.not_read.popitem()
        raise BadInput(f"{name}: recognised, not read", where=str(path), found=why, next_step=_DOCS)
    found = reading.found(path)
    written = list(dict.fromkeys(one.name for part in found.parts for one in part.entries))
    properties = found.format == "properties"
    # Words such as `partitions` are in other files, too.
    dotted = [name for name in written if "." in name or name in ("acks", "retries")]
    known = (canonical(name) in every_name() for name in (written if properties else dotted))
    if not any(known) and not any(map(closest_setting, dotted[:_MOST_GUESSES])):
        other = _other_file(flat, path)
        raise BadInput(
            "no line of this file sets anything that Kafka's clients, topics or brokers have",
            where=str(path),
            found="; ".join((other.what if other else found.format, *found.notes)),
            next_step=other.next_step if other and other.converter else _DOCS,
        )
    return found


def _other_file(found: Iterable[FlatDocument], path: Path) -> OtherFile | None:
    """What another tool's file is, by its first keys."""
    keys = ({re.split(r"[.\[]", line.name)[0]: line.value for line in one.lines} for one in found)
    return next(filter(None, (recognised(one, str(path)) for one in keys)), None)


class _Reading:
    """What has been read of a file: the names of its formats, its parts, and lines that say nothing here."""

    def __init__(self, client: ClientLibrary | None) -> None:
        self.client = client
        self.formats: dict[str, None] = {}
        self.parts: list[Part] = []
        self.others: list[str] = []
        self.notes: list[str] = []
        self.not_read: dict[str, str] = {}

    def found(self, path: Path) -> ConfigFile:
        known = [part for part in self.parts if part.kind or any(_kinds(one.name) for one in part.entries)]
        if known and len(known) < len(self.parts):
            # Beside these a document in which no name is Kafka's is something else.
            others = (part for part in self.parts if not part.kind)
            self.others += [one.name for part in others for one in part.entries if not _kinds(one.name)]
        parts = without_repetition(known or self.parts)
        notes = [*self.notes, *(f"{name} is not read: {why}" for name, why in self.not_read.items())]
        if self.others:
            named = [name for name in dict.fromkeys(self.others) if "kafka" in name.lower()][:6]
            which = f", among them {', '.join(named)}" if named else ""
            notes.append(f"{len(self.others)} other lines set nothing of a client, topic or broker{which}")
        return ConfigFile(path, " and ".join(self.formats), parts, tuple(notes))

    def file(self, found: Iterable[FlatDocument], label: str = "") -> None:
        """Read the documents of one file; `label` tells it from others that are in the same one."""
        chosen = [(format_of(one), one) for each in found for one in _items(each) if one.lines]
        layered = next((one for one, _ in chosen if one.profiles), None)
        if layered is None:
            for fitting, document in chosen:
                self.document(fitting, document.lines, label)
            return
        layers = _layers(document for _, document in chosen)
        for profile, lines in layers.items():
            where = _joined(label, profile and f"{PROFILE}{profile})")
            self.document(layered, [*layers[""], *lines] if profile else lines, where)

    def document(self, format_: Format, lines: Sequence[PropertyLine], label: str) -> None:
        """Read lines as settings by the rows of a format."""
        if format_.not_read is not None:
            self.not_read[format_.name] = format_.not_read
            return
        sorted_ = _Sorted(format_, self.client)
        if format_.name != _OF_BROKER:
            self.formats[format_.name] = None
        elif not any(sorted_.only_of_brokers(line.name) for line in lines):
            # Applications have variables such as KAFKA_BOOTSTRAP_SERVERS, by names of their own.
            self.others += [f"KAFKA_{re.sub('[^a-z0-9]', '_', line.name).upper()}" for line in lines]
            return
        for line in lines:
            if format_.default_of is not None and "{" in line.value:
                line = replace(line, value=re.sub(format_.default_of, r"\1", line.value))
            if format_.label is not None and re.fullmatch(format_.label, line.name):
                label = line.value
            elif not sorted_.put(line):
                self.others.append(line.name)
        self.parts += sorted_.parts(label)
        for (into, part), inner in sorted_.embedded.items():
            within = _joined(label, part)
            if into == "file":
                for one in inner:
                    self.file(documents(one.value, one.name), within)
            else:
                name = _VARIABLES if into == "variables" else into
                self.document(formats()[name], inner, within)


class _Sorted:
    """The lines of one document, by what they set."""

    def __init__(self, format_: Format, client: ClientLibrary | None) -> None:
        self.format = format_
        self.client = client
        self.own: defaultdict[tuple[SettingKind | None, str, bool], list[PropertyLine]] = defaultdict(list)
        self.common: list[PropertyLine] = []
        self.implied: defaultdict[SettingKind, list[PropertyLine]] = defaultdict(list)
        self.embedded: defaultdict[tuple[str, str], list[PropertyLine]] = defaultdict(list)
        self.foreign: set[tuple[SettingKind | None, str]] = set()

    def put(self, line: PropertyLine) -> bool:
        """Put a line where it belongs; False: no row of the format is for it."""
        found = self.format.row_of(line.name)
        if found is None:
            return False
        row, groups = found
        part, name = groups.get("part", "").strip('"'), row.name or groups.get("name", "")
        if row.into is not None:
            if self.format.name == _VARIABLES:
                name = re.sub("_{1,3}", lambda one: _SIGNS[len(one[0])], name.lower())
            self.embedded[row.into, part].append(replace(line, name=name))
            return True
        for value, settings in row.implies.items():
            if re.fullmatch(value, line.value.strip()):
                for kind, pairs in settings.items():
                    self.implied[kind] += [replace(line, name=one, value=to) for one, to in pairs.items()]
        what = groups.get("kind") or row.of
        if what == "clients":
            self.common.append(replace(line, name=name))
        elif what != "ours":
            kind_ = None if what in (None, "named") else SettingKind(what)
            lines = self.own[kind_, part, row.alone]
            if row.only is None:
                lines.append(replace(line, name=name))
            elif re.search(row.only, line.value) is None:
                self.foreign.add((kind_, part))
        return True

    def only_of_brokers(self, name: str) -> bool:
        """Whether a name in this spelling is a setting of brokers and not of clients."""
        kinds = _kinds(self.format.setting_name(name, SettingKind.BROKER))
        return SettingKind.BROKER in kinds and kinds <= set(SERVER_KINDS)

    def parts(self, label: str) -> Iterator[Part]:
        """What the lines configure; a client with a label of its own also has what all of its kind have."""
        for always in self.format.always:
            self.own.setdefault((always, "", False), [])
        named = {kind for kind, part, _ in self.own if part}
        for (kind, part, alone), lines in self.own.items():
            client = kind is not None and kind not in SERVER_KINDS
            if (kind, part) in self.foreign or (client and not part and kind in named):
                continue
            base = self.own.get((kind, "", alone), []) if client and part else []
            shared = self._entries(self.common, kind) if client else ()
            fitting = [one for one in shared if kind in _kinds(one.name)]
            own = self._entries([*base, *lines, *(self.implied[kind] if kind else ())], kind)
            entries = [*fitting, *own]
            names = {canonical(entry.name) for entry in entries}
            source = f"the default of {self.format.name}"
            defaults = (self.format.defaults.get(kind, {}) if kind else {}).items()
            first = [PropertyLine(name, value, source, 0) for name, value in defaults if name not in names]
            yield Part(kind, (_joined(label, part),), self._client(kind, entries), (*first, *entries), alone)
        if self.common and not any(kind not in SERVER_KINDS for kind, *_ in self.own):
            entries = list(self._entries(self.common, None))
            yield Part(None, (label,), self._client(None, entries), tuple(entries))

    def _client(self, kind: SettingKind | None, entries: list[PropertyLine]) -> ClientLibrary | None:
        if kind in SERVER_KINDS or self.format.syntax == ():
            return None
        if self.format.syntax is None:
            return self.format.client
        known = [one for one in (known_settings().get(entry.name) for entry in entries) if one]
        java = any(
            one.clients == {ClientLibrary.JAVA} and one.kinds.isdisjoint(SERVER_KINDS) for one in known
        )
        return self.client or (None if java else self.format.client)

    def _entries(self, lines: Iterable[PropertyLine], kind: SettingKind | None) -> Iterator[PropertyLine]:
        for line in lines:
            name = self.format.setting_name(re.sub(r"\[\d+\]$", "", line.name), kind)
            yield replace(line, name=name, value=self.format.setting_value(name, line.value))


def _items(document: FlatDocument) -> Iterable[FlatDocument]:
    """The document; of a List of Kubernetes, such as `kubectl get` prints, its items."""
    if not any(line.name == "kind" and line.value == "List" for line in document.lines):
        return (document,)
    items: defaultdict[str, list[PropertyLine]] = defaultdict(list)
    for line in document.lines:
        item, _, name = line.name.partition("].")
        items[item] += [replace(line, name=name)] if name else []
    return (FlatDocument(document.syntax, tuple(lines)) for lines in items.values())


def _layers(found: Iterable[FlatDocument]) -> dict[str, list[PropertyLine]]:
    """The lines of each profile, and of none (""), by Spring's documents and Quarkus' prefixes."""
    layers: dict[str, list[PropertyLine]] = {"": []}
    for document in found:
        marks = (_PROFILE.fullmatch(f"{line.name}={line.value}") for line in document.lines)
        profile = next((mark[1] for mark in marks if mark), "")
        for line in document.lines:
            prefix = _PREFIX.match(line.name)
            name = line.name[prefix.end() :] if prefix else line.name
            layers.setdefault(prefix[1] if prefix else profile, []).append(replace(line, name=name))
    return layers


def _kinds(name: str) -> set[SettingKind]:
    known = known_settings().get(canonical(name))
    return known.kinds if known else set()


def _joined(label: str, part: str) -> str:
    return label if part in label else f"{label} {part}".strip()
