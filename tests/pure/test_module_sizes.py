"""A module does one thing: none of a package has more than 300 lines (CONTRIBUTING.md, Style)."""

from __future__ import annotations

import pytest

from tests.support.module_sizes import lines_of_modules, long_modules
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure


def test_no_module_has_more_than_300_lines() -> None:
    assert len(lines_of_modules(ROOT)) > 300
    long = long_modules(ROOT)
    assert not long, "move a part that is a thing of its own to a module:\n" + "\n".join(long)
