"""YAML text as plain data, within bounds: a file is data, and no file can make reading it take for ever."""

from __future__ import annotations

from typing import Any

import yaml

from harness.model.config_value import plain

MOST_CHARACTERS = 2_000_000
MOST_VALUES = 100_000
"""Aliases count each time that they are used: nine lines of them can stand for billions of values."""
DEEPEST = 60


class NotYaml(Exception):
    """Why text is no YAML that can be used; `line` and `column` count from 1 (None: not known)."""

    def __init__(self, why: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(why)
        self.line, self.column = line, column


def read_yaml(text: str) -> Any:
    """The data: mappings, lists and scalars of YAML's safe schema; no other type can be asked for.

    Raises:
        NotYaml: it is not YAML, holds a value that is none (the 31st of February), or is too much.
    """
    if len(text) > MOST_CHARACTERS:
        raise NotYaml(f"too much: more than {MOST_CHARACTERS:,} characters")
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = str(getattr(error, "problem", None) or error)
        raise NotYaml(why, mark and mark.line + 1, mark and mark.column + 1) from error
    except RecursionError as error:
        raise NotYaml(f"too much: it is nested more than {DEEPEST} deep") from error
    except (ValueError, OverflowError, TypeError, AttributeError, KeyError, IndexError) as error:
        # Of PyYAML's constructors: dates, numbers and merges that look like one and are none.
        raise NotYaml(f"a value that is none: {error}") from error
    _check_size(data)
    return data


def _check_size(data: Any) -> None:
    waiting = [(data, 0)]
    seen = 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if depth > DEEPEST:
            raise NotYaml(f"too much: it is nested more than {DEEPEST} deep")
        if isinstance(value, dict):
            waiting += [(one, depth + 1) for one in value.values()]
        elif isinstance(value, list | tuple | set):
            waiting += [(one, depth + 1) for one in value]
        if seen + len(waiting) > MOST_VALUES:
            raise NotYaml(f"too much: more than {MOST_VALUES:,} values")


def label_of(value: Any) -> str:
    """A level's name as it stands in names of arms: `true`, `0`, `4.3.1`; YAML's true is `true`."""
    return str(plain(value))
