"""The files that make up an application's table: those that its own log names, if it has one, else all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from harness.model.errors import JournalError

SPARK_LOG = "_spark_metadata"
"""Folder in which Spark's file sink names the files of each batch; what is not named was not committed."""


def table_files(folder: Path) -> list[Path]:
    """The files of a table, in the order in which they were added, or in the order of their names.

    Files whose names begin with a dot or an underscore are no part of it.

    Raises:
        JournalError: Spark's log of the table cannot be read.
    """
    if (folder / SPARK_LOG).is_dir():
        return list(dict.fromkeys(_named_by_spark(folder)))
    files = (
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    )
    return sorted(files)


def _named_by_spark(folder: Path) -> Iterator[Path]:
    """The files of the newest compacted batch, which holds all before it, and of the batches after it."""
    batches: dict[int, Path] = {}
    newest_compact = -1
    for path in (folder / SPARK_LOG).iterdir():
        if match := re.fullmatch(r"(\d+)(\.compact)?", path.name):
            number = int(match[1])
            if match[2]:
                newest_compact = max(newest_compact, number)
            if match[2] or number not in batches:
                batches[number] = path
    deleted: set[Path] = set()
    added: list[Path] = []
    for number in sorted(batch for batch in batches if batch >= newest_compact):
        for entry in _entries(batches[number]):
            path = Path(unquote(urlparse(entry["path"]).path))
            (deleted.add if entry.get("action") == "delete" else added.append)(path)
    yield from (path for path in added if path not in deleted)


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    with JournalError.for_errors(
        (OSError, ValueError),
        "the log of a table of Spark cannot be read",
        where=path,
        expected="v1 and a line of JSON for each file",
        next_step="look at what the application printed, in application/ of the run folder",
    ):
        version, *lines = path.read_text().splitlines()
        if version != "v1":
            raise ValueError(f"version {version}")
        yield from (json.loads(line) for line in lines if line.strip())
