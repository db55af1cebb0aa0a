"""Bytes that a disk may hand over: segments, checkpoints, journals. Damage is told, never met unprepared."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checkers.journals.footers import JournalFile
from harness.model.journal import SAMPLES_DIR, SENDS_DIR, UNREADABLE
from harness.report.run_page import write_report
from harness.report.timeline import read_timeline
from harness.run.replay import _injected_faults
from tests.support.builders.batches import batch, marker, old_message
from tests.support.builders.results import arm, meta, result
from tests.support.builders.run_folders import run_folder
from tests.support.fuzzing import fuzzed, spoilt_bytes, told
from workloads.records.log_format.checkpoints import OFFSET_FILES, epoch_rows, offset_rows
from workloads.records.log_format.segments import (
    hidden_offsets,
    kept_offsets,
    log_end_offset,
    parse_segment,
    replica_rows,
)

pytestmark = pytest.mark.pure

SEGMENTS = [
    batch(0, 10) + batch(10, 3, pid=7) + marker(13, pid=7, commit=False) + batch(14, 2),
    batch(0, 3) + bytes(64),
    old_message(0, b"value") + old_message(1, None, magic=0),
]
MOST_OFFSETS = 2**20


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that claim millions of offsets would take the most of the time."""
    monkeypatch.setattr("workloads.records.log_format.segments._MOST_OFFSETS", 2**12)


def segment(data: bytes) -> None:
    files = {"00000000000000000000.log": data}
    with told():
        batches = list(parse_segment(data))
        rows = replica_rows(1, "t", 0, files, 1)
        log_end_offset(files)
        assert len(batches) <= len(data)
        assert rows.num_rows <= len(data) + 1
    with told():
        hidden, kept = hidden_offsets(files), kept_offsets(files)
        assert all(len(one) <= MOST_OFFSETS for one in (hidden.control, hidden.aborted, kept))


@fuzzed(150)
@given(st.data())
def test_spoilt_segments(data: st.DataObject) -> None:
    segment(data.draw(spoilt_bytes(data.draw(st.sampled_from(SEGMENTS)))))


@fuzzed(50)
@given(st.binary(max_size=400))
@example(b"\0" * 200)
@example(b"\xff" * 200)
def test_any_bytes_as_a_segment(data: bytes) -> None:
    segment(data)


@pytest.mark.parametrize("control", [True, False])
@pytest.mark.parametrize("place", [23, 57])
def test_a_claim_of_billions_is_not_believed(control: bool, place: int) -> None:
    """The last offset delta (byte 23) and the count (byte 57) of a batch that fails its checksum."""
    data = bytearray(batch(0, 3, control=control))
    data[place : place + 4] = b"\x7f\xff\xff\xff"
    segment(bytes(data))


@fuzzed(100)
@given(st.data())
def test_spoilt_checkpoints(data: st.DataObject) -> None:
    epochs, offsets = b"0\n2\n0 0\n4 1500\n", b"0\n2\norders 0 17\norders 1 4\n"
    text = data.draw(spoilt_bytes(epochs) | st.binary(max_size=60)).decode(errors="replace")
    other = data.draw(spoilt_bytes(offsets) | st.binary(max_size=60)).decode(errors="replace")
    for rows in (epoch_rows(1, "t", 0, text), offset_rows(1, OFFSET_FILES[0], other, "orders")):
        try:
            found = list(rows)
        except ValueError as error:
            # A word of ours, not of int().
            if "checkpoint" not in str(error):
                raise
            continue
        assert all(isinstance(row["offset"], int) for row in found)


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = run_folder(tmp_path_factory.mktemp("run"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def cut_off(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


def without_magic(whole: bytes) -> bytes:
    return whole[:-4] + b"PAR?"


def of_other_columns(_whole: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"unknown": [1, 2, 3]}), sink)
    return bytes(sink.getvalue())


DAMAGE = (bytes, cut_off, without_magic, of_other_columns, lambda _: b"", lambda _: b"not Parquet at all")
"""What may have become of a Parquet file. pyarrow is given no random bytes: it is not ours to search."""


@fuzzed(40)
@given(st.data())
def test_spoilt_journals_in_reports(journals: dict[str, bytes], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "acks=1"
        for relative, whole in journals.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".parquet":
                path.write_bytes(data.draw(st.sampled_from(DAMAGE))(whole))
            else:
                path.write_bytes(data.draw(st.just(whole) | spoilt_bytes(whole)))
        read_timeline(folder, meta())
        write_report(result(arm("acks=1")), Path(name))
        with told():
            _injected_faults(folder)


@pytest.mark.parametrize(
    ("damage", "refused"),
    [(bytes, False), (of_other_columns, False), (cut_off, True), (without_magic, True)],
)
def test_spoilt_footers(damage: Callable[[bytes], bytes], refused: bool, tmp_path: Path) -> None:
    path = tmp_path / "part-00000.parquet"
    pq.write_table(pa.table({"topic": ["one", "other"] * 25, "seq": np.arange(50)}), path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UNREADABLE) if refused else nullcontext():
        JournalFile.open(path)


class Footer:
    """Of a footer the number of row groups; whoever asks for the statistics of one has to ask for it."""

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.num_row_groups = whole.num_row_groups

    def row_group(self, _number: int) -> None:
        raise AssertionError("the statistics of a row group are asked for")


class Opened:
    """A Parquet file that hands out such a footer, and takes it back."""

    def __init__(self, path: Any, metadata: Footer | None = None, **options: Any) -> None:
        given = {} if metadata is None else {"metadata": metadata.whole}
        self._file = pq.ParquetFile(path, **given, **options)
        self.metadata, self.schema_arrow = Footer(self._file.metadata), self._file.schema_arrow
        self.read_row_group = self._file.read_row_group

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def test_statistics_of_a_footer_are_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "part-00000.parquet"
    pq.write_table(pa.table({"topic": ["one", "other"] * 25, "seq": np.arange(50)}), path)
    monkeypatch.setattr("checkers.journals.footers.open_parquet", Opened)
    assert JournalFile.open(path).values == {"topic": {"one", "other"}}


def test_the_folders_are_those_of_a_run(journals: dict[str, bytes]) -> None:
    assert {Path(name).parts[0] for name in journals} >= {SENDS_DIR, SAMPLES_DIR}
