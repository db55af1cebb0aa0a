"""A harness that is interrupted or killed while an application under test runs."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from harness.cluster.containers import docker_engine
from harness.model.polling import poll_within
from harness.spec.cluster import ClusterSpec
from tests.chaos.support.processes import (
    applications_of,
    await_sends,
    checked,
    kafka_chaos,
    owned_by,
    started,
)
from tests.support.paths import ROOT

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

COPY = ROOT / "tests" / "support" / "copy_application.py"
RUNS = {
    "process": {"process": [sys.executable, str(COPY), "{bootstrap}", "{input}", "{output}", "{group}"]},
    # It goes on as long as nobody kills it.
    "container": {
        "container": {
            "image": "kafka-chaos/kafka:" + ClusterSpec().version,
            "command": ["bash", "-c", "trap '' TERM; while true; do sleep 1; done"],
        }
    },
}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture(params=RUNS)
def harness(
    request: pytest.FixtureRequest, tmp_path: Path, state: Path, results: Path
) -> Iterator[subprocess.Popen[str]]:
    """A run with two instances of an application, in its write step."""
    spec = {
        "name": "copying",
        "title": "an application beside a harness that ends",
        "cluster": {"brokers": 1, "combined": True},
        "topic": {"partitions": 2, "replication_factor": 1},
        "application": {
            "run": RUNS[request.param],
            "instances": 2,
            "ready": {"runs": 2},
            "drained": {"quiet": 1},
        },
        "steps": [{"write": {"name": "input", "seconds": 300, "rate": 100}}],
        "arms": [{"name": "one"}],
    }
    path = tmp_path / "copying.yaml"
    path.write_text(yaml.safe_dump(spec))
    child = started(state, "run", str(path), "--results", str(results))
    try:
        await_sends(child, results, "one", 300)
        yield child
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
        for path in state.glob("*/"):
            docker_engine.sweep(docker_engine.connect(), cluster=path.name)


def _instances(harness: subprocess.Popen[str]) -> list[str]:
    """Processes and containers of the application."""
    containers = [name for name in owned_by(harness.pid) if "application-" in name]
    return applications_of(harness.pid) + containers


def test_after_ctrl_c_nothing_is_left(harness: subprocess.Popen[str], results: Path) -> None:
    assert len(_instances(harness)) >= 2
    harness.send_signal(signal.SIGINT)
    output = harness.communicate(timeout=300)[0]
    assert harness.returncode == 130, output
    assert "Traceback" not in output
    assert "journals are kept" in output
    assert _instances(harness) == []
    assert owned_by(harness.pid) == []
    (run,) = results.glob("*/one")
    assert "interrupted" in str(checked(run)["judgement"])


@pytest.mark.usefixtures("only_sweeper")
def test_after_sigkill_heal_ends_what_is_left(
    harness: subprocess.Popen[str], state: Path, results: Path
) -> None:
    harness.send_signal(signal.SIGKILL)
    harness.communicate(timeout=60)
    assert len(_instances(harness)) >= 2, "nobody has ended them yet"
    healed = kafka_chaos(state, "heal", "--quiet")
    assert healed.returncode == 0, healed.stderr + healed.stdout
    left = poll_within(60, lambda: str(_instances(harness) or "") or None)
    assert left is None, left
    (run,) = results.glob("*/one")
    assert "did not finish" in str(checked(run, state)["judgement"])
