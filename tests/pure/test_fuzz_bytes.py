"""Bytes that a disk may hand over: segments, checkpoints, journals. Damage is told, never met unprepared."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.model.journal import SAMPLES_DIR, SENDS_DIR, UNREADABLE
from harness.report.page import write_report
from harness.report.timeline import read_timeline
from harness.run.replay import _injected_faults
from tests.pure.harness.report.test_html import arm, meta, result, run_folder
from tests.support.builders.batches import batch, marker, old_message
from tests.support.fuzzing import fuzzed, spoilt_bytes, told
from workloads.log_format.checkpoints import OFFSET_FILES, epoch_rows, offset_rows
from workloads.log_format.segments import (
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
    monkeypatch.setattr("workloads.log_format.segments._MOST_OFFSETS", 2**12)


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


@fuzzed(40)
@given(st.data())
def test_spoilt_journals_in_reports(journals: dict[str, bytes], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "acks=1"
        for relative, whole in journals.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.draw(st.just(whole) | spoilt_bytes(whole)))
        read_timeline(folder, meta())
        write_report(result(arm("acks=1")), Path(name))
        with told():
            _injected_faults(folder)


@fuzzed(40)
@given(st.data())
def test_spoilt_footers(data: st.DataObject) -> None:
    from checkers.journals.footers import JournalFile

    table = pa.table({"topic": ["one", "other"] * 25, "seq": np.arange(50)})
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "part-00000.parquet")
        pq.write_table(table, path)
        path.write_bytes(data.draw(spoilt_bytes(path.read_bytes())))
        try:
            JournalFile.open(path)
        except UNREADABLE:
            return


FLIPS = """
import sys
from pathlib import Path
from checkers.journals.footers import JournalFile
from harness.model.journal import UNREADABLE
path = Path(sys.argv[1])
whole = path.read_bytes()
begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
refused = 0
for place in range(begin, len(whole) - 8):
    for bit in range(8):
        spoilt = bytearray(whole)
        spoilt[place] ^= 1 << bit
        path.write_bytes(spoilt)
        try:
            JournalFile.open(path)
        except UNREADABLE:
            refused += 1
print(refused)
"""


def test_no_flipped_bit_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    # As pyarrow does when a damaged footer is asked for the bounds of a column: in a process of its own.
    path = tmp_path / "part-00000.parquet"
    pq.write_table(pa.table({"topic": ["one", "other"] * 25, "seq": np.arange(50)}), path)
    done = subprocess.run(
        [sys.executable, "-c", FLIPS, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


def test_the_folders_are_those_of_a_run(journals: dict[str, bytes]) -> None:
    assert {Path(name).parts[0] for name in journals} >= {SENDS_DIR, SAMPLES_DIR}
