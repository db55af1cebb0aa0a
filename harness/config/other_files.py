"""Recognises a file that is not of the kind that was asked for: another kind of ours, or another tool's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, reduce
from importlib import resources
from typing import Any, NamedTuple

import yaml

_CONVERTED = "`kafka-chaos convert {file}` prints it as an experiment"
_OTHERWISE = "docs/how-to/convert.md says what can take its place"
_LIKE = "; `kafka-chaos experiments --show {like}` prints one of ours with such a fault"


class OtherFile(NamedTuple):
    """What a file is instead, with its article, and what to do with it; `converter` is the name of what makes
    an experiment of it, if anything does."""

    what: str
    next_step: str
    converter: str | None = None


def recognised(data: Any, file: str, folder: str | None = None) -> OtherFile | None:
    """What a document is that is not one of the kind whose built-in files are in `folder`; `file` names it in
    commands. None: not known."""
    if not isinstance(data, Mapping):
        return None
    row = next((one for one in _table() if one.get("folder", "") != folder and _fits(one, data)), None)
    if row is None:
        return None
    kind = str(data.get(row.get("kind"))).rpartition(".")[2]
    what = row["what"].format(kind=kind)
    if kind[:1] in "AEIOU" or kind.startswith("HTTP"):
        what = f"an {what.removeprefix('a ')}" if "{kind}" in row["what"] else what
    converter = row.get("convert") if kind in row.get("only", [kind]) else None
    next_step = row.get("next") or (_CONVERTED if converter else _OTHERWISE)
    for path, names in row.get("like", {}).items():
        if (like := names.get(str(reduce(_below, path.split("."), data)))) is not None:
            next_step += _LIKE.format(like=like)
    return OtherFile(what, next_step.format(file=file), converter)


def built_in_of_another_kind(name: str, folder: str) -> OtherFile | None:
    """As `recognised`, for the name of a built-in file."""
    for row in (one for one in _table() if one.get("folder", folder) != folder):
        if (resources.files("harness") / row["folder"] / f"{name.lower()}.yaml").is_file():
            return OtherFile(row["what"], row["next"].format(file=name))
    return None


def _fits(row: Mapping[str, Any], data: Mapping[Any, Any]) -> bool:
    return (
        all(key in data for key in row.get("has", ()))
        and not any(key in data for key in row.get("without", ()))
        and all(str(data.get(key, "")).startswith(text) for key, text in row.get("starts", {}).items())
    )


def _below(data: Any, key: str) -> Any:
    """The value of a key or index of a list; None: there is none."""
    if isinstance(data, list) and key.isdigit():
        return data[int(key)] if int(key) < len(data) else None
    return data.get(key) if isinstance(data, Mapping) else None


@cache
def _table() -> list[dict[str, Any]]:
    text = (resources.files("harness.config") / "other_files.yaml").read_text()
    return list(yaml.safe_load(text))
