"""Sockets of stand-ins for the engine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def socket_folder() -> Iterator[Path]:
    """A folder for a UNIX socket, whose path may have 107 bytes (unix(7)): that of `tmp_path` has the name of
    the test in it, and is too long below some temporary folders."""
    with tempfile.TemporaryDirectory(prefix="kc-") as folder:
        yield Path(folder)
