"""A crash inside a Kafka client, which is native code, ends the command with a word."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

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
