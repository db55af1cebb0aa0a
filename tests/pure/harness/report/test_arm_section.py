"""The section about an arm says what was promised, or what is expected where nothing was."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.report.arm_section import arm_section
from harness.report.page.blocks import Text
from tests.support.builders.results import arm

pytestmark = pytest.mark.pure

DEFAULT = "no lost, phantom, corrupt or misplaced record"


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        ({}, f"No promise was written. Expected by default: {DEFAULT}"),
        ({"lost": "any"}, f"Promise: `lost: any`; the default for everything else ({DEFAULT}"),
    ],
)
def test_what_an_arm_is_held_to(promise: dict[str, str], words: str, tmp_path: Path) -> None:
    one = arm()
    changed = one.model_copy(update={"meta": one.meta.model_copy(update={"promise": promise})})
    first = arm_section(changed, tmp_path, 1).blocks[0]
    assert isinstance(first, Text)
    assert str(first.text).startswith(words)
