"""A crash inside a Kafka client, which is native code, ends the command with a word."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from contextlib import redirect_stderr

import pytest

from harness.cli import app

pytestmark = pytest.mark.pure

CRASHES = """
import os, signal
from harness.cli import app
app._run = lambda: os.kill(os.getpid(), signal.SIGSEGV)
app.main()
"""


def test_a_crash_is_named() -> None:
    done = subprocess.run([sys.executable, "-c", CRASHES], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in done.stderr


def test_a_stderr_that_is_no_file_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_run", lambda: None)
    with redirect_stderr(io.StringIO()), pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 0
