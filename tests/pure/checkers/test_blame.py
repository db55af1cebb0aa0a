"""What a finding is blamed on, in words."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.judgement.summary import BlameGroup, sentence
from harness.model.run import StepInfo
from tests.support.history import run_meta, window

pytestmark = pytest.mark.pure

NOTHING: dict[str, Any] = {
    "finding": "lost",
    "step": None,
    "partition": None,
    "ended": "",
    "during": "",
    "later": "",
    "place": None,
    "acked_by": None,
    "acked_epoch": None,
    "replaced_epoch": None,
    "reader": None,
}
SEVERAL = [
    ({"finding": "circular_information_flow"}, "1 circular_information_flow"),
    ({"partition": 2}, "1 lost: in partition 2"),
    (
        {"partition": -1, "step": 1},
        "1 lost: sent in after to a partition that the client did not name",
    ),
    ({"partition": -1}, "1 lost: in a partition that the client did not name"),
    ({"partition": 0, "step": 1}, "1 lost: sent in after to partition 0"),
    ({"partition": 0, "step": 0}, "1 lost: sent in before to partition 0"),
    ({"partition": 0, "step": 7}, "1 lost: sent in step 7 to partition 0"),
    ({"finding": "skipped", "reader": "group-0"}, "1 skipped: by group-0"),
    ({"partition": 1, "during": "kill-1"}, "1 lost: in partition 1, during kill-1"),
    (
        {"partition": 1, "during": "kill-1", "acked_by": 2, "acked_epoch": 3},
        "1 lost: in partition 1, acknowledged by broker 2 in epoch 3 during kill-1",
    ),
    (
        {"partition": 1, "during": "kill-1", "later": "cut-1 + pause-1", "acked_by": 2, "acked_epoch": 3},
        "1 lost: in partition 1, acknowledged by broker 2 in epoch 3 during kill-1, "
        "gone after cut-1 + pause-1",
    ),
    (
        {"partition": 1, "ended": "kill-1", "during": "cut-1", "acked_by": 2, "acked_epoch": 3},
        "1 lost: in partition 1, acknowledged by broker 2 in epoch 3 after kill-1 and during cut-1",
    ),
    (
        {"partition": 1, "ended": "kill-1", "acked_by": 2, "acked_epoch": 3, "place": "tail"},
        "1 lost: in partition 1, acknowledged by broker 2 in epoch 3 after kill-1, the log ends before",
    ),
    (
        {"partition": 1, "acked_by": 2, "acked_epoch": 3, "later": "kill-1", "place": "overwritten"},
        "1 lost: in partition 1, acknowledged by broker 2 in epoch 3, overwritten, gone after kill-1",
    ),
    ({"partition": 1, "later": "kill-1"}, "1 lost: in partition 1, gone after kill-1"),
    (
        {"partition": 1, "acked_by": 2, "during": "pause-1"},
        "1 lost: in partition 1, acknowledged by broker 2 during pause-1",
    ),
    (
        {"partition": 1, "place": "not committed", "later": "kill-1"},
        "1 lost: in partition 1, not committed, missing after kill-1",
    ),
    (
        {"finding": "vanished", "partition": 1, "during": "cut-1", "later": "kill-1"},
        "1 vanished: in partition 1, during cut-1, gone after kill-1",
    ),
    (
        {"partition": 1, "acked_by": 0, "acked_epoch": 0, "place": "overwritten", "replaced_epoch": 0},
        "1 lost: in partition 1, acknowledged by broker 0 in epoch 0, overwritten in epoch 0",
    ),
    ({"partition": 1, "place": "overwritten"}, "1 lost: in partition 1, overwritten"),
    (
        {"partition": 1, "place": "overwritten", "same_offset": "false"},
        "1 lost: in partition 1, overwritten, at offsets that more success reports name than can be true",
    ),
    (
        {"partition": 1, "place": "overwritten", "same_offset": "doubtful"},
        "1 lost: in partition 1, overwritten, at offsets that several success reports name",
    ),
    ({"partition": 1, "place": "tail"}, "1 lost: in partition 1, the log ends before"),
    ({"partition": 1, "place": "unknown"}, "1 lost: in partition 1, not in the log"),
    ({"partition": 1, "place": "not committed"}, "1 lost: in partition 1, not committed"),
]


@pytest.mark.parametrize(("cells", "words"), SEVERAL)
def test_in_words(cells: dict[str, Any], words: str) -> None:
    steps = tuple(
        StepInfo(index=index, name=name, kind="write", started_ns=0)
        for index, name in enumerate(["before", "after"])
    )
    cell = BlameGroup(**NOTHING)._replace(**cells)
    assert sentence(cell, 1, run_meta(steps=steps)) == words
    assert sentence(cell, 12_345, run_meta(steps=steps)) == f"12,345{words[1:]}"


def test_programs_of_the_users_own_send_between_write_steps_as_well() -> None:
    steps = (StepInfo(index=0, name="quiet", kind="write", started_ns=0),)
    cell = BlameGroup(**NOTHING)._replace(partition=0, step=0)
    meta = run_meta(steps=steps, client="own")
    assert sentence(cell, 1, meta) == "1 lost: sent in or around quiet to partition 0"


OF_OUTPUTS = [
    ({"finding": "unprocessed"}, "no fault was in force: the application passed over it"),
    ({"finding": "unprocessed", "place": "expired"}, "expired, no fault was in force"),
    ({"finding": "unprocessed", "during": "kill-1"}, "during kill-1"),
    ({"finding": "reprocessed"}, "no fault was in force between its first output and its last one"),
    ({"finding": "reprocessed", "during": "kill-1"}, "during kill-1"),
    ({"finding": "duplicate_id"}, "no fault was in force between its first send and its last report"),
    ({"finding": "premature", "place": "aborted"}, "aborted"),
    ({"finding": "duplicate", "partition": 0}, "in partition 0"),
]


@pytest.mark.parametrize(("cells", "words"), OF_OUTPUTS)
def test_no_fault_is_said_of_what_was_passed_over_and_repeated(cells: dict[str, Any], words: str) -> None:
    cell = BlameGroup(**NOTHING)._replace(**cells)
    meta = run_meta(windows=(window("kill-1", 1, 2),))
    assert sentence(cell, 2, meta) == f"2 {cell.finding}: {words}"
    assert "no fault" not in sentence(cell, 2, run_meta())
