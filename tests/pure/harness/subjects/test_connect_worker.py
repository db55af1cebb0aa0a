"""A file that is fed once, whatever kills the feeder."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from harness.subjects.connect_worker import continue_at, fed_line

pytestmark = pytest.mark.pure

_LINES = (fed_line(0, 7, b"a\n"), fed_line(1, 3, b"\xff"), fed_line(0, 9, b""))


def test_a_line_holds_the_value() -> None:
    assert base64.b64decode(json.loads(_LINES[0])["value"]) == b"a\n"


def test_every_line_is_one_line() -> None:
    assert all(line.count(b"\n") == 1 for line in _LINES)


def test_a_new_file_is_fed_from_the_beginning(tmp_path: Path) -> None:
    assert continue_at(tmp_path / "lines") == {}


def test_it_goes_on_after_the_last_line_of_each_partition(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"".join(_LINES))
    assert continue_at(file) == {0: 10, 1: 4}


@pytest.mark.parametrize("kept", range(1, len(_LINES[2])))
def test_a_torn_last_line_is_cut_off_and_fed_again(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"".join(_LINES[:2]) + _LINES[2][:kept])
    assert continue_at(file) == {0: 8, 1: 4}
    assert file.read_bytes() == b"".join(_LINES[:2])
