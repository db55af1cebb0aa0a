"""Every workload is entered in the lists that the core calls: what is in none would never run or be shown."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import checkers
import workloads
from checkers.base import SubjectCheck
from checkers.journals.load import JOURNALS
from checkers.questions.query import VIEW_DESCRIPTIONS
from checkers.registry import CLASSES, SUBJECTS
from harness.model.finding_class import FindingClass
from harness.report.words import WORDS
from harness.report.workload_words import WorkloadWords
from harness.run.steps.step_handlers import HANDLERS
from harness.run.workloads import WORKLOADS
from harness.spec.step import KIND
from tests.support.paths import ROOT
from workloads.base import RunningWorkload

pytestmark = pytest.mark.pure

NO_VIEWS = {"opened", "final", "txns"}
"""Journals whose views have another name: `sends`, `reads`, `transactions`."""


def values_of(package: ModuleType) -> Iterator[Any]:
    """What the modules of a package name, but for the programs under test, which are not part of a run's
    process."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if ".built_in" not in module.name:
            yield from vars(importlib.import_module(module.name)).values()


def test_every_workload_runs() -> None:
    classes = (value for value in values_of(workloads) if isinstance(value, type))
    running = {kind for kind in classes if issubclass(kind, RunningWorkload)}
    listed = {of.__self__ for of in WORKLOADS}  # type: ignore[attr-defined]
    assert running - {RunningWorkload} == listed


def test_the_words_of_every_workload_are_in_the_report() -> None:
    stated = {id(value) for value in values_of(workloads) if isinstance(value, WorkloadWords)}
    assert stated == {id(words) for words in WORDS}


def test_every_check_of_a_subject_is_made() -> None:
    stated = {id(value) for value in values_of(checkers) if isinstance(value, SubjectCheck)}
    assert stated <= {id(check) for check in SUBJECTS}


def test_every_class_of_findings_has_a_rule() -> None:
    assert {rule.finding for rule in CLASSES} == set(FindingClass)


def test_every_step_is_carried_out() -> None:
    assert set(HANDLERS) == set(KIND)


def test_every_journal_can_be_asked() -> None:
    journals = {*JOURNALS, *(name for subject in SUBJECTS for name in subject.journals)}
    assert journals - NO_VIEWS <= set(VIEW_DESCRIPTIONS)


def test_every_workload_stands_on_the_map() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    names = {path.parent.name for path in (ROOT / "workloads").glob("*/__init__.py")} - {"records"}
    assert [name for name in sorted(names) if f"| `{name}/` |" not in page] == []
