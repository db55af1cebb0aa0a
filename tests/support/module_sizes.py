"""The lengths of modules, of this tree or of a copy of it."""

from __future__ import annotations

from pathlib import Path

_PACKAGES = ("kafka_chaos", "harness", "faults", "workloads", "checkers", "compose")
_MOST_LINES = 300


def lines_of_modules(root: Path) -> dict[Path, int]:
    """The number of lines of each module of a package."""
    return {
        path.relative_to(root): path.read_text(encoding="utf-8").count("\n")
        for package in _PACKAGES
        for path in (root / package).rglob("*.py")
    }


def long_modules(root: Path) -> list[str]:
    """A sentence about each module that is too long."""
    lines = sorted(lines_of_modules(root).items())
    return [f"{path} has {count} lines" for path, count in lines if count > _MOST_LINES]
