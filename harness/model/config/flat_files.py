"""Reads a file of settings in any common syntax as lines with dotted names: properties, YAML, JSON,
environment variables, the sections of Fluent Bit, and Terraform. What the names mean is not known here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import yaml

from harness.model.config.foreign_syntax import (
    ForeignSyntax,
    statement_syntax,
    suffix_syntax,
    unlike_properties,
)
from harness.model.config.properties import PropertyLine, parse_properties, raw_lines
from harness.model.config.terraform import terraform_lines
from harness.model.config.yaml_files import DEEPEST
from harness.model.errors import BadInput

Syntax = Literal["properties", "yaml", "json", "variables", "sections"] | ForeignSyntax
FOREIGN: tuple[str, ...] = get_args(ForeignSyntax)
"""Syntaxes whose lines are no settings; of Terraform some are."""
_TEMPLATE = re.compile(r"\s*(?:\{\{|\{%|<%|@@)")
_FLAT_YAML = re.compile(r"[A-Za-z_][\w.\-]*:(?: .*)?|#.*|\s*")
_MOST_LINES = 500_000
"""Aliases of YAML count each time they are used."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_VARIABLE = re.compile(r"\s*(?:export\s+)?([A-Z_][A-Z0-9_]*)\s*=\s*(.*)")
_SECTION = re.compile(
    r"\s*\[(SERVICE|INPUT|FILTER|OUTPUT|PARSER|MULTILINE_PARSER|CUSTOM)\]\s*", re.IGNORECASE
)
_YAML_BLOCK = re.compile(
    r"^(?:[^#!=:\s][^#!=:\n]*:[ \t]*\n(?:[ \t]*(?:#.*)?\n)*(?: |- )\s*\S|---[ \t]*$)", re.M
)
"""A key without a value, with an indented line or a list below it; or the mark between documents."""
_DOCUMENT = re.compile(r"^[#!]---[ \t]*$", re.MULTILINE)
"""Between two documents of a properties file (Spring Boot 2.4)."""
_HALVES = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_BRACKETS = re.compile(r"\.?\[(?=\d*[^\]\d])([^\]]{1,250})\]")
"""A name in brackets, which is not the number of an item; so short that many brackets are no work."""
_TRUTH = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}


@dataclass(frozen=True, slots=True)
class FlatDocument:
    """A document as lines with dotted names; an item of a list has its index: `a.b[0]`."""

    syntax: Syntax
    lines: tuple[PropertyLine, ...]


def documents(text: str, file: str) -> list[FlatDocument]:
    """The documents of a text (see `read_text`); `file` names it in messages, and its suffix may tell YAML.

    Raises:
        BadInput: it is not valid in its syntax: names the line.
    """
    syntax = _syntax_of(text, file)
    if syntax in ("yaml", "json"):
        return [FlatDocument(syntax, tuple(lines)) for lines in _trees(text, file, syntax)]
    if syntax in FOREIGN:
        named = (PropertyLine(_BRACKETS.sub(r".\1", key), to, file, at) for at, key, _, to in raw_lines(text))
        own = terraform_lines(text, file) if syntax == "terraform" else (line for line in named if line.name)
        return [FlatDocument(syntax, tuple(own))]
    if syntax != "properties":
        lines = (_variables if syntax == "variables" else _sections)(text, file)
        return [FlatDocument(syntax, tuple(lines))]
    flat, before = [], 0
    for part in _DOCUMENT.split(text):
        lines = (
            PropertyLine(_BRACKETS.sub(r".\1", line.name), line.value, file, line.line + before)
            for line in parse_properties(part, file)
        )
        flat.append(FlatDocument(syntax, tuple(lines)))
        before += part.count("\n")
    return flat


def _syntax_of(text: str, file: str) -> Syntax:
    suffix, foreign = Path(file).suffix.lower(), suffix_syntax(file)
    if foreign is not None:
        return foreign
    if re.match(r"\s*(\{(?![{%])|\[\s*[\[{\"])", text) or suffix == ".json":
        return "json"
    lines = [line for line in text.split("\n") if line.strip() and line.lstrip()[0] not in "#;!"]
    if any(_SECTION.fullmatch(line) for line in lines):
        return "sections"
    if suffix in (".yaml", ".yml"):
        return "yaml"
    if lines and all(map(_VARIABLE.fullmatch, lines)):
        return "variables"
    if suffix == ".properties":
        return "properties"
    if foreign := statement_syntax(text):
        return foreign
    if _YAML_BLOCK.search(text):
        return "yaml"
    pairs = [
        (name, sign, value)
        for part in _DOCUMENT.split(text)
        for _, name, sign, value in raw_lines(part)
        if not _TEMPLATE.match(name)
    ]
    foreign = unlike_properties(text, pairs)
    return "yaml" if foreign == "toml" and all(map(_FLAT_YAML.fullmatch, lines)) else foreign or "properties"


