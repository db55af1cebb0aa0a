"""Writes commented examples of files."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from harness.cli.options import console, print_text
from harness.model.errors import BadInput


def write_example(path: Path, package: str, command: str) -> None:
    """Write the example.yaml of a package to a file that does not exist yet; `command` runs such files.

    Raises:
        BadInput: the file exists, or cannot be written.
    """
    if path.exists():
        raise BadInput("the file exists already", where=str(path), next_step="choose another file")
    try:
        path.write_text((resources.files(package) / "example.yaml").read_text())
    except OSError as error:
        raise BadInput("the file cannot be written", where=str(path), found=str(error)) from error
    print_text(console(80), f"wrote {path}; run it with: {command} {path}")
