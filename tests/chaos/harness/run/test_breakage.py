"""Runs that break half-way: nothing left behind, journals readable, the check answers `unknown`."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.chaos.support.processes import await_sends, checked, owned_by, started

pytestmark = pytest.mark.chaos


def sending(results: Path) -> subprocess.Popen[str]:
    """A run under way, with sends in its journal."""
    child = started(None, "run", "kill-leader", "--arm", "acks=1", "--results", str(results))
    await_sends(child, results, "acks=1", 300)
    return child


@pytest.mark.parametrize("signal_", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
def test_an_interrupted_run_cleans_up_and_can_be_checked(signal_: signal.Signals, results: Path) -> None:
    child = sending(results)
    assert owned_by(child.pid)
    child.send_signal(signal_)
    output = child.communicate(timeout=300)[0]
    assert child.returncode == 130, output
    assert "Traceback" not in output
    assert "journals are kept" in output
    assert owned_by(child.pid) == []
    (run,) = results.glob("*/acks=1")
    assert not (run / "sends" / "open.parquet").exists(), "closed properly"
    # Both signals take the same way from here: one check of what they leave is enough.
    if signal_ is signal.SIGINT:
        assert "the run broke: interrupted" in str(checked(run)["judgement"])
    assert "the run broke: interrupted" in (run / "run.json").read_text()
