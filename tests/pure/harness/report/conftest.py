"""Pages of results, drawn once for a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.lab.bugs.bug import BUGS
from harness.lab.claims.claim import CLAIMS
from harness.lab.explore.page import write_pages as write_exploration
from harness.lab.suite.page import write_page
from harness.many.matrix.page import write_pages as write_matrix
from harness.report.index import write_index
from harness.report.run_page import write_report
from tests.support.builders.explorations import exploration_result
from tests.support.builders.matrices import run_matrix
from tests.support.builders.result_pages import bug_result, claim_result, new_folder
from tests.support.builders.results import arm, result
from tests.support.fake_backend import FakeBackend


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results with a page of each kind."""
    tmp_path = tmp_path_factory.mktemp("all")
    store, matrix = run_matrix(tmp_path, FakeBackend(tmp_path / "log"))
    folder = tmp_path / "results"
    write_index(folder)
    write_matrix(matrix, store.folder)
    write_report(result(arm(), arm("acks=all", False)), new_folder(folder, "kill-leader-1 & more"))
    write_page([CLAIMS[0]], [claim_result()], new_folder(folder, "claims-1/001"))
    write_page([BUGS[0]], [bug_result()], new_folder(folder, "bugs-1"))
    write_exploration(exploration_result(), new_folder(folder, "explore-1"))
    return folder
