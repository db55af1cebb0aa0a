"""The doctor warns when another distribution provides a package that kafka-chaos installs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.run.preflight import doctor

pytestmark = pytest.mark.pure


def row() -> doctor.Prerequisite:
    return next(one for one in doctor.on_this_machine() if one.name == "package names")


def test_an_environment_of_its_own_is_in_order() -> None:
    assert doctor.package_conflicts() == []
    assert (row().state, row().remedy) == ("ok", "")


def test_another_distribution_with_the_same_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "test_harness-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: test-harness\nVersion: 1.0\n")
    (info / "RECORD").write_text("harness/__init__.py,,\nother/__init__.py,,\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert doctor.package_conflicts() == ["`harness` is also installed by test-harness"]
    found = row()
    assert (found.state, found.required) == ("limited", False)
    assert "test-harness" in found.found
    assert "virtual environment" in found.remedy
    assert doctor.exit_code((found,)) == 0


def test_a_package_that_is_imported_from_elsewhere_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "compose").mkdir()
    (tmp_path / "compose" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "compose", raising=False)
    assert doctor.package_conflicts() == [f"`compose` is imported from {tmp_path / 'compose'}"]
