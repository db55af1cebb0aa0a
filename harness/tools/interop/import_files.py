"""Files that `kafka-chaos import` is given: how they are opened, whose output they hold, which containers
printed their lines, and what stands before these lines. harness/tools/interop/formats.yaml has the
formats."""

from __future__ import annotations

import codecs
import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from harness.model.errors import BadInput
from harness.tools.interop.table_dumps import TABLE, dump_header, table_header
from harness.tools.interop.topic_dumps import KCAT, dump_tool
from harness.tools.interop.verifiable_events import CONSUMER, PRODUCER, SHARE_CONSUMER

PRODUCER_TOOL, CONSUMER_TOOL = "VerifiableProducer", "VerifiableConsumer"
SHARE_TOOL = "VerifiableShareConsumer"
_ANY, _RECORD = "an event of any of these tools", "a record of either consumer"
_TIME = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_JSON_FILE = "log file of docker (json-file)"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_EXAMINED = 100
"""Lines that are compared with formats which are known and not read."""
_SHOWN = 100
_NEEDED = "; of another dump are needed: topic, partition, offset, and the value with its identity"
_RENAME = (
    "`jq -c '{topic: .t, partition: .p, offset: .o, value: .v}'` with their names instead of t, p, o and v"
)


@dataclass(frozen=True, slots=True)
class ContainerLines:
    """The lines of one container in a file; of all of them, if the file names none (`source` empty).
    `tools` printed them, `prefixes` stand before them. `alone`: no line of the file has another source."""

    path: Path
    content: Path
    tools: frozenset[str]
    prefixes: tuple[str, ...]
    source: str
    alone: bool

    @property
    def name(self) -> str:
        """The file's name, with the container's."""
        return self.path.name if self.alone or not self.source else f"{self.path.name} ({self.source})"

    @property
    def location(self) -> str:
        """As `name`, with the file's path."""
        return f"{self.path}{self.name.removeprefix(self.path.name)}"

    @property
    def reader(self) -> str:
        """What a reader is called whose lines these are."""
        return self.path.stem if self.alone or not self.source else self.source

    def lines(self) -> Iterator[bytes | None]:
        """The lines without prefixes; None for a line of another container."""
        for line in _raw_lines(self.content, self.path):
            source, _, text = split_prefix(line)
            yield text if self.alone or source == self.source else None


@dataclass(slots=True)
class _Source:
    tools: Counter[str] = field(default_factory=Counter)
    prefixes: set[str] = field(default_factory=set)


def streams_of(path: Path, wanted: tuple[str, ...], stack: ExitStack) -> list[ContainerLines]:
    """The lines of each container of a file that printed what is wanted.

    Args:
        wanted: names of tools, the one to be named in messages first.
        stack: closes copies of what can be read only once, such as a pipe.

    Raises:
        BadInput: the file cannot be read, or holds nothing of these tools.
    """
    content = readable_twice(path, stack)
    sources: dict[str, _Source] = {}
    strange: list[bytes] = []
    for line in _raw_lines(content, path):
        source, prefixes, text = split_prefix(line)
        stream = sources.setdefault(source, _Source())
        tool = _tool_of(text)
        if tool is not None:
            stream.tools[tool] += 1
            stream.prefixes |= set(prefixes)
        elif text.strip() and len(strange) < _EXAMINED:
            strange.append(text)
    for stream in sources.values():
        _settle_records(path, stream.tools)
    chosen = {name: origin for name, origin in sources.items() if origin.tools.keys() & set(wanted)}
    if not chosen:
        tools = sum((origin.tools for origin in sources.values()), Counter[str]())
        chosen = {name: origin for name, origin in sources.items() if origin.tools}
        if tools.keys() != {_ANY}:
            raise _refusal(path, wanted, tools, strange)
    return [
        ContainerLines(
            path, content, frozenset(origin.tools), tuple(sorted(origin.prefixes)), name, len(sources) == 1
        )
        for name, origin in chosen.items()
    ]


def _settle_records(path: Path, tools: Counter[str]) -> None:
    """Count records as those of the consumer that printed them, which its other events tell."""
    if {CONSUMER_TOOL, SHARE_TOOL} <= tools.keys():
        raise BadInput(
            "lines of a VerifiableConsumer and of a VerifiableShareConsumer are mixed in this file",
            where=str(path),
            expected="lines that name their container, or a file for each of the two",
            next_step="give a file for each container, or what `docker compose logs` prints",
        )
    if records := tools.pop(_RECORD, 0):
        tools[SHARE_TOOL if SHARE_TOOL in tools else CONSUMER_TOOL] += records


def _refusal(path: Path, wanted: tuple[str, ...], tools: Counter[str], strange: list[bytes]) -> BadInput:
    """Why a file is not read: it is another tool's, in a known format that is not read, or unknown."""
    del tools[_ANY]
    found, next_step, line = "an empty file", "name the file that holds the tool's standard output", b""
    if tools:
        tool = tools.most_common(1)[0][0]
        found, next_step = f"the output of {tool}", f"name it with {_formats()['read'][tool]}"
    elif strange:
        found, line = "a format that is not known", strange[0]
        if (names := _fields_of(line)) is not None:
            found, next_step = f"{names} in each line", _with_names_of_its_own(wanted)
        for name, entry in _formats()["not_read"].items():
            if matching := [text for text in strange if entry["line"].match(text)]:
                found, next_step, line = name, entry["next"], matching[0]
                break
    text = line.decode(errors="replace").strip()
    cut = "".join(sign if sign.isprintable() else "?" for sign in text[:_SHOWN]) + "..." * (
        len(text) > _SHOWN
    )
    return BadInput(
        f"this file is not the output of {wanted[0]}",
        where=str(path),
        expected=f"the output of {' or '.join(wanted)}" + (_NEEDED if KCAT in wanted else ""),
        found=f"{found}, such as this line: {cut}" if cut else found,
        next_step=next_step,
    )


