"""Reads YAML as plain data with limits on size, so that no file runs code or takes forever to read."""

from __future__ import annotations

from typing import Any

import yaml

from harness.model.config_value import plain

MOST_CHARACTERS = 2_000_000
MOST_VALUES = 100_000
"""Aliases count each time they are used: nine lines of them can expand to billions of values."""
DEEPEST = 60


class NotYaml(Exception):
    """Why a text cannot be used as YAML; `line` and `column` count from 1 (None: not known)."""

    def __init__(self, why: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(why)
        self.line, self.column = line, column


def read_yaml(text: str) -> Any:
    """Parse mappings, lists and scalars of YAML's safe schema; no other types are possible.

    Raises:
        NotYaml: it is not YAML, has an impossible value (the 31st of February), or is too large.
    """
    if len(text) > MOST_CHARACTERS:
        raise NotYaml(f"too large: more than {MOST_CHARACTERS:,} characters")
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = str(getattr(error, "problem", None) or error)
        raise NotYaml(why, mark and mark.line + 1, mark and mark.column + 1) from error
    except RecursionError as error:
        raise NotYaml(f"too large: nested more than {DEEPEST} levels deep") from error
    except (ValueError, OverflowError, TypeError, AttributeError, KeyError, IndexError) as error:
        # Raised by PyYAML's constructors for dates, numbers and merges that only look like ones.
        raise NotYaml(f"an impossible value: {error}") from error
    _check_size(data)
    return data


def _check_size(data: Any) -> None:
    waiting = [(data, 0)]
    count = 0
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if depth > DEEPEST:
            raise NotYaml(f"too large: nested more than {DEEPEST} levels deep")
        if isinstance(value, dict):
            waiting += [(one, depth + 1) for one in value.values()]
        elif isinstance(value, list | tuple | set):
            waiting += [(one, depth + 1) for one in value]
        if count + len(waiting) > MOST_VALUES:
            raise NotYaml(f"too large: more than {MOST_VALUES:,} values")


def label_of(value: Any) -> str:
    """A level as part of an arm's name: `true`, `0`, `4.3.1`."""
    return str(plain(value))
