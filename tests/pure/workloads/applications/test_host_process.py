"""An application's instance as a process of this machine: its group, its signals, its output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import BadInput
from harness.model.host import processes
from harness.model.host.process_group import ProcessCommand
from harness.model.polling import poll_within
from workloads.applications.host_process import HostProcess

pytestmark = pytest.mark.pure

_FAMILY = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
time.sleep(600)
"""


def _process(tmp_path: Path, program: str) -> HostProcess:
    command = ProcessCommand((sys.executable, "-c", program), {"KC_TEST": "yes"})
    return HostProcess("application 0", command, tmp_path / "log", f"kc-test {tmp_path}")


@pytest.fixture
def family(tmp_path: Path) -> Iterator[HostProcess]:
    one = _process(tmp_path, _FAMILY)
    one.start()
    try:
        assert poll_within(30, lambda: None if "child" in one.log_since(0) else "silent") is None
        yield one
    finally:
        one.remove()


def _child(one: HostProcess) -> int:
    return int(one.log_since(0).split()[-1])


def _alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text()


def test_a_kill_ends_the_whole_group_and_a_start_is_a_new_process(family: HostProcess) -> None:
    child, first = _child(family), family.pid
    assert family.is_running()
    before_ns = time.time_ns()
    family.kill()
    assert poll_within(60, lambda: "running" if family.is_running() else None) is None
    assert family.exit_code() == 137
    assert poll_within(60, lambda: "alive" if _alive(child) else None) is None
    family.start()
    assert family.is_running()
    assert before_ns < family.ended_ns() < family.started_ns()
    assert family.pid != first


def test_the_end_of_its_first_process_ends_the_rest(family: HostProcess) -> None:
    child = _child(family)
    assert family.pid is not None
    os.kill(family.pid, 15)
    assert poll_within(60, lambda: "running" if family.is_running() else None) is None
    assert family.exit_code() == 143
    assert poll_within(60, lambda: "alive" if _alive(child) else None) is None


def test_a_pause_freezes_every_process_of_the_group(family: HostProcess) -> None:
    assert not family.is_paused()
    family.pause()
    assert poll_within(60, lambda: None if family.is_paused() else "awake") is None
    assert len(processes.members(family.pid or 0)) == 2
    used = family.stats()["cpu_stats"]["cpu_usage"]["total_usage"]
    time.sleep(0.1)
    assert family.stats()["cpu_stats"]["cpu_usage"]["total_usage"] == used
    family.unpause()
    assert poll_within(60, lambda: "frozen" if family.is_paused() else None) is None


def test_a_start_waits_for_one_that_was_told_to_end(tmp_path: Path) -> None:
    slow = "import signal, time, sys\nsignal.signal(15, lambda *_: (time.sleep(0.3), sys.exit(0)))\n"
    one = _process(tmp_path, f"{slow}print('up', flush=True)\ntime.sleep(600)")
    one.start()
    try:
        assert poll_within(30, lambda: None if "up" in one.log_since(0) else "silent") is None
        first = one.pid
        one.terminate()
        one.start()
        assert one.is_running()
        assert one.pid != first
    finally:
        one.remove()
    assert not one.is_running()


def test_a_stop_kills_what_does_not_end(tmp_path: Path) -> None:
    deaf = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(600)"
    one = _process(tmp_path, deaf)
    one.start()
    assert poll_within(30, lambda: None if "up" in one.log_since(0) else "silent") is None
    one.stop(0.2)
    assert one.exit_code() == 137


def test_its_environment_its_last_lines_and_its_code(tmp_path: Path) -> None:
    program = "import os, sys; print(os.environ['KC_TEST']); print('broken', file=sys.stderr); sys.exit(7)"
    one = _process(tmp_path, program)
    one.start()
    assert poll_within(30, lambda: "running" if one.is_running() else None) is None
    assert one.exit_code() == 7
    assert sorted(one.last_lines().split()) == ["broken", "yes"]


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    one = HostProcess(
        "application 0", ProcessCommand(("/no/such/command",), {}), tmp_path / "log", f"kc-test {tmp_path}"
    )
    with pytest.raises(BadInput, match="the application cannot be started"):
        one.start()
    assert not one.is_running()


def test_a_restart_that_fails_signals_no_group_that_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of the group may belong to others by then."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexit 7\n")
    program.chmod(0o755)
    one = HostProcess(
        "application 0", ProcessCommand((str(program),), {}), tmp_path / "log", f"kc-test {tmp_path}"
    )
    one.start()
    assert poll_within(30, lambda: "running" if one.is_running() else None) is None
    program.unlink()
    sent: list[int | None] = []
    monkeypatch.setattr(processes, "send_signal", lambda *arguments: sent.append(arguments[0]))
    with pytest.raises(BadInput, match="the application cannot be started"):
        one.start()
    assert not one.is_running()
    assert sent == []


def test_it_does_not_inherit_what_a_library_has_set_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an application with a Spark of its own takes itself for a client of our Spark Connect server."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    monkeypatch.setenv("KAFKA_CHAOS_ENGINE_SERVER", "{}")
    monkeypatch.setenv("KC_MINE", "kept")
    names = ("SPARK_CONNECT_MODE_ENABLED", "KAFKA_CHAOS_ENGINE_SERVER", "KC_MINE", "KC_TEST")
    program = f"import os; print(*(os.environ.get(name) for name in {names}))"
    one = _process(tmp_path, program)
    one.start()
    try:
        assert poll_within(30, lambda: None if one.log_since(0).endswith("\n") else "silent") is None
        assert one.log_since(0).split() == ["None", "None", "kept", "yes"]
    finally:
        one.remove()


def test_a_folder_of_its_table_that_is_removed_meanwhile_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, gone = tmp_path / "table", tmp_path / "table" / "_temporary"
    gone.mkdir(parents=True)
    (table / "part-0").write_text("abc")
    scan = os.scandir

    def removed(path: Any) -> Any:
        if Path(path) == gone:
            raise FileNotFoundError(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", removed)
    one = HostProcess("application 0", ProcessCommand(("true",), {}), tmp_path / "log", "kc-test")
    assert one.table_size(str(table)) == (("part-0", 3),)
