"""Where the files are that come with kafka-chaos."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable


def built_in_files(path: str) -> Traversable:
    """A folder or a file of an installed package, such as `harness/experiments`."""
    package, _, below = path.partition("/")
    return resources.files(package) / below
