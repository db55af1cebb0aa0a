"""The wall between the core and other workloads: only the lists of workloads look over it."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from typing import Any

import pytest

from tests.support.paths import ROOT

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


OF_EVERY_RUN = {"records"}
"""The folder of `workloads/` that every run has."""
FRAME = {
    "classes", "deliveries", "engine", "evidence", "journals", "judgement", "questions", "rates", "records",
    "replicas", "statistics",
}  # fmt: skip
"""The folders of `checkers/` that are no workload's."""


def contract_of(name: str) -> dict[str, Any]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (named,) = (contract for contract in contracts if contract["name"].startswith(name))
    return dict(named)


def folders(package: str) -> set[str]:
    return {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}


def test_only_the_lists_of_workloads_import_them() -> None:
    contract = contract_of("The core imports no other workload")
    # import-linter itself refuses an exception that no import needs any more.
    assert contract.get("unmatched_ignore_imports_alerting", "error") == "error"
    ignored = [one.split(" -> ") for one in contract["ignore_imports"]]
    assert [pair for pair in ignored if pair[1] != "**"] == [], "an exception for a module of the core"
    of_core = {
        importer
        for importer, _ in ignored
        if not any(fnmatch(importer, one) or importer == one for one in contract["forbidden_modules"])
    }
    assert of_core == set(LISTS)


def test_every_workload_is_behind_the_wall() -> None:
    """import-linter does not know of a folder that no contract names: the core could import it."""
    workloads = {f"workloads.{name}" for name in folders("workloads") - OF_EVERY_RUN}
    checks = {f"checkers.{name}" for name in folders("checkers") - FRAME}
    wall = contract_of("The core imports no other workload")
    assert {f"{module}.**" for module in workloads | checks} == set(wall["forbidden_modules"])
    assert {f"{module}.** -> **" for module in checks} <= set(wall["ignore_imports"])
    assert workloads == set(contract_of("A workload knows an arm")["source_modules"])
    behind_the_door = set(contract_of("Checkers have one door")["forbidden_modules"])
    assert {f"checkers.{name}" for name in folders("checkers")} <= behind_the_door
    assert folders("checkers") - FRAME <= folders("workloads"), "a check has the name of its workload"
