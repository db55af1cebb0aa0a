"""Recognises a file that is not of the kind that was asked for: another kind of ours, or another tool's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import yaml


class OtherFile(NamedTuple):
    """What a file is instead, with its article, and what to do with it."""

    what: str
    next_step: str


def recognised(data: Any, file: str, folder: str) -> OtherFile | None:
    """What a document is that is not one of the kind whose built-in files are in `folder`; `file` names it in
    commands. None: not known."""
    if isinstance(data, Mapping):
        for row in _rows(but=folder):
            if _fits(row, data):
                return OtherFile(row["what"], row["next"].format(file=file))
    return None


def built_in_of_another_kind(name: str, folder: str) -> OtherFile | None:
    """As `recognised`, for the name of a built-in file."""
    for row in _rows(but=folder):
        if (
            "folder" in row
            and (resources.files("harness") / row["folder"] / f"{name.lower()}.yaml").is_file()
        ):
            return OtherFile(row["what"], row["next"].format(file=name))
    return None


def _fits(row: Mapping[str, Any], data: Mapping[Any, Any]) -> bool:
    return (
        all(key in data for key in row.get("has", ()))
        and not any(key in data for key in row.get("without", ()))
        and all(str(data.get(key, "")).startswith(text) for key, text in row.get("starts", {}).items())
    )


def _rows(but: str) -> Iterator[dict[str, Any]]:
    return (row for row in _table() if row.get("folder") != but)


@cache
def _table() -> list[dict[str, Any]]:
    text = (resources.files("harness.config") / "other_files.yaml").read_text()
    return list(yaml.safe_load(text))
