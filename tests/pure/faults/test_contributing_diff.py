"""The diff of CONTRIBUTING.md that adds a fault applies, and the fault works wherever faults are known."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.contributing import DIFFS, patched_tree, source_files
from tests.support.module_sizes import long_modules
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

DIFF = DIFFS / "add-a-fault.diff"
USE = """
import sys
from pathlib import Path

import pytest

import faults
from harness.cli.listings.faults import fault_rows, page
from harness.spec.experiment_files import load
from tests.support.builders.views import quiet, seen, silent, state, view
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, context

assert Path(faults.__file__).is_relative_to(Path.cwd()), faults.__file__
Path("experiment.yaml").write_text('''
name: no-route
title: The leader loses its routes
steps:
  - write:
      name: write
      seconds: 10
      faults: [{fault: {no_route: {target: {leader: 0}}}, at: 2, for: 5}]
arms: [{name: safe}]
''')
(step,) = load("experiment.yaml").steps
fault = step.action.faults[0].fault
assert type(fault).__name__ == "NoRoute", fault
(row,) = fault_rows((), "no_route")
assert row["parameters"][0]["name"] == "target", row
assert row["possible"] is True, row
assert "Proof:" in page("no_route")

fenced = view(silent(1), *(seen(broker, state(leader=2, epoch=1, isr=(2, 3))) for broker in (2, 3)))
back = view(*(seen(broker, state(leader=2, epoch=1)) for broker in (1, 2, 3)))
unreachable = FakeCommandResult(text="RTNETLINK answers: Network is unreachable")
cluster = FakeCluster([quiet(), fenced, back], says=[FakeCommandResult(), unreachable])
injection = fault.aim(context(cluster))
injection.apply(context(cluster))
assert injection.verify(context(cluster)).seen
injection.undo(context(cluster))
assert injection.healed(context(cluster)).seen
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "tests/pure/faults/test_no_route.py"]))
"""


def test_a_fault_touches_at_most_three_files_beside_its_docs_and_tests() -> None:
    assert source_files(DIFF) == ["faults/__init__.py", "faults/no_route.py"]
    assert len(source_files(DIFF)) <= 3


def test_the_page_links_the_diff() -> None:
    assert f"({DIFF.relative_to(ROOT)})" in (ROOT / "CONTRIBUTING.md").read_text()


def test_the_fault_of_the_diff_is_loaded_listed_injected_proved_and_undone(tmp_path: Path) -> None:
    tree = patched_tree(DIFF, tmp_path)
    assert long_modules(tree) == []
    alone = {**os.environ, "PYTHONPATH": str(tree), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run([sys.executable, "-c", USE], cwd=tree, env=alone, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
