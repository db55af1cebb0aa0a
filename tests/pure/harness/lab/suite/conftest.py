"""A run folder made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.builders.finished_runs import FinishedRunFolder


@pytest.fixture
def folder(tmp_path: Path) -> FinishedRunFolder:
    return FinishedRunFolder(tmp_path)
