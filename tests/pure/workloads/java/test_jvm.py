"""A JVM that does not start: how it ended, and what it printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.errors import ClusterError
from workloads.java.jvm import Jvm

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("echo out; echo 'Error: no memory' >&2; exit 3", ["out", "Error: no memory", "(exit code 3)"]),
        ("kill -9 $$", ["nothing was printed (exit code -9)"]),
    ],
)
def test_what_it_printed_is_told(
    script: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ClusterError) as error:
        Jvm()
    for part in found:
        assert part in str(error.value)
