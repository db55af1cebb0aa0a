"""Explains everything that is wrong with the content of a YAML file: one message for each problem, with its
line and the path of its key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from harness.model.errors import BadInput, closest, did_you_mean
from harness.model.patterns import pattern_words
from harness.model.secrets import masked

MOST_SHOWN = 10
_EXPECTED = {
    "float_parsing": "a number",
    "float_type": "a number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "a text",
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "union_tag_not_found": "a mapping with exactly one key, which names its kind",
}
"""What a file should have, by pydantic's type of an error."""
_READ_AS = {
    "tag:yaml.org,2002:bool": "true or false",
    "tag:yaml.org,2002:int": "a number",
    "tag:yaml.org,2002:float": "a number",
    "tag:yaml.org,2002:null": "nothing",
    "tag:yaml.org,2002:timestamp": "a date",
}
"""What a word without quotes is to YAML 1.1, by its tag: `yes` is true."""
_WITH_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*[a-zA-Z%]+\s*")
_ENTRY_LISTS = ("faults", "sequence", "together")
_ENTRY_KINDS = ("fault", "sequence", "together", "random")
"""Pydantic inserts the kind of an entry after its index; the file does not have it there."""

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class FileText:
    """A file whose mistakes are explained: `origin` names the file in messages, `word` is its kind, `root`
    and `data` are its content as YAML nodes (None: it is no file) and as data, `schema` is the JSON schema of
    such files."""

    origin: str
    word: str
    root: yaml.Node | None
    data: Any
    schema: Mapping[str, Any]

    def where(self, line: int | None, path: Path) -> str:
        if self.root is None and not path:  # It is in no file.
            return self.origin
        return f"{self.origin}{f', line {line}' if line else ''}: {_format_path(path)}"


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    what: str
    expected: str | None = None
    found: str | None = None


def as_bad_input(error: ValidationError, file: FileText, next_step: str) -> BadInput:
    """All problems of a file as one error, in the order of the file; at most `MOST_SHOWN` of them."""
    problems = _merged(
        problem for details in _independent_problems(error) for problem in _problems_of(details, file)
    )
    # A value that several arms share is wrong in each of them, but is reported once.
    problem_of: dict[Any, tuple[int | None, _Found]] = {}
    for problem in problems:
        line = _line_and_node(file.root, problem.path)[0]
        problem_of.setdefault((line, problem.path[-1:], replace(problem, path=())), (line, problem))
    by_line = sorted(problem_of.values(), key=lambda entry: entry[0] or 0)
    first, *others = (
        BadInput(
            problem.what, where=file.where(line, problem.path), expected=problem.expected, found=problem.found
        )
        for line, problem in by_line[:MOST_SHOWN]
    )
    more = f", of which {MOST_SHOWN} are shown" if len(by_line) > MOST_SHOWN else ""
    count = f" (1 of {len(by_line)} problems{more})" if others else ""
    return BadInput(
        f"{first.what}{count}",
        where=first.where,
        expected=first.expected,
        found=first.found,
        next_step=next_step,
        others=others,
    )


def _independent_problems(error: ValidationError) -> list[ErrorDetails]:
    """The problems, without those that follow from others: a list counts as too short if its items are
    invalid, and a misspelt key is missing too."""
    problems = error.errors()
    unknown: dict[tuple[int | str, ...], list[str]] = {}
    for problem in problems:
        if problem["type"] == "extra_forbidden":
            unknown.setdefault(problem["loc"][:-1], []).append(str(problem["loc"][-1]))

    def follows(one: ErrorDetails) -> bool:
        if one["type"] == "missing":
            return closest(str(one["loc"][-1]), unknown.get(one["loc"][:-1], ())) is not None
        return one["type"] == "too_short" and any(
            other is not one and other["loc"][: len(one["loc"])] == one["loc"] for other in problems
        )

    return [problem for problem in problems if not follows(problem)]


def _problems_of(details: ErrorDetails, file: FileText) -> Iterator[_Found]:
    kind, location = details["type"], details["loc"]
    path = _path_of(location, file.data, missing=kind == "missing")
    if kind == "inconsistent":
        for problem in details["ctx"]["problems"]:
            path = _parse_path(problem.where)
            if problem.expected is None and problem.found is None:
                yield _Found(path, f"the {file.word} is not valid", found=problem.what)
            else:
                yield _Found(path, problem.what, problem.expected, problem.found)
    elif kind == "extra_forbidden":
        name, known = str(location[-1]), _keys_at(file.schema, path[:-1])
        otherwise = f"one of {', '.join(known)}" if known else "no key: the schema has none here"
        yield _Found(path, f"unknown key {name!r}", did_you_mean(name, known, otherwise))
    elif kind == "union_tag_invalid":
        name, known = str(details["ctx"]["tag"]), re.findall(r"'([^']+)'", details["ctx"]["expected_tags"])
        yield _Found(path, f"unknown name {name!r}", did_you_mean(name, known, f"one of {', '.join(known)}"))
    elif kind == "missing":
        yield _Found(path, f"the key {location[-1]!r} is missing", "a value: the key has no default")
    elif kind == "value_error":
        said = details["msg"].removeprefix("Value error, ")
        yield _Found(path, f"the {file.word} is not valid", found=said)
    else:
        expected, found = _expected(details), _shortened(details.get("input"))
        node = _line_and_node(file.root, path)[1] if kind == "string_type" else None
        if isinstance(node, yaml.ScalarNode):
            word = node.value[:60]
            expected = f"a text: put it in quotes, {json.dumps(word)}"
            found = f"{word}, which YAML reads as {_READ_AS.get(node.tag, 'something else')}"
        if found is not None and location and masked(str(location[-1]), found) != found:
            expected, found = _expected(details), masked(str(location[-1]), found)
        yield _Found(path, f"the {file.word} is not valid", expected, found)


