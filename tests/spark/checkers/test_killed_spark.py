"""An engine is killed in the middle of a check: one message, exit code 3, and the next check answers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bench.checker.histories import half_lost
from tests.support.history import History, run_meta, write_run
from tests.support.process_tree import descendants

pytestmark = [pytest.mark.spark, pytest.mark.soak]

KAFKA_CHAOS = [sys.executable, "-m", "kafka_chaos"]
COMMAND = [*KAFKA_CHAOS, "check", "--spark-master", "local[2]"]


def jvm_below(pid: int) -> int | None:
    """Spark's JVM; `java -version`, which is asked before, is another process of the same name."""
    for one in descendants(pid):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{one}/cmdline").read_bytes()
            if Path(f"/proc/{one}/comm").read_text().strip() == "java" and b"org.apache.spark" in command:
                return one
    return None


def threads_of(pid: int) -> set[str]:
    """The names of its threads, of which Linux keeps 15 characters."""
    names = set()
    for comm in Path(f"/proc/{pid}/task").glob("*/comm"):
        with contextlib.suppress(OSError):
            names.add(comm.read_text().strip())
    return names


# By a thread of Spark's that is there then, since how many seconds a check takes is the machine's.
WHEN = {
    "the JVM starts": "java",
    "the session is made": "dag-scheduler-event-loop"[:15],
    "a job runs": "Executor task launch worker"[:15],
}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are found as Linux tells them")
@pytest.mark.parametrize("when", WHEN)
def test_spark_is_killed(when: str, tmp_path: Path) -> None:
    """With a master of Spark given, since a run of this size is checked by Sail."""
    history = History()
    for number in range(200):
        history.send(number, at=number)
        if number % 2:
            history.read(number, at=number)
    write_run(tmp_path, history, meta=run_meta())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    child = subprocess.Popen(
        [*COMMAND, str(tmp_path), "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    began = time.monotonic()
    while (jvm := jvm_below(child.pid)) is None or WHEN[when] not in threads_of(jvm):
        assert child.poll() is None, child.communicate()[0]
        assert time.monotonic() < began + 400, f"not seen: {when}"
        time.sleep(0.01)
    os.kill(jvm, signal.SIGKILL)
    said = child.communicate(timeout=400)[0]
    assert "Traceback" not in said
    assert child.returncode == 3, said
    assert said.count("next:") == 1
    assert "the journals are untouched" in said or "nothing was checked" in said
    assert not (tmp_path / "summary.json").exists()
    assert {path: path.read_bytes() for path in before} == before
    again = subprocess.run([*COMMAND, str(tmp_path), "-q"], capture_output=True, text=True, check=False)
    assert again.returncode == 1, again.stderr


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are found as Linux tells them")
def test_sail_is_killed(tmp_path: Path) -> None:
    half_lost(tmp_path, 200_000)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    arguments = ["check", "--engine", "sail", str(tmp_path)]
    killing = [sys.executable, "-m", "tests.support.check_that_kills_sail", *arguments]
    child = subprocess.run(killing, capture_output=True, text=True, check=False, timeout=400)
    said = child.stdout + child.stderr
    assert "Traceback" not in said
    assert child.returncode == 3, said
    assert "the engine ended in the middle of the check; the journals are untouched" in said
    assert said.count("next:") == 1
    assert {path: path.read_bytes() for path in before} == before
    assert not (tmp_path / "summary.json").exists()
    again = subprocess.run([*KAFKA_CHAOS, *arguments, "-q"], capture_output=True, text=True, check=False)
    assert again.returncode == 1, again.stderr
