"""Finds paths of keys, and their lines, in an experiment file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import yaml

_ENTRY_LISTS = ("faults", "sequence", "together")
_ENTRY_KINDS = ("fault", "sequence", "together", "random")
"""Pydantic inserts the kind of an entry after its index; the file does not have it there."""

Path = tuple[str | int, ...]


def path_of(location: Sequence[str | int], data: Any, *, missing: bool = False) -> Path:
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
        there = part in data if isinstance(data, dict) else isinstance(part, int) and isinstance(data, list)
        if there and not (isinstance(data, list) and isinstance(part, int) and part >= len(data)):
            path.append(part)
            data = data[part]
        elif missing and number == len(location) - 1:
            path.append(part)
    return tuple(path)


def parse_path(text: str) -> Path:
    """Parse a path like `steps[1].write.faults[0]`."""
    return tuple(int(index) if index else key for index, key in re.findall(r"\[(\d+)\]|([^.\[\]]+)", text))


def format_path(path: Path) -> str:
    """Format a path like `steps[1].write.faults[0]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the whole file"


def line_of(root: yaml.Node | None, path: Path) -> int | None:
    """The line (from 1) of a path below a YAML node, or of its longest prefix there (None: neither is)."""
    line: int | None = None
    node = root
    for part in path:
        if isinstance(node, yaml.MappingNode):
            pairs = {str(key.value): (key, value) for key, value in node.value}
            if str(part) not in pairs:
                break
            key, node = pairs[str(part)]
            mark = key.start_mark
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            mark = node.start_mark
        else:
            break
        if root is not None and mark.name != root.start_mark.name:
            # A part of another file, which was put in here.
            break
        line = mark.line + 1
    return line
