"""A broker's checkpoint files: rows of what is whole, a clear word on what is not."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.journal import CHECKPOINTS
from workloads.records.log_format.checkpoints import EPOCH_FILE, OFFSET_FILES, epoch_rows, offset_rows

pytestmark = pytest.mark.pure

HIGH_WATERMARKS = OFFSET_FILES[0]


def test_offsets_of_one_topic() -> None:
    text = "0\n3\norders 0 17\norders-old 0 4\norders 2 9223372036854775807\n"
    rows = list(offset_rows(2, HIGH_WATERMARKS, text, "orders"))
    assert [(row["partition"], row["offset"]) for row in rows] == [(0, 17), (2, 2**63 - 1)]
    assert {row["broker"] for row in rows} == {2}
    assert {row["leader_epoch"] for row in rows} == {None}
    assert pa.Table.from_pylist(rows, schema=CHECKPOINTS).num_rows == 2


def test_leader_epochs() -> None:
    rows = list(epoch_rows(1, "orders", 3, "0\n2\n0 0\n4 1500\n"))
    assert [(row["leader_epoch"], row["offset"]) for row in rows] == [(0, 0), (4, 1500)]
    assert {(row["file"], row["partition"]) for row in rows} == {(EPOCH_FILE, 3)}
    assert pa.Table.from_pylist(rows, schema=CHECKPOINTS).num_rows == 2


@pytest.mark.parametrize("text", ["", "\n", "0\n0\n"])
def test_files_without_entries(text: str) -> None:
    assert list(offset_rows(1, HIGH_WATERMARKS, text, "t")) == []
    assert list(epoch_rows(1, "t", 0, text)) == []


@pytest.mark.parametrize(
    "text",
    ["1\n1\nt 0 5\n", "0\n2\nt 0 5\n", "0\n1\nt 0\n", "0\n1\nt 0 five\n", "0\n", "garbage"],
    ids=["version", "cut short", "field missing", "no number", "no count", "garbage"],
)
def test_what_is_not_whole_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="not a complete checkpoint"):
        list(offset_rows(1, HIGH_WATERMARKS, text, "t"))


@given(st.dictionaries(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), max_size=20))
def test_epochs_come_back_as_written(epochs: dict[int, int]) -> None:
    lines = "".join(f"{epoch} {offset}\n" for epoch, offset in epochs.items())
    rows = epoch_rows(1, "t", 0, f"0\n{len(epochs)}\n{lines}")
    assert {row["leader_epoch"]: row["offset"] for row in rows} == epochs
