"""Reads users' files as settings of clients, topics and brokers, by the table of formats."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from harness.model.config.flat_files import FlatDocument, documents
from harness.model.config.other_files import OtherFile, recognised
from harness.model.config.properties import PropertyLine, read_text
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput
from harness.tools.audit import printed
from harness.tools.audit.clients.catalogue import own_client
from harness.tools.audit.clients.own_files import check_other_file, own_file, own_names_note
from harness.tools.audit.config_file import PROFILE, ConfigFile, ConfigSection, Process, without_repetition
from harness.tools.audit.formats import Format, format_of, formats
from harness.tools.audit.kafka_version import oldest_version
from harness.tools.audit.known_settings import (
    ClientLibrary,
    canonical,
    every_name,
)
from harness.tools.audit.names_in_text import kafka_names
from harness.tools.audit.sorted_lines import VARIABLES, SortedLines, has_misspelt, joined, kinds_of

_DOCS = "docs/how-to/your-files.md lists what is read"
_INSTEAD = (
    "give the settings of each client as properties, one name=value per line; of a chart give what "
    "`helm template` prints"
)
_OF_BROKER = "variables of a broker"
_PROFILE = re.compile(r"spring\.(?:config\.activate\.on-profile|profiles)=(.+)")
_PREFIX = re.compile(r"%([\w,-]+)\.")


def read_config(path: Path, client: ClientLibrary | None = None, kafka: str = DEFAULT_VERSION) -> ConfigFile:
    """Read a user's file in whatever format it has; `client`: whose names and defaults apply where the format
    leaves that open (None: told by the names); `kafka`: the version whose defaults a dump leaves out.

    Raises:
        BadInput: it cannot be read, its format is not read, or no name in it is one of Kafka's.
    """
    text = read_text(path)
    own = own_client(client)
    reading = _Reading(client if own is None else None)
    names = ", ".join(kafka_names(text))
    seen = f"; names of Kafka stand in it, which are not read there: {names}" if names else ""
    output = printed.read_printed(text, str(path), kafka)
    flat = documents(text, str(path)) if output is None else []
    if own is not None and (file := own_file(path, flat, own)) is not None:
        return file
    if output is None:
        reading.file(flat)
    else:
        reading.sections += output.sections
        for name, lines in output.embedded:
            reading.document(formats()[name], lines, "")
        reading.formats, reading.notes = {output.format: None}, list(output.notes)
    if not reading.sections and reading.not_read:
        name, unread = reading.not_read.popitem()
        raise BadInput(
            f"{name}: recognised, not read",
            where=str(path),
            found=f"{unread.not_read}{seen}",
            next_step="; ".join(
                filter(None, (f"copy into a file {own.copy_}" if own else unread.instead, _DOCS))
            ),
        )
    file = reading.found(path)
    if own is not None:
        check_other_file(file, own)
    elif client is None and output is None and (note := own_names_note(file)) is not None:
        file = replace(file, notes=(*file.notes, note))
    if output is not None:
        # A log has the same client once more when its process was started again.
        file = replace(file, clients=())
    written = list(dict.fromkeys(entry.name for section in file.sections for entry in section.entries))
    properties = file.format == "properties"
    # Words such as `partitions` are in other files, too.
    dotted = [name for name in written if "." in name or name in ("acks", "retries")]
    known = (canonical(name) in every_name() for name in (written if properties else dotted))
    if not any(known) and not has_misspelt(dotted):
        other = _other_file(flat, path)
        if names and not other:
            raise BadInput(
                "this file has names of Kafka where they are not read",
                where=str(path),
                expected="Kafka's names as keys, below `producer` or `consumer`, or a known format",
                found=f"{file.format}; {names}",
                next_step=f"{_INSTEAD}; {_DOCS}",
            )
        raise BadInput(
            "no line of this file sets anything that Kafka's clients, topics or brokers have",
            where=str(path),
            found="; ".join((other.what if other else file.format, *file.notes)),
            next_step=other.next_step
            if other and other.has_equal
            else "; ".join((*((f"copy into a file {own.copy_}",) if own else ()), _DOCS)),
        )
    return file


def _other_file(found: Iterable[FlatDocument], path: Path) -> OtherFile | None:
    """What another tool's file is, by its first keys."""
    keys = ({re.split(r"[.\[]", line.name)[0]: line.value for line in document.lines} for document in found)
    return next(filter(None, (recognised(names, str(path)) for names in keys)), None)