def _trees(text: str, file: str, syntax: str) -> Iterator[list[PropertyLine]]:
    if syntax == "json":
        # YAML has no tabs between tokens, and JSON none inside strings; YAML has no halves of characters.
        text = _HALVES.sub(lambda pair: str(json.loads(f'"{pair[0]}"')), text.replace("\t", " "))
    try:
        depth = 0
        for event in yaml.parse(text, Loader=_LOADER):
            # Composing recurses, in C without a limit.
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise yaml.YAMLError(f"nested more than {DEEPEST} levels deep")
        for root in yaml.compose_all(text, Loader=_LOADER):
            lines: list[PropertyLine] = []
            _flatten(root, "", file, lines, 0)
            yield lines
    except yaml.YAMLError as error:
        mark: yaml.Mark | None = getattr(error, "problem_mark", None)
        raise BadInput(
            f"this is not {syntax.upper()}",
            where=f"{file}, line {mark.line + 1}" if mark else file,
            found=str(getattr(error, "problem", None) or error),
            next_step="correct the line; a template must be filled in first",
        ) from error


def _flatten(node: yaml.Node, path: str, file: str, lines: list[PropertyLine], depth: int) -> None:
    """Append a node's lines. A list of scalars is one line, as a list is in Kafka; other lists have their
    items' numbers in the names, and lists of variables (Compose, Kubernetes) their names."""
    if depth > DEEPEST or len(lines) > _MOST_LINES:
        raise yaml.YAMLError(f"more than {_MOST_LINES:,} values, or nested too deep")
    line, below = node.start_mark.line + 1, f"{path}." if path else ""
    if isinstance(node, yaml.ScalarNode):
        if not node.tag.endswith(":null"):
            lines.append(PropertyLine(path, _scalar(node), file, line))
    elif isinstance(node, yaml.MappingNode):
        # What is merged in comes first: a mapping's own keys override it.
        for key, value in sorted(node.value, key=lambda pair: pair[0].value != "<<"):
            if key.value == "<<":
                for merged in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    _flatten(merged, path, file, lines, depth + 1)
            else:
                name = _BRACKETS.sub(r".\1", str(key.value)).removeprefix(".")
                _flatten(value, below + name, file, lines, depth + 1)
    elif path.endswith((".env", ".environment")):
        for item in node.value:
            pair = {str(key.value): entry for key, entry in item.value} if item.id == "mapping" else {}
            name, _, text = _scalar(item).partition("=") if item.id == "scalar" else ("", "", "")
            if {"name", "value"} <= pair.keys():
                name, text = str(pair["name"].value), _scalar(pair["value"])
            lines.append(PropertyLine(below + name, text, file, line))
    elif all(isinstance(item, yaml.ScalarNode) for item in node.value):
        lines.append(PropertyLine(path, ",".join(map(_scalar, node.value)), file, line))
    else:
        for number, item in enumerate(node.value):
            _flatten(item, f"{path}[{number}]", file, lines, depth + 1)


def _scalar(node: yaml.Node) -> str:
    """A scalar as Kafka writes it."""
    text = str(node.value)
    return _TRUTH.get(text.lower(), text) if node.tag.endswith(":bool") else text


def _variables(text: str, file: str) -> Iterator[PropertyLine]:
    """Lines like `export NAME="value"  # why`."""
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _VARIABLE.fullmatch(line):
            quoted = re.match(r"""(["'])(.*?)(?<!\\)\1""", match[2])
            value = quoted[2] if quoted else re.sub(r"\s+#.*", "", match[2].strip())
            yield PropertyLine(match[1], value, file, number)


def _sections(text: str, file: str) -> Iterator[PropertyLine]:
    """Lines like those of Fluent Bit's YAML: `pipeline.outputs[0].name`."""
    path = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if section := _SECTION.fullmatch(line):
            path = f"pipeline.{section[1].lower()}s[{number}]"
        elif path and line.strip() and line.lstrip()[0] not in "#@":
            name, _, value = line.strip().partition(" ")
            yield PropertyLine(f"{path}.{name.lower()}", value.strip(), file, number)
