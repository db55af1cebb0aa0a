"""How long inputs are fuzzed, and how they are spoilt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from harness.model.errors import KafkaChaosError

_NUMBERS = (b"\xff" * 4, b"\x7f\xff\xff\xff", bytes(4), b"\0\0\0\1")
_FACTOR = int(os.environ.get("KAFKA_CHAOS_FUZZ", "1"))
"""How many times the usual number of examples is tried; the soak test sets it."""


def fuzzed(examples: int) -> settings:
    """For `@fuzzed(50)` on a test: the number of examples in ordinary runs."""
    slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    return settings(max_examples=examples * _FACTOR, deadline=None, suppress_health_check=slow)


@contextmanager
def told() -> Iterator[None]:
    """What is not possible is told by an error of ours, with words."""
    try:
        yield
    except KafkaChaosError as error:
        if not error.what.strip():
            raise AssertionError("an error without words") from error


SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.dates()
    | st.binary(max_size=8)
    | st.sampled_from(["", "0", "-1", "all", "*", "acked in x", ">= 1", "leader", "{", "\0", "a" * 300])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=4)
    ),
    max_leaves=8,
)
"""What a YAML file may hold."""


@st.composite
def spoilt_tree(draw: st.DrawFn, whole: Any) -> Any:
    """Data of a good file with a few of its parts replaced, removed, renamed or moved."""
    tree = _copied(whole)
    for _ in range(draw(st.integers(1, 4))):
        places = list(_places(tree))
        if not places:
            return tree
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        what = draw(st.sampled_from(("replace", "remove", "rename", "swap")))
        if what == "replace":
            holder[key] = draw(VALUES)
        elif what == "remove":
            del holder[key]
        elif what == "rename" and isinstance(holder, dict):
            holder[draw(st.text(max_size=12))] = holder.pop(key)
        else:
            other, at = places[draw(st.integers(0, len(places) - 1))]
            holder[key] = _copied(other[at])
    return tree


@st.composite
def spoilt_bytes(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes of a good file: some changed, cut out, cut off, doubled or put in between."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        what = draw(st.sampled_from(("byte", "number", "cut", "end", "double", "insert")))
        if what == "byte" and at < len(data):
            data[at] = draw(st.integers(0, 255))
        elif what == "number" and at + 4 <= len(data):
            data[at : at + 4] = draw(
                st.sampled_from((b"\xff" * 4, b"\x7f\xff\xff\xff", bytes(4), b"\0\0\0\1"))
            )
        elif what == "cut":
            del data[at : at + draw(st.integers(1, 64))]
        elif what == "end":
            del data[at:]
        elif what == "double":
            data[at:at] = data[at : at + draw(st.integers(1, 64))]
        else:
            data[at:at] = draw(st.binary(min_size=1, max_size=32))
    return bytes(data)


def _places(tree: Any) -> Any:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(pairs):
        yield tree, key
        yield from _places(value)


def _copied(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _copied(value) for key, value in tree.items()}
    return [_copied(value) for value in tree] if isinstance(tree, list) else tree
