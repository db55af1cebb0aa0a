"""Reads YAML as plain data with limits on size, so that no file runs code or takes forever to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from harness.model.frozen import plain

MOST_CHARACTERS = 2_000_000
MOST_VALUES = 100_000
"""Aliases count each time they are used: nine lines of them can expand to billions of values."""
DEEPEST = 60
_HINTS = {"mapping values are not allowed here": "a text that contains `: ` needs quotes"}
"""Clearer messages for errors of PyYAML that do not say what to do."""


class NotYaml(Exception):
    """Why a text cannot be used as YAML; `line` and `column` count from 1 (None: not known)."""

    def __init__(self, why: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(why)
        self.line, self.column = line, column


def compose_yaml(text: str) -> yaml.Node | None:
    """Parse YAML to nodes, which know their lines (None: the text is empty).

    Raises:
        NotYaml: it is not YAML, or is too large.
    """
    if len(text) > MOST_CHARACTERS:
        raise NotYaml(f"too large: more than {MOST_CHARACTERS:,} characters")
    with explained():
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def construct_yaml(root: yaml.Node | None) -> Any:
    """The mappings, lists and scalars of nodes, by YAML's safe schema; no other types are possible.

    Raises:
        NotYaml: a value is impossible (the 31st of February), or the data is too large.
    """
    with explained():
        data = None if root is None else yaml.SafeLoader("").construct_document(root)
    _check_size(data)
    return data


@contextmanager
def explained() -> Iterator[None]:
    """Say in this `with` block why YAML cannot be used, whatever PyYAML raises.

    Raises:
        NotYaml: PyYAML failed, or the recursion is too deep.
    """
    try:
        yield
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = str(getattr(error, "problem", None) or error)
        why = f"{why}: {_HINTS[why]}" if why in _HINTS else why
        raise NotYaml(why, mark and mark.line + 1, mark and mark.column + 1) from error
    except RecursionError as error:
        raise NotYaml(f"too large: nested more than {DEEPEST} levels deep") from error
    except (ValueError, OverflowError, TypeError, AttributeError, KeyError, IndexError) as error:
        # Raised by PyYAML's constructors for dates, numbers and merges that only look like ones.
        raise NotYaml(f"an impossible value: {error}") from error


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
