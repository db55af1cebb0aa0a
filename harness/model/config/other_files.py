"""Recognises a file that is not of the kind that was asked for: another kind of ours, or another tool's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, reduce
from importlib import resources
from typing import Any, NamedTuple

import yaml

from harness.model.config.built_in_files import built_in_files

_PAGE = "docs/how-to/other-chaos-tools.md"
_HAS_EQUAL = f"write it as an experiment: {_PAGE} names the faults that do the same"
_OTHERWISE = f"{_PAGE} says what can take its place"
_LIKE = "; `kafka-chaos experiments --show {like}` prints one of ours with such a fault"


class OtherFile(NamedTuple):
    """What a file is instead, with its article, and what to do with it; `has_equal`: another tool's
    file, and an experiment can do the same."""

    what: str
    next_step: str
    has_equal: bool = False


def recognised(data: Any, file: str, folder: str | None = None) -> OtherFile | None:
    """What a document is that is not one of the kind whose built-in files are in `folder`; `file` names it in
    commands. None: not known."""
    if not isinstance(data, Mapping):
        return None
    row = next((item for item in _table() if item.get("folder", "") != folder and _fits(item, data)), None)
    if row is None:
        return None
    kind = str(data.get(row.get("kind"))).rpartition(".")[2]
    what = row["what"].format(kind=kind)
    if kind[:1] in "AEIOU" or kind.startswith("HTTP"):
        what = f"an {what.removeprefix('a ')}" if "{kind}" in row["what"] else what
    equals = row.get("equals", ())
    has_equal = equals == "any" or kind in equals
    next_step = row.get("next") or (_HAS_EQUAL if has_equal else _OTHERWISE)
    for path, names in row.get("like", {}).items():
        if (like := names.get(str(reduce(_below, path.split("."), data)))) is not None:
            next_step += _LIKE.format(like=like)
    return OtherFile(what, next_step.format(file=file), has_equal)


def built_in_of_another_kind(name: str, folder: str) -> OtherFile | None:
    """As `recognised`, for the name of a built-in file."""
    for row in (item for item in _table() if item.get("folder", folder) != folder):
        if (built_in_files(row["folder"]) / f"{name.lower()}.yaml").is_file():
            return OtherFile(row["what"], row["next"].format(file=name))
    return None


def _fits(row: Mapping[str, Any], data: Mapping[Any, Any]) -> bool:
    return (
        all(key in data for key in row.get("has", ()))
        and not any(key in data for key in row.get("without", ()))
        and all(_has_below(data[key], names) for key, names in row.get("below", {}).items())
        and all(str(data.get(key, "")).startswith(text) for key, text in row.get("starts", {}).items())
    )


def _has_below(data: Any, names: Iterable[str]) -> bool:
    """Whether a mapping in this one has one of these keys."""
    inner = data.values() if isinstance(data, Mapping) else ()
    return any(isinstance(value, Mapping) and any(name in value for name in names) for value in inner)


def _below(data: Any, key: str) -> Any:
    """The value of a key or index of a list; None: there is none."""
    if isinstance(data, list) and key.isdigit():
        return data[int(key)] if int(key) < len(data) else None
    return data.get(key) if isinstance(data, Mapping) else None


@cache
def _table() -> list[dict[str, Any]]:
    text = (resources.files("harness.model.config") / "other_files.yaml").read_text()
    return list(yaml.safe_load(text))
