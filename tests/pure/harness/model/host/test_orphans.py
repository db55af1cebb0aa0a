"""What a killed harness leaves of an application is found by its mark, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from harness.model.host.orphans import MARK, end_marked, end_orphans, mark_of
from harness.model.polling import poll_within

pytestmark = pytest.mark.pure

_HARNESS = """
import sys, time
from pathlib import Path
from harness.model.host.process_group import ProcessCommand
from workloads.applications.host_process import HostProcess
from harness.model.host.orphans import mark_of
sleeper = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], "
sleeper += "start_new_session=True); import time; time.sleep(600)"
command = ProcessCommand((sys.executable, "-c", sleeper), {})
one = HostProcess("application 0", command, Path(sys.argv[2]), mark_of(sys.argv[1], sys.argv[3]))
one.start()
print(one.pid, flush=True)
time.sleep(600)
"""


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _marked(cluster: str) -> list[int]:
    wanted = f"{MARK}={cluster} ".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in path.read_bytes() and _alive(int(path.parent.name)):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("part", ["", "arm"])
def test_a_killed_harness_leaves_processes_that_are_ended(part: str, tmp_path: Path) -> None:
    cluster = f"kc-{uuid.uuid4().hex[:8]}"
    harness = subprocess.Popen(
        [sys.executable, "-c", _HARNESS, cluster, str(tmp_path / "log"), part], stdout=subprocess.PIPE
    )
    try:
        assert harness.stdout is not None
        pid = int(harness.stdout.readline())
        # The application has started another process, in a session of its own.
        assert poll_within(30, lambda: None if len(_marked(cluster)) == 2 else "not yet") is None
        # Its harness runs, so nothing is touched.
        assert end_orphans(cluster) == 0
        harness.send_signal(signal.SIGKILL)
        harness.wait()
        assert _alive(pid)
        assert end_orphans("kc-another") == 0
        assert end_orphans(cluster) == 2
        assert poll_within(60, lambda: "alive" if _marked(cluster) else None) is None
        assert end_orphans(cluster) == 0
    finally:
        harness.kill()
        harness.wait()
        end_orphans(cluster, everything=True)


@pytest.mark.parametrize("part", ["", "arm"])
def test_only_an_equal_mark_is_ended(part: str) -> None:
    """Programs of two arms end apart from each other."""
    cluster = f"kc-{uuid.uuid4().hex[:8]}"
    mine, others = mark_of(cluster, part), mark_of(cluster, "other")
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    both = [subprocess.Popen(sleep, env={**os.environ, MARK: mark}) for mark in (mine, others)]
    try:
        assert poll_within(60, lambda: None if end_marked(mine) else "not started") is None
        assert both[0].wait(60) == -signal.SIGKILL
        assert both[1].poll() is None
    finally:
        for one in both:
            one.kill()
            one.wait()
