"""The table of formats of files, formats.yaml: how each is recognised, and how its names and values map to
Kafka's."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Literal

import yaml
from pydantic import Field, TypeAdapter

from harness.model.config.flat_files import FOREIGN, FlatDocument, Syntax
from harness.model.frozen import Frozen
from harness.tools.audit.known_settings import ClientLibrary, SettingKind, known_settings

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "B": 1}
_UNITS |= {"KB": 2**10, "MB": 2**20, "GB": 2**30, "S": 1000, "M": 60_000, "H": 3_600_000}
_MEASURE = re.compile(r"(?:PT)?(\d+)(ms|[smhd]|[SMH]|[KMG]?B)")
_TRUTH = {"on": "true", "yes": "true", "off": "false", "no": "false"}


class LineRule(Frozen):
    """Which lines, and what they set; formats.yaml explains the fields."""

    pattern: str = Field(alias="is")
    of: (
        Literal["producer", "consumer", "topic", "broker", "connector", "streams", "clients", "named", "ours"]
        | Literal["copies", "version"]
        | None
    ) = None
    name: str | None = Field(None, alias="as")
    known: bool = False
    into: str | None = None
    only: str | None = None
    alone: bool = False
    value: str | None = None
    pairs: bool = False
    implies: dict[str, dict[SettingKind, dict[str, str]]] = {}


class Format(Frozen):
    """A format of files; formats.yaml explains the fields."""

    name: str
    has: tuple[str, ...] = ()
    syntax: tuple[Syntax, ...] | None = None
    client: ClientLibrary | None = None
    relaxed: bool = False
    profiles: bool = False
    processes: bool = False
    sections: bool = False
    default_of: str | None = None
    names: dict[str, str] = {}
    label: str | None = None
    source: str = ""
    always: tuple[SettingKind, ...] = ()
    defaults: dict[SettingKind, dict[str, str]] = {}
    rows: tuple[LineRule, ...] = ()
    not_read: str | None = None
    instead: str | None = None

    def row_of(self, name: str, value: str) -> tuple[LineRule, dict[str, str]] | None:
        """The row for a line, and the groups of its expression."""
        for row in self.rows:
            match = re.fullmatch(row.pattern, name)
            if match is not None and (row.value is None or re.search(row.value, value)):
                groups = {group: text for group, text in match.groupdict().items() if text}
                if not row.known or _has(groups.get("name", name), row.of):
                    return row, groups
        return None

    def setting_name(self, name: str, kind: SettingKind | None) -> str:
        """Kafka's name for a setting of this kind in another spelling."""
        if name in known_settings() or not self.relaxed:
            return name
        squashed = _squash(name)
        return self.names.get(squashed) or _by_spelling(kind).get(squashed) or name

    def setting_value(self, name: str, value: str) -> str:
        """The value as Kafka writes it: truth in its words, durations and sizes as numbers."""
        known = known_settings().get(name)
        if not self.relaxed or known is None:
            return value
        if name == "isolation.level":
            return value.lower().replace("-", "_")
        types = {values.partition(" ")[0] for values in known.values.values()}
        if types & {"boolean", "flag"}:
            return _TRUTH.get(value.lower(), value)
        measure = _MEASURE.fullmatch(value) if types & {"int", "long", "double"} else None
        return str(int(measure[1]) * _UNITS[measure[2]]) if measure else value


@cache
def formats() -> dict[str, Format]:
    """The table of formats, by name."""
    text = (resources.files("harness.tools.audit") / "formats.yaml").read_text()
    return {row.name: row for row in TypeAdapter(list[Format]).validate_python(yaml.safe_load(text))}


def format_of(document: FlatDocument) -> Format:
    """The first format that this is recognised as."""
    text = "\n".join(f"{line.name}={line.value}" for line in document.lines)
    return next(
        row
        for row in formats().values()
        if (document.syntax in row.syntax if row.syntax is not None else _may_be(row, document.syntax))
        and all(re.search(has, text, re.MULTILINE) for has in row.has)
    )


def _may_be(format_: Format, syntax: str) -> bool:
    """Whether a format that names no syntax may have this one: lines that are no settings are not read."""
    return syntax not in FOREIGN or format_.not_read is not None


def _has(name: str, kind: str | None) -> bool:
    """Whether Kafka has this name, for this kind if one is named."""
    known = known_settings().get(name)
    kinds = tuple(known.kinds) if known else ()
    return bool(kinds) and (kind not in tuple(SettingKind) or kind in kinds)


def _squash(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def _by_spelling(kind: SettingKind | None) -> dict[str, str]:
    """The known names of a kind by their letters alone."""
    return {
        _squash(name): name
        for name, setting in known_settings().items()
        if kind is None or kind in setting.kinds
    }
