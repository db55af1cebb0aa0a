"""A shell that stays in a container: output and exit code of each script, whatever it prints, and its end."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from harness.cluster.containers.exec import ContainerOutput
from harness.cluster.containers.lasting_shells import LastingShell, NodeShells, ShellGone
from tests.support.shell_stream import ShellStream

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("script", "printed", "code"),
    [
        ("echo out; echo error >&2; exit 3", "out\nerror\n", 3),
        ("printf 'no end of line'", "no end of line", 0),
        ("true", "", 0),
        ("echo \"it's\"; echo 'end 12 0'", "it's\nend 12 0\n", 0),
        ("cat", "", 0),  # it does not read the next script
        ("head -c 300000 /dev/zero | tr '\\0' x", "x" * 300_000, 0),
        ("kill -9 $$", "", 137),
        ("f() {\n  echo in f\n}\nf", "in f\n", 0),
    ],
)
def test_output_and_exit_code_are_the_scripts(script: str, printed: str, code: int) -> None:
    shell = LastingShell(ShellStream(), "sh")
    for _ in range(2):
        done = shell.run(script)
        assert done is not None
        assert (done.text, done.code) == (printed, code)
    shell.close()


def test_what_a_script_sets_is_gone_with_it() -> None:
    shell = LastingShell(ShellStream(), "bash")
    shell.run("cd /; x=1; set -e")
    assert shell.run("echo [$x]; false; echo on") == ContainerOutput(0, "[]\non\n")
    shell.close()


def test_one_that_has_ended_says_so_before_it_begins_a_script() -> None:
    stream = ShellStream()
    shell = LastingShell(stream, "sh")
    assert shell.run("true") is not None
    stream.end()
    for _ in range(2):
        with pytest.raises(ShellGone):
            shell.run("true")
    assert shell.ended


def test_one_that_ends_under_a_script_gives_what_was_printed() -> None:
    shell = LastingShell(ShellStream(), "sh")
    assert shell.run("echo before; kill -9 $PPID; sleep 0.2") == ContainerOutput(137, "before\n")
    assert shell.ended


def test_a_second_script_at_the_same_time_is_left_to_another_way() -> None:
    shell = LastingShell(ShellStream(), "sh")
    over = threading.Event()

    def keep_busy() -> None:
        # More than once: it may itself find the shell busy, or its script be over before the next one comes.
        while not over.is_set():
            shell.run("sleep 1")

    first = threading.Thread(target=keep_busy)
    first.start()
    deadline = time.monotonic() + 60
    while shell.run("true") is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    over.set()
    assert time.monotonic() < deadline
    first.join()
    assert shell.run("echo again") == ContainerOutput(0, "again\n")
    shell.close()


def test_a_script_that_takes_too_long_is_an_error_and_its_output_is_not_the_next_ones() -> None:
    shell = LastingShell(ShellStream(), "sh", seconds=0.2)
    with pytest.raises(OSError, match="timed out"):
        shell.run("sleep 0.5; echo late")
    with pytest.raises(ShellGone):
        shell.run("true")


class Node:
    """A container whose engine starts shells here; commands that it would run itself are only noted."""

    def __init__(self) -> None:
        self.id, self.client = "a", SimpleNamespace(api=self)
        self.attrs = {"State": {"Running": True, "Paused": False}}
        self.streams: list[ShellStream] = []
        self.commands: list[str] = []
        self.refuses = False

    def reload(self) -> None: ...

    def exec_create(self, container: str, command: list[str], *, stdin: bool, user: str) -> dict[str, str]:
        assert (container, command, stdin, user) == ("a", ["sh"], True, "root")
        if self.refuses:
            raise APIError("no")
        return {"Id": "e"}

    def exec_start(self, _: str, *, socket: bool) -> ShellStream:
        assert socket
        self.streams.append(ShellStream())
        return self.streams[-1]

    def exec_run(self, command: list[str], user: str) -> tuple[int, bytes]:
        assert user == "root"
        self.commands.append(command[-1])
        return 3, b"by the engine"


@pytest.fixture
def node() -> Any:
    return Node()


def test_a_node_has_one_shell_until_it_ends(node: Any) -> None:
    shells = NodeShells()
    assert [shells.run_in(node, "echo 1").text for _ in range(3)] == ["1\n"] * 3
    assert len(node.streams) == 1
    node.streams[0].end()
    assert shells.run_in(node, "echo 2").text == "2\n"
    assert len(node.streams) == 2
    assert not node.commands
    shells.close()
    assert shells.run_in(node, "echo 3").text == "3\n"
    shells.close()


@pytest.mark.parametrize("state", [{"Running": True, "Paused": True}, {"Running": False, "Paused": False}])
def test_the_engine_is_asked_where_a_shell_would_run_the_script_later(node: Any, state: Any) -> None:
    node.attrs = {"State": state}
    assert NodeShells().run_in(node, "echo 1") == ContainerOutput(3, "by the engine")
    assert not node.streams


def test_the_engine_runs_the_script_where_it_gives_no_shell(node: Any) -> None:
    node.refuses = True
    assert NodeShells().run_in(node, "echo 1").code == 3
    assert node.commands == ["echo 1"]