def _fields_of(line: bytes) -> str | None:
    """The names of the fields of a JSON object, or of the columns of a header, in words; None: neither."""
    try:
        event = json.loads(line) if line.startswith(b"{") else None
    except (ValueError, RecursionError):
        return None
    if isinstance(event, dict):
        return f"JSON with the fields {', '.join(map(str, event))}"
    header = table_header(line)
    return f"a table with the columns {', '.join(header.names)}" if header else None


def _with_names_of_its_own(wanted: tuple[str, ...]) -> str:
    ids = "lists of ids alone are compared by `kafka-chaos import-ids`"
    if KCAT in wanted:
        return f"rename the fields or columns, for JSON with {_RENAME}; {ids}"
    return f"import the journal of a producer of your own with `kafka-chaos import-sends`; {ids}"


def plain_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file without prefixes.

    Raises:
        BadInput: it cannot be read.
    """
    return (split_prefix(line)[2] for line in _raw_lines(path, path))


def split_prefix(line: bytes) -> tuple[str, tuple[str, ...], bytes]:
    """The container or process that a line names ("": none), the names of its prefixes, and the rest."""
    if line[:1] == b"{" and not line.startswith(b'{"log":'):
        return "", (), line
    text = _COLOUR.sub(b"", line) if b"\x1b" in line else line
    sources: list[str] = []
    names: list[str] = []
    while text[:1] != b"{" and len(names) < len(_formats()["prefixes"]):
        matches = ((name, pattern.match(text)) for name, pattern in _formats()["prefixes"].items())
        name, match = next(((name, hit) for name, hit in matches if hit), ("", None))
        if match is None:
            break
        names.append(name)
        sources += [match["source"].decode(errors="replace")] if "source" in match.re.groupindex else []
        text = text[match.end() :]
    if text.startswith(b'{"log":') and (inner := _logged(text)) is not None:
        names.append(_JSON_FILE)
        text = inner
    return " ".join(sources), tuple(names), text


def _logged(text: bytes) -> bytes | None:
    try:
        log = json.loads(text)["log"]
    except (ValueError, RecursionError, KeyError):
        return None
    return log.rstrip("\r\n").encode(errors="replace") if isinstance(log, str) else None


def _tool_of(text: bytes) -> str | None:
    """The tool that printed a line, or `_ANY` or `_RECORD`; None: none of those that are read."""
    if tool := dump_tool(text):
        return tool
    if dump_header(text) is not None:
        return TABLE
    if not text.startswith(b"{"):
        return None
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return None
    name = event.get("name")
    if name == "record_data":
        return _RECORD
    if name == "records_consumed":
        return SHARE_TOOL if b'"offsets"' in text else CONSUMER_TOOL
    known = ((PRODUCER, PRODUCER_TOOL), (CONSUMER, CONSUMER_TOOL), (SHARE_CONSUMER, SHARE_TOOL))
    tools = [tool for events, tool in known if isinstance(name, str) and name in events]
    return _ANY if len(tools) > 1 else next(iter(tools), None)


def _raw_lines(content: Path, path: Path) -> Iterator[bytes]:
    """Lines without their ends, in UTF-8 and without its mark, also of a file in UTF-16."""
    with (
        BadInput.for_os_errors(
            "a file to import cannot be read",
            where=path,
            next_step="name files that hold what VerifiableProducer or VerifiableConsumer printed",
        ),
        content.open("rb") as file,
    ):
        utf16 = file.read(2) in _UTF16
        file.seek(0)
        lines: Iterator[bytes] = iter(file)
        if utf16:
            text = io.TextIOWrapper(file, "utf-16", errors="replace")
            lines = (line.encode(errors="replace") for line in text)
        for number, line in enumerate(lines):
            yield (line if number else line.removeprefix(codecs.BOM_UTF8)).rstrip(b"\r\n")


def readable_twice(path: Path, stack: ExitStack) -> Path:
    """The file itself, or, of a pipe, a copy that `stack` removes."""
    if path.is_file() or path.is_dir() or not path.exists():
        return path
    content = Path(stack.enter_context(TemporaryDirectory(prefix="kafka-chaos-import-")), "copy")
    with (
        BadInput.for_os_errors("a file to import cannot be read", where=path),
        path.open("rb") as pipe,
        content.open("wb") as copy,
    ):
        shutil.copyfileobj(pipe, copy)
    return content


@cache
def _formats() -> dict[str, dict[str, Any]]:
    """formats.yaml with its expressions compiled, in the file's order."""
    formats = yaml.safe_load((resources.files("harness.tools.interop") / "formats.yaml").read_text())
    return {
        **formats,
        "prefixes": {
            name: re.compile(pattern.encode().replace(b"{time}", _TIME))
            for name, pattern in formats["prefixes"].items()
        },
        "not_read": {
            name: {**entry, "line": re.compile(entry["line"].encode())}
            for name, entry in formats["not_read"].items()
        },
    }
