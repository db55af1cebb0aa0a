"""Reads properties files like java.util.Properties.load; librdkafka's `name=value` files are a subset."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import BadInput

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_MOST_BYTES = 20_000_000
_WIDE = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16, which PowerShell writes."""


@dataclass(frozen=True, slots=True)
class PropertyLine:
    """One setting as written, with its file and line."""

    name: str
    value: str
    file: str
    line: int
    is_default: bool = False
    """Whether the value is the default of a placeholder, which may have another value in each process."""

    @property
    def where(self) -> str:
        """Its file and line; without a line where it is a default of the format."""
        return f"{self.file}:{self.line}" if self.line else self.file


def read_text(path: Path) -> str:
    """The text of a file of settings, without a byte order mark and with `\\n` at the ends of lines.

    Raises:
        BadInput: it cannot be read, is no text, or has more than 20 MB.
    """
    found = None
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode("utf-16" if data[:2] in _WIDE else "utf-8-sig")
        if len(data) > _MOST_BYTES or "\0" in text:
            found = "bytes of 0" if "\0" in text else f"more than {_MOST_BYTES // 1_000_000} MB"
    except (OSError, UnicodeDecodeError) as error:
        found = getattr(error, "strerror", None) or "bytes that are not UTF-8"
    if found is not None:
        raise BadInput(
            "the file cannot be read", where=str(path), found=found, next_step="name a file of settings"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_properties(path: Path) -> tuple[PropertyLine, ...]:
    """Read the settings of a file, in order.

    Raises:
        BadInput: it cannot be read, or a line of it has no name.
    """
    return parse_properties(read_text(path), str(path))


def parse_properties(text: str, file: str) -> tuple[PropertyLine, ...]:
    """Parse the settings of a text, in order; `file` names it in messages.

    Raises:
        BadInput: a line has no name.
    """
    lines = []
    for number, line in _logical_lines(text):
        name, value = _split(line)
        if not name:
            raise BadInput(
                "a line has no setting name",
                where=f"{file}, line {number}",
                expected="name=value",
                next_step="correct the line",
            )
        lines.append(PropertyLine(name, value, file, number))
    return tuple(lines)


def raw_lines(text: str) -> Iterator[tuple[int, str, str, str]]:
    """The lines of any text, read as properties: number, name, separator (`=`, `:` or none) and value."""
    for number, line in _logical_lines(text):
        name, value = _split(line)
        rest = line[_name_length(line) :].lstrip(" \t\f")
        yield number, name, rest[:1] if rest[:1] in "=:" else "", value


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without comments; an odd number of \\ at the end continues on the next."""
    pending: tuple[int, str] | None = None
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = raw.lstrip(" \t\f")
        if pending is None and (not line or line[0] in "#!"):
            continue
        start, before = pending or (number, "")
        ends = len(line) - len(line.rstrip("\\"))
        if ends % 2:
            pending = (start, before + line[:-1])
            continue
        yield start, before + line
        pending = None
    if pending is not None:
        yield pending


def _split(line: str) -> tuple[str, str]:
    """Split a line into name and value at the first =, : or blank that is not escaped."""
    end = _name_length(line)
    value = re.sub(r"\A[ \t\f]*[=:]?[ \t\f]*", "", line[end:])
    return _unescape(line[:end]), _unescape(value)


def _name_length(line: str) -> int:
    match = re.match(r"(?:\\.|[^\\=: \t\f])*", line, re.DOTALL)
    return match.end() if match else 0


def _unescape(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", one, text, flags=re.DOTALL).rstrip("\r\n")
