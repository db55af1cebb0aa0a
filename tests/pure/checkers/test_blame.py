"""What a finding is blamed on, in words."""

from __future__ import annotations

import pytest
from pyspark.sql import Row

from checkers.judgement.blame import sentence
from harness.model.run import StepInfo
from tests.support.history import run_meta

pytestmark = pytest.mark.pure

NOTHING = {
    "finding": "lost",
    "step": None,
    "partition": None,
    "ended": "",
    "windows": None,
    "later": "",
    "place": None,
    "acked_by": None,
    "acked_epoch": None,
    "replaced_epoch": None,
    "reader_concerned": None,
    "rows": 1,
}
SEVERAL = [
    ({"partition": 2}, "1 lost: in partition 2"),
    ({"partition": 0, "step": 1}, "1 lost: sent in after to partition 0"),
    ({"partition": 0, "step": 0}, "1 lost: sent in before to partition 0"),
    ({"partition": 0, "step": 7}, "1 lost: sent in step 7 to partition 0"),
    ({"rows": 12_345, "finding": "skipped", "reader_concerned": "group-0"}, "12,345 skipped: by group-0"),
    ({"partition": 1, "windows": "kill-1"}, "1 lost: in partition 1, during kill-1"),
    (
        {"partition": 1, "windows": "kill-1", "acked_by": 2, "acked_epoch": 3},
        "1 lost: in partition 1, acknowledged by broker 2 in epoch 3 during kill-1",
    ),
    (
        {"partition": 1, "windows": "kill-1", "later": "cut-1 + pause-1", "acked_by": 2, "acked_epoch": 3},
        "1 lost: in partition 1, acknowledged by broker 2 in epoch 3 during kill-1, "
        "gone after cut-1 + pause-1",
    ),
    (
        {"partition": 1, "ended": "kill-1", "windows": "cut-1", "acked_by": 2, "acked_epoch": 3},
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
        {"partition": 1, "place": "not committed", "later": "kill-1"},
        "1 lost: in partition 1, not committed, missing after kill-1",
    ),
    (
        {"finding": "vanished", "partition": 1, "windows": "cut-1", "later": "kill-1"},
        "1 vanished: in partition 1, during cut-1, gone after kill-1",
    ),
    (
        {"partition": 1, "acked_by": 0, "acked_epoch": 0, "place": "overwritten", "replaced_epoch": 0},
        "1 lost: in partition 1, acknowledged by broker 0 in epoch 0, overwritten in epoch 0",
    ),
    ({"partition": 1, "place": "overwritten"}, "1 lost: in partition 1, overwritten"),
    ({"partition": 1, "place": "tail"}, "1 lost: in partition 1, the log ends before"),
    ({"partition": 1, "place": "unknown"}, "1 lost: in partition 1, not in the log"),
    ({"partition": 1, "place": "not committed"}, "1 lost: in partition 1, not committed"),
]


@pytest.mark.parametrize(("cells", "words"), SEVERAL)
def test_in_words(cells: dict[str, object], words: str) -> None:
    steps = tuple(
        StepInfo(index=index, name=name, kind="write", started_ns=0)
        for index, name in enumerate(["before", "after"])
    )
    assert sentence(Row(**{**NOTHING, **cells}), run_meta(steps=steps)) == words
