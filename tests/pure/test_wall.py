"""The wall between the core and other workloads: only the lists of workloads look over it."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.pure

LISTS = {
    "checkers": "the names that other packages may use",
    "checkers.registry": "what the check looks at",
    "harness.report.words": "what a report says",
    "harness.run.steps.step_handlers": "what carries out each step",
    "harness.run.workloads": "the clients of an arm",
    "harness.spec.experiment": "what a file of an experiment may have",
    "harness.spec.step": "the kinds of steps",
    "harness.spec.workload_problems": "what may be wrong with each",
}
"""The modules of the core that import other workloads, because they list them, and what each lists."""


def wall() -> dict[str, Any]:
    contracts = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = (one for one in contracts if one["name"] == "The core imports no other workload")
    # import-linter itself refuses an exception that no import needs any more.
    assert found.get("unmatched_ignore_imports_alerting", "error") == "error"
    return dict(found)


def test_only_the_lists_of_workloads_import_them() -> None:
    contract = wall()
    ignored = [one.split(" -> ") for one in contract["ignore_imports"]]
    assert [pair for pair in ignored if pair[1] != "**"] == [], "an exception for a module of the core"
    of_core = {
        importer
        for importer, _ in ignored
        if not any(fnmatch(importer, one) or importer == one for one in contract["forbidden_modules"])
    }
    assert of_core == set(LISTS)
