"""The page of a fault says what healing does not undo."""

from __future__ import annotations

import pytest

from harness.cli.listings.faults import page
from harness.spec.fault_index import fault_specs

pytestmark = pytest.mark.pure


def test_a_page_lists_what_its_fault_leaves() -> None:
    assert "## Leaves\n\nHealing does not undo:\n\n- the elected leader\n\n## Needs" in page("elect")
    assert "- the note of what was done to the node's files, in /mnt/shared/config\n" in page("power_loss")


def test_a_fault_that_leaves_nothing_has_no_such_section() -> None:
    assert "## Leaves" not in page("disk_full")
    assert {kind for kind, spec in fault_specs().items() if spec.leaves} == {
        "add_partitions", "command", "corrupt_segment", "delete_records", "elect", "finalize",
        "memory_limit", "power_loss", "reassign", "wipe_disk",
    }  # fmt: skip
