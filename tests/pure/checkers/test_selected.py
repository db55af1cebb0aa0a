"""Records that are not clean are kept in memory as long as there is room, else in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from checkers.facts.block import READ_COLUMNS, SEND_COLUMNS, AnomalousRecords
from checkers.facts.columns import ColumnBatch
from checkers.facts.selected import KeptRecords, SelectedRecords

pytestmark = pytest.mark.pure


def records(count: int, error: str) -> SelectedRecords:
    rows, numbers = ColumnBatch.empty(READ_COLUMNS), np.empty(0, np.int64)
    sends = ColumnBatch({name: np.arange(count) for name in SEND_COLUMNS})
    return SelectedRecords(
        AnomalousRecords(
            *(count, sends, np.arange(count), rows, numbers, rows, numbers, rows, numbers),
            np.zeros(count, bool),
        ),
        (error,),
    )


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_first_that_fit_are_in_memory_and_the_others_in_files(tmp_path: Path) -> None:
    one = records(10, "a")
    assert one.size == 10 * 8 * (len(SEND_COLUMNS) + 1) + 10
    kept = KeptRecords(room=2 * one.size)
    for number in range(4):
        records(10, str(number)).save(str(tmp_path), number, kept)
    assert files(tmp_path) == ["selected-000002", "selected-000003"]
    for number in range(4):
        found = SelectedRecords.load(str(tmp_path), number, kept)
        assert found.errors == (str(number),)
        assert found.records.sends["seq"].tolist() == list(range(10))
    # What was taken makes room.
    records(20, "later").save(str(tmp_path), 4, kept)
    assert len(files(tmp_path)) == 2


def test_a_block_that_is_selected_again_replaces_the_first(tmp_path: Path) -> None:
    kept = KeptRecords(room=records(10, "").size)
    for count, error in ((10, "first"), (9, "again"), (11, "too large")):
        records(count, error).save(str(tmp_path), 0, kept)
        assert bool(files(tmp_path)) == (count == 11)
        if count != 10:
            assert SelectedRecords.load(str(tmp_path), 0, kept).errors == (error,)
            records(9, "between").save(str(tmp_path), 0, kept)
