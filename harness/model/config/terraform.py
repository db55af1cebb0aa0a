"""Reads Terraform's language (HCL) as lines with dotted names, such as `resource.kafka_topic.a.partitions`.

Only literal values are read: of an expression, such as `var.acks`, the text remains, as a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.model.config.properties import PropertyLine
from harness.model.config.yaml_files import DEEPEST
from harness.model.errors import BadInput

_TOKEN = re.compile(
    r"(?P<skip>[ \t\f]+|\#[^\n]*|//[^\n]*)"
    r"|(?P<line>\n)"
    r"|(?P<remark>/\*)"
    r"|<<-?(?P<here>\w+)\n"
    r'|"(?P<text>(?>\\.|\$\{[^{}\n]*\}|[^"\\\n])*+)"'
    r"|(?P<word>[\w.\-*\[\]]+)"
    r"|(?P<sign>=>|==|[{}=:,()]|.)",
    re.DOTALL,
)
_OPEN, _CLOSE = "{([", "})]"
_LITERAL = re.compile(r"-?\d+(?:\.\d+)?|true|false|null")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


@dataclass(slots=True)
class _Blocks:
    """The keys of the blocks and maps that are open, and the lines that were found."""

    file: str
    path: list[str] = field(default_factory=list)
    found: list[PropertyLine] = field(default_factory=list)


def terraform_lines(text: str, file: str) -> list[PropertyLine]:
    """The attributes of all blocks, in order.

    Raises:
        BadInput: the braces do not match, or are too deep: names the line.
    """
    reading = _Blocks(file)
    for statement in _statements(list(_tokens(text, file)), file):
        _put(reading, statement)
    if reading.path:
        raise _unreadable(file, text.count("\n") + 1, "the end of the file before a closing brace")
    return reading.found


def _put(reading: _Blocks, statement: list[_Token]) -> None:
    """Process `}`, `key = value`, or a head that ends with `{`."""
    first, last = statement[0], statement[-1]
    if first.text == "}" and first.kind == "sign":
        if not reading.path:
            raise _unreadable(reading.file, first.line, "a closing brace that nothing opened")
        reading.path.pop()
        return
    sign = next(
        (index for index, token in enumerate(statement) if token.kind == "sign" and token.text in "=:"), None
    )
    name = ".".join(
        token.text for token in statement[: len(statement) if sign is None else sign] if token.text != "{"
    )
    if last.kind == "sign" and last.text == "{" and (sign is None or sign == len(statement) - 2):
        if len(reading.path) >= DEEPEST:
            raise _unreadable(reading.file, first.line, f"more than {DEEPEST} levels of braces")
        reading.path.append(name)
    elif sign is not None:
        path = ".".join(part for part in (*reading.path, name) if part)
        reading.found.append(PropertyLine(path, _value(statement[sign + 1 :]), reading.file, first.line))


def _value(tokens: list[_Token]) -> str:
    """A literal as it is, a list of literals with commas, else the expression as a placeholder."""
    if len(tokens) == 1 and _is_literal(tokens[0]):
        return tokens[0].text
    inner = tokens[1:-1] if tokens and tokens[0].text == "[" and tokens[-1].text == "]" else []
    items = [token for token in inner if token.text != ","]
    if inner and all(map(_is_literal, items)):
        return ",".join(token.text for token in items)
    return "${" + "".join(token.text for token in tokens).replace("}", "").replace("{", "") + "}"


def _is_literal(token: _Token) -> bool:
    return token.kind in ("text", "here") or (
        token.kind == "word" and _LITERAL.fullmatch(token.text) is not None
    )


def _statements(tokens: list[_Token], file: str) -> Iterator[list[_Token]]:
    """The tokens of each attribute, head and closing brace. Brackets may go over several lines."""
    now: list[_Token] = []
    depth = 0
    # Whether a value has begun: a brace belongs to it then, and opens no map.
    begun, assigned = False, False
    for token in tokens:
        sign = token.text if token.kind == "sign" else ""
        if not now:
            begun, assigned = False, False
        if depth:
            depth += (sign in _OPEN) - (sign in _CLOSE) if sign else 0
            if token.kind != "line":
                now.append(token)
        elif sign == "}":
            yield from ([now] if now else [])
            now = []
            yield [token]
        elif sign == "{" and not begun:
            yield [*now, token]
            now = []
        elif sign and sign in _OPEN:
            now.append(token)
            depth = 1
        elif token.kind == "line" or sign == ",":
            yield from ([now] if now else [])
            now = []
        else:
            now.append(token)
            begun = assigned
            assigned = assigned or bool(sign and sign in "=:")
    if depth:
        raise _unreadable(file, now[0].line if now else 1, "an opening bracket without its closing one")
    yield from ([now] if now else [])


def _tokens(text: str, file: str) -> Iterator[_Token]:
    line, at = 1, 0
    while match := _TOKEN.match(text, at):
        kind, end = str(match.lastgroup), match.end()
        value = match[kind]
        if kind in ("remark", "here"):
            # Only once for each: what does not close ends the reading.
            close = re.compile(r"\*/" if kind == "remark" else rf"^[ \t]*{value}[ \t]*$", re.MULTILINE)
            closing = close.search(text, end)
            if closing is None:
                raise _unreadable(file, line, f"{match[0].strip()!r} without its end")
            if kind == "here":
                yield _Token("here", text[end : closing.start()].rstrip("\n"), line)
            end = closing.end()
        elif kind == "word" and not re.fullmatch(r"[\w.\-*]+", value):
            for piece in re.findall(r"[\[\]]|[\w.\-*]+", value):
                yield _Token("sign" if piece in "[]" else "word", piece, line)
        elif kind != "skip":
            yield _Token(kind, re.sub(r"\\(.)", r"\1", value) if kind == "text" else value, line)
        line += text.count("\n", at, end)
        at = end


def _unreadable(file: str, line: int, found: str) -> BadInput:
    return BadInput(
        "this is not Terraform's language",
        where=f"{file}, line {line}",
        found=found,
        next_step="correct the line, or give the settings as properties, one name=value per line",
    )