def _merged(problems: Iterator[_Found]) -> list[_Found]:
    """The problems, in which several about one value become one: a value that may have several types has a
    problem for each, which are merged into one that expects any of these types."""
    merged: dict[_Found, dict[str, None]] = {}
    for problem in problems:
        expected = merged.setdefault(replace(problem, expected=None), {})
        if problem.expected is not None:
            expected[problem.expected] = None
    return [replace(problem, expected=" or ".join(words) or None) for problem, words in merged.items()]


def _expected(details: ErrorDetails) -> str:
    """What pydantic expects, in the words of someone who writes a file."""
    if details["type"] == "string_pattern_mismatch":
        return pattern_words(details["ctx"]["pattern"])
    known = _EXPECTED.get(details["type"])
    if known is None:
        words = re.sub(r"^(Input|Tuple|List|Dictionary|String) should (be|have) ", "", details["msg"])
        return re.sub("^String should", "a text that should", words).partition(" after validation")[0]
    value = details.get("input")
    with_unit = _WITH_UNIT.fullmatch(value) if isinstance(value, str) else None
    return f"{known} without a unit, such as {with_unit[1]}" if with_unit and "number" in known else known


def _shortened(value: Any) -> str | None:
    if isinstance(value, (dict, BaseModel)):
        return None
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _keys_at(schema: Mapping[str, Any], path: Path) -> list[str]:
    """The keys that a JSON schema has at a path of a file."""
    nodes = _alternatives(schema, schema)
    for part in path:
        below = (node.get("items") if isinstance(part, int) else _property(node, part) for node in nodes)
        nodes = [choice for node in below if isinstance(node, dict) for choice in _alternatives(node, schema)]
    return list(dict.fromkeys(key for node in nodes for key in node.get("properties", ())))


def _property(node: Mapping[str, Any], key: str) -> Any:
    named = (inner for pattern, inner in node.get("patternProperties", {}).items() if re.search(pattern, key))
    return node.get("properties", {}).get(key) or next(named, node.get("additionalProperties"))


def _alternatives(node: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A node of a schema without references and choices: all that it may be."""
    if "$ref" in node:
        return _alternatives(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]], schema)
    choices = [choice for key in ("anyOf", "oneOf", "allOf") for choice in node.get(key, ())]
    return [node, *(alternative for choice in choices for alternative in _alternatives(choice, schema))]


def _path_of(location: Sequence[str | int], data: Any, *, missing: bool = False) -> Path:
    """Translate pydantic's location of a problem into a path in the file's data.

    Names of union members, which the file does not have, are left out. `missing`: the last key is absent.
    """
    path: list[str | int] = []
    for number, part in enumerate(location):
        kind_of_entry = (
            len(path) > 1
            and isinstance(location[number - 1], int)
            and path[-2] in _ENTRY_LISTS
            and part in _ENTRY_KINDS
        )
        if kind_of_entry:
            continue
        in_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if in_list or (isinstance(data, dict) and part in data):
            path.append(part)
            data = data[part]
        elif missing and number == len(location) - 1:
            path.append(part)
    return tuple(path)


def _parse_path(text: str) -> Path:
    """Parse a path like `steps[1].write.faults[0]`."""
    return tuple(int(index) if index else key for index, key in re.findall(r"\[(\d+)\]|([^.\[\]]+)", text))


def _format_path(path: Path) -> str:
    """Format a path like `steps[1].write.faults[0]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the whole file"


def _line_and_node(root: yaml.Node | None, path: Path) -> tuple[int | None, yaml.Node | None]:
    """The line (from 1) of a path below a YAML node, or of its longest prefix there (None: neither is), and
    the node at the path (None: none is there)."""
    line: int | None = None
    node = root
    for part in path:
        if isinstance(node, yaml.MappingNode):
            pairs = {str(key.value): (key, value) for key, value in node.value}
            if str(part) not in pairs:
                return line, None
            key, node = pairs[str(part)]
            mark = key.start_mark
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            mark = node.start_mark
        else:
            return line, None
        if root is not None and mark.name != root.start_mark.name:
            # A part of another file, which was put in here.
            return line, node
        line = mark.line + 1
    return line, node
