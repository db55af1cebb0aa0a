"""The sample project in examples/, run as its team would, on real brokers."""

from __future__ import annotations

import shutil
from importlib.metadata import entry_points

import pytest

from tests.support.paths import ROOT

pytestmark = [pytest.mark.chaos, pytest.mark.soak]
pytest_plugins = ["pytester"]

EXAMPLE = ROOT / "examples" / "orders"
INSTALLED = any(one.value == "harness.pytest_plugin" for one in entry_points(group="pytest11"))
LOADED = () if INSTALLED else ("-p", "harness.pytest_plugin")


def test_the_sample_project_passes_and_its_failures_can_be_replayed(pytester: pytest.Pytester) -> None:
    shutil.copytree(EXAMPLE, pytester.path, dirs_exist_ok=True)
    (pytester.path / "test_lossy.py").write_text(
        "def test_lossy(chaos):\n    chaos('cut-then-kill', arms=['acks=1']).assert_lost(0)\n"
    )
    done = pytester.runpytest_subprocess(*LOADED, "-p", "no:cacheprovider", timeout=1200)
    done.assert_outcomes(passed=5, failed=1)
    done.stdout.fnmatch_lines(
        ["*expected 0 lost in arm acks=1, found 500", "acks=1: invalid", "image: *sha256:*", "report: *"]
    )
    command = next(line for line in done.outlines if "--chaos-replay" in line).split()
    again = pytester.runpytest_subprocess(*LOADED, "-p", "no:cacheprovider", *command[1:], timeout=600)
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*expected 0 lost in arm acks=1, found 500"])
