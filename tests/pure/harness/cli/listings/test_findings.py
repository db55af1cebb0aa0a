"""The list of classes: complete, and each with definition, source and example."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from checkers.classes.base import FindingRule
from checkers.registry import CLASSES
from harness.cli.app import app
from harness.model.finding_class import FindingClass

pytestmark = pytest.mark.pure


def test_every_class_has_one_check() -> None:
    assert sorted(check.finding for check in CLASSES) == sorted(FindingClass)


@pytest.mark.parametrize("check", CLASSES, ids=lambda check: check.finding.value)
def test_a_check_says_what_it_is(check: FindingRule) -> None:
    assert check.definition()
    assert check.source()
    assert check.example()


def test_as_json_and_as_a_table() -> None:
    told = CliRunner().invoke(app, ["findings", "--json"])
    rows = {row["class"]: row for row in json.loads(told.stdout)}
    assert set(rows) == {finding.value for finding in FindingClass}
    assert rows["lost"]["breaks_verdict"] == "yes"
    assert rows["redelivered"]["breaks_verdict"] == "no"
    assert rows["torn_transaction"]["definition"].startswith("Acknowledged in a committed transaction")
    shown = CliRunner().invoke(app, ["findings"])
    assert shown.exit_code == 0
    assert "nonmonotonic_read" in shown.stdout
