"""Work in a thread beside other work."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from checkers.beside import beside

pytestmark = pytest.mark.pure


def test_it_runs_meanwhile_and_gives_its_result() -> None:
    go_on = threading.Event()
    future = beside(lambda: go_on.wait(60) and "done")
    assert not future.done()
    go_on.set()
    assert future.result(60) == "done"


def test_what_it_raises_comes_with_its_result() -> None:
    future = beside(lambda: {}["no such key"])
    with pytest.raises(KeyError, match="no such key"):
        future.result(60)


def test_nobody_waits_for_it_at_the_end() -> None:
    code = "import threading; from checkers.beside import beside; beside(threading.Event().wait)"
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)
