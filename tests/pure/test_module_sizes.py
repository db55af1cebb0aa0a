"""A module does one thing: none of a package has more than 300 lines (CONTRIBUTING.md, Style)."""

from __future__ import annotations

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

PACKAGES = ("kafka_chaos", "harness", "faults", "workloads", "checkers", "compose")
MOST_LINES = 300


def test_no_module_has_more_than_300_lines() -> None:
    lines = {
        path.relative_to(ROOT): path.read_text(encoding="utf-8").count("\n")
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    assert len(lines) > 300
    long = [f"{path} has {count} lines" for path, count in sorted(lines.items()) if count > MOST_LINES]
    assert not long, "move a part that is a thing of its own to a module:\n" + "\n".join(long)
