"""The command line in this process, as a user types it."""

from __future__ import annotations

import sys

import pytest

from harness.cli.app import main


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line as a user would; returns the exit code."""
    monkeypatch.setattr(sys, "argv", ["kafka-chaos", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    code = caught.value.code
    assert isinstance(code, int)
    return code
