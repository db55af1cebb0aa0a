"""Runs that break half-way: nothing left behind, journals readable, the check answers `unknown`."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.chaos.support.processes import COMMAND, await_sends, checked, environment, owned_by

pytestmark = pytest.mark.chaos


def started(results: Path) -> subprocess.Popen[str]:
    """A run under way, with sends in its journal."""
    child = subprocess.Popen(
        [*COMMAND, "run", "kill-leader", "--arm", "acks=1", "--results", str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
        start_new_session=True,
        # A shell's background jobs ignore SIGINT, and what they start inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    await_sends(child, results, "acks=1", 300)
    return child


@pytest.mark.parametrize("signal_", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
def test_an_interrupted_run_cleans_up_and_can_be_checked(signal_: signal.Signals, results: Path) -> None:
    child = started(results)
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
