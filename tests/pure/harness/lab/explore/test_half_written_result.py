"""A result of an exploration that was cut short is refused with one message, wherever it was cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.lab.explore.result import RESULT_FILE, load_result
from harness.model.errors import JournalError
from tests.support.builders.explorations import exploration_result

pytestmark = pytest.mark.pure


def test_a_result_cut_anywhere_is_one_message(tmp_path: Path) -> None:
    path, whole = tmp_path / RESULT_FILE, exploration_result().model_dump_json().encode()
    path.write_bytes(whole)
    assert load_result(tmp_path) == exploration_result()
    for length in range(0, len(whole), 50):
        path.write_bytes(whole[:length])
        with pytest.raises(JournalError) as refused:
            load_result(tmp_path)
        assert refused.value.where == str(path)
        assert refused.value.what == "the result of the exploration cannot be read"
        assert all((refused.value.expected, refused.value.found, refused.value.next_step))
