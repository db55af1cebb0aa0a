"""Runs that break half-way: nothing left behind, journals readable, the check answers `unknown`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import engine

pytestmark = pytest.mark.chaos

COMMAND = [sys.executable, "-m", "harness.cli"]
ENVIRONMENT = {**os.environ, "TESTCONTAINERS_RYUK_DISABLED": "true"}


def started(results: Path) -> subprocess.Popen[str]:
    """A run under way, with sends in its journal."""
    child = subprocess.Popen(
        [*COMMAND, "run", "kill-leader", "--arm", "acks=1", "--results", str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
        # A shell's background jobs ignore SIGINT, and what they start inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not list(results.glob("*/acks=1/sends/part-*.parquet")):
        assert child.poll() is None, child.communicate()[0]
        assert time.monotonic() < deadline, "no send was journaled"
        time.sleep(0.1)
    return child


def owned_by(pid: int) -> list[str]:
    """Containers and networks of ours whose owner is this process."""
    client = engine.connect()
    things = [*client.containers.list(all=True), *client.networks.list()]
    found = []
    for thing in things:
        labels = getattr(thing, "labels", None) or thing.attrs.get("Labels") or {}
        if f"/{pid}/" in labels.get(engine.OWNER_LABEL, ""):
            found.append(thing.name)
    return found


def checked(folder: Path) -> dict[str, object]:
    """What `check` says of a broken run; it must say `unknown` and exit with 3."""
    done = subprocess.run(
        [*COMMAND, "check", str(folder), "--json", "-q"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    (arm,) = json.loads(done.stdout)["arms"]
    assert arm["judgement"]["verdict"] == "unknown"
    return dict(arm)


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_cleans_up_and_can_be_checked(signal_: signal.Signals, results: Path) -> None:
    child = started(results)
    assert owned_by(child.pid)
    child.send_signal(signal_)
    output = child.communicate(timeout=60)[0]
    assert child.returncode == 130, output
    assert "Traceback" not in output
    assert "journals are kept" in output
    assert owned_by(child.pid) == []
    (run,) = results.glob("*/acks=1")
    assert not (run / "sends" / "open.parquet").exists(), "closed properly"
    # Both signals take the same way from here: one check of what they leave is enough.
    if signal_ is signal.SIGINT:
        assert "interrupted" in str(checked(run)["judgement"])
    assert "the run broke: interrupted" in (run / "run.json").read_text()


def test_a_killed_run_keeps_its_journals(results: Path) -> None:
    child = started(results)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    try:
        (run,) = results.glob("*/acks=1")
        arm = checked(run)
        summary = arm["summary"]
        assert isinstance(summary, dict)
        assert summary["sent"] > 0
        assert owned_by(child.pid)
    finally:
        done = subprocess.run([*COMMAND, "clean"], capture_output=True, text=True, check=True)
    # At least these four: the machine may hold what an earlier harness left.
    removed = re.search(r"removed (\d+) container", done.stdout)
    assert removed is not None
    assert int(removed.group(1)) >= 4
    assert owned_by(child.pid) == []
