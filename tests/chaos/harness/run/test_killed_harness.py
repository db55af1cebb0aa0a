"""A harness that is killed in the middle of a fault leaves a record from which another process heals."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.containers import docker_engine
from harness.model.polling import poll_within
from tests.chaos.support.processes import COMMAND, environment, kafka_chaos, owned_by

pytestmark = pytest.mark.chaos

SPEC = """
name: frozen
title: a pause that outlives its harness
topic: {partitions: 1}
steps:
  - write:
      name: all
      seconds: 100
      rate: 100
      faults: [{fault: {pause: {target: {leader: 0}}}, at: 1, for: 90}]
arms: [{name: one}]
"""


def wait_for(what: Callable[[], bool], seconds: float) -> None:
    left = poll_within(seconds, lambda: None if what() else "not yet")
    assert left is None, left


@pytest.mark.usefixtures("only_sweeper")
@pytest.mark.soak
def test_heal_after_sigkill_then_clean(tmp_path: Path) -> None:
    state, results = tmp_path / "state", tmp_path / "results"
    (tmp_path / "frozen.yaml").write_text(SPEC)
    client = docker_engine.connect()

    def frozen() -> list[Any]:
        names = [path.name for path in state.glob("*/")]
        wanted = [{"label": f"{docker_engine.CLUSTER_LABEL}={name}", "status": "paused"} for name in names]
        listed = (client.containers.list(filters=filters, ignore_removed=True) for filters in wanted)
        return [container for found in listed for container in found]

    harness = subprocess.Popen(
        [*COMMAND, "run", str(tmp_path / "frozen.yaml"), "--results", str(results), "--quiet"],
        env=environment(state),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: bool(frozen()) or harness.poll() is not None, 300)
        assert harness.poll() is None, harness.stderr.read() if harness.stderr else ""
    finally:
        harness.send_signal(signal.SIGKILL)
        harness.wait()
        harness.stderr.close() if harness.stderr else None
    try:
        assert frozen(), "the broker is frozen, and nobody is left to thaw it"
        healed = kafka_chaos(state, "heal", "--json", "--quiet")
        assert healed.returncode == 0, healed.stderr + healed.stdout
        (cluster,) = json.loads(healed.stdout)
        assert cluster["clean"]
        assert [what.split(":")[0] for what in cluster["healed"]] == ["pause-1"]
        assert not frozen()
        again = kafka_chaos(state, "heal")
        assert again.returncode == 0
        assert "nothing was open" in again.stdout
    finally:
        swept = kafka_chaos(state, "clean")
    assert swept.returncode == 0
    # At least these four: the machine may hold what an earlier harness left.
    removed = re.search(r"removed (\d+) container", swept.stdout)
    assert removed is not None
    assert int(removed.group(1)) >= 4
    assert owned_by(harness.pid) == []
    assert not list(state.glob("*/")), "the record goes with the cluster"
    (run,) = results.glob("frozen-*/one")
    checked = kafka_chaos(state, "check", str(run), "--json", "--quiet")
    assert checked.returncode == 3, "a run that was cut off proves nothing"
    (arm,) = json.loads(checked.stdout)["arms"]
    assert arm["summary"]["sent"] > 0, "its journals are kept"
