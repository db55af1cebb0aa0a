"""The diff of CONTRIBUTING.md that adds a class of finding applies: it is found, judged and listed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.contributing import DIFFS, patched_tree, source_files
from tests.support.module_sizes import long_modules
from tests.support.paths import ROOT

pytestmark = pytest.mark.spark

DIFF = DIFFS / "add-a-finding-class.diff"
USE = """
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import checkers
from harness.cli.app import app

assert Path(checkers.__file__).is_relative_to(Path.cwd()), checkers.__file__
listed = CliRunner().invoke(app, ["findings"]).stdout
assert "committed_only" in listed, listed
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "tests/spark/checkers/test_committed_only.py"]))
"""


def test_a_class_of_finding_touches_at_most_four_files_beside_its_docs_and_tests() -> None:
    assert source_files(DIFF) == ["checkers/records/classes.py", "harness/model/finding_class.py"]
    assert len(source_files(DIFF)) <= 4


def test_the_page_links_the_diff() -> None:
    assert f"({DIFF.relative_to(ROOT)})" in (ROOT / "CONTRIBUTING.md").read_text()


@pytest.mark.soak
def test_the_class_of_the_diff_is_found_judged_and_listed(tmp_path: Path) -> None:
    tree = patched_tree(DIFF, tmp_path)
    assert long_modules(tree) == []
    alone = {**os.environ, "PYTHONPATH": str(tree), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run([sys.executable, "-c", USE], cwd=tree, env=alone, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
