"""The page on CI systems shows the files that `init --ci` writes, and the inputs of the action."""

from __future__ import annotations

import pytest
import yaml

from harness.cli.docgen import ci
from harness.cli.init import FOLDER, WRITTEN
from tests.support.ci_jobs import ACTION, SYSTEMS
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

TEXT = ci.PAGE.read_text()


def test_the_page_is_up_to_date() -> None:
    assert ci.CI_PAGES.drifted() == [], "make docs writes it anew"


def test_every_file_is_on_it_whole_and_once() -> None:
    for path in (ROOT / FOLDER).iterdir():
        assert TEXT.count(f"\n{path.read_text()}```\n") == 1, path.name
    for system, (_, target) in WRITTEN.items():
        assert f"`{target}`" in TEXT
        assert f"`{system}`" in TEXT
    assert len(SYSTEMS) == len(WRITTEN)


def test_every_input_is_on_it() -> None:
    for name, one in yaml.safe_load((ROOT / ACTION).read_text())["inputs"].items():
        assert f"| `{name}` | {one['description']} |" in TEXT


def test_a_part_that_was_changed_by_hand_is_put_right_and_the_rest_is_left() -> None:
    changed = TEXT.replace("timeout-minutes: 60", "timeout-minutes: 61").replace("# In a CI", "# In any CI")
    assert changed != TEXT
    assert ci.ci_page(changed) == TEXT.replace("# In a CI", "# In any CI")


def test_a_part_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KeyError, match="none"):
        ci.ci_page("<!-- none.yml:begin -->\n<!-- none.yml:end -->")