class _Reading:
    """What has been read of a file: the names of its formats, its sections, and lines that say nothing."""

    def __init__(self, client: ClientLibrary | None) -> None:
        self.client = client
        self.formats: dict[str, None] = {}
        self.sections: list[ConfigSection] = []
        self.others: list[str] = []
        self.notes: list[str] = []
        self.not_read: dict[str, Format] = {}
        self.versions: list[str] = []

    def found(self, path: Path) -> ConfigFile:
        known = [
            section
            for section in self.sections
            if section.kind or any(kinds_of(entry.name) for entry in section.entries)
        ]
        if known and len(known) < len(self.sections):
            # Beside these a document in which no name is Kafka's is something else.
            others = (section for section in self.sections if not section.kind)
            self.others += [
                entry.name for section in others for entry in section.entries if not kinds_of(entry.name)
            ]
        sections = without_repetition(known or self.sections)
        notes = [
            *self.notes,
            *(f"{name} is not read: {unread.not_read}" for name, unread in self.not_read.items()),
        ]
        if silent := sorted({name for section in sections for name in section.silent}):
            which = ", ".join(silent[:6])
            notes.append(f"set below keys that are not read, so that no rule is applied to them: {which}")
        if self.others:
            named = [name for name in dict.fromkeys(self.others) if "kafka" in name.lower()][:6]
            which = f", among them {', '.join(named)}" if named else ""
            notes.append(f"{len(self.others)} other lines set nothing of a client, topic or broker{which}")
        formats_ = " and ".join(self.formats)
        kafka = oldest_version(self.versions)
        return ConfigFile(path, formats_, sections, tuple(notes), tuple(self.sections), kafka)

    def file(self, found: Iterable[FlatDocument], label: str = "", process: Process | None = None) -> None:
        """Read the documents of one file; `label` tells it from others that are in the same one, `process` is
        what runs the clients in it."""
        chosen = [
            (format_of(document), document) for each in found for document in _items(each) if document.lines
        ]
        layered = next((fitting for fitting, _ in chosen if fitting.profiles), None)
        if layered is None:
            for fitting, document in chosen:
                self.document(fitting, document.lines, label, process)
            return
        layers = _layers(document for _, document in chosen)
        for profile, lines in layers.items():
            where = joined(label, profile and f"{PROFILE}{profile})")
            self.document(layered, [*layers[""], *lines] if profile else lines, where, process)

    def document(
        self, format_: Format, lines: Sequence[PropertyLine], label: str, process: Process | None = None
    ) -> None:
        """Read lines as settings by the rows of a format."""
        if format_.not_read is not None:
            self.not_read[format_.name] = format_
            return
        sorted_ = SortedLines(format_, self.client)
        if format_.name != _OF_BROKER:
            self.formats[format_.name] = None
        elif not any(sorted_.only_of_brokers(line.name) for line in lines):
            # Applications have variables such as KAFKA_BOOTSTRAP_SERVERS, by names of their own.
            self.others += [f"KAFKA_{re.sub('[^a-z0-9]', '_', line.name).upper()}" for line in lines]
            return
        for line in lines:
            if format_.default_of is not None and "{" in line.value:
                # With an empty default the value is filled in later.
                filled = re.sub(format_.default_of, r"\1", line.value)
                if filled.strip() and filled != line.value:
                    # Those of a file of processes are filled in once, for all copies.
                    line = replace(line, value=filled, is_default=line.is_default or not format_.processes)
            if format_.label is not None and re.fullmatch(format_.label, line.name):
                label = line.value
            else:
                sorted_.put(line)
        self.sections += [replace(section, process=process) for section in sorted_.sections(label)]
        self.others += [line.name for line in sorted_.left]
        self.versions += sorted_.versions
        parts = {part for _, part in sorted_.embedded}
        for (into, part), inner in sorted_.embedded.items():
            # Containers have numbers; one alone is told by the name of its workload.
            own = part if not part.isdigit() else f"container {int(part) + 1}" if len(parts) > 1 else ""
            within = joined(label, own)
            runs = Process(within, sorted_.copies_of(part)) if format_.processes else process
            if into == "file":
                for line in inner:
                    self.file(documents(line.value, line.name), within, runs)
            else:
                name = VARIABLES if into == "variables" else into
                self.document(formats()[name], inner, within, runs)


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
