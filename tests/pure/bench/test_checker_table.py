"""The benchmark's arithmetic, its histories and what it reads from /proc, without Spark."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.model.run import RunMeta
from tests.bench.checker.histories import PRODUCERS, READ_GROUP_ROWS, SHAPES, UNIT
from tests.bench.checker.measure import Answer, Measurement
from tests.bench.checker.peers import pandas
from tests.bench.checker.processes import use_of
from tests.bench.checker.table import exponent, lines

pytestmark = pytest.mark.pure


def measurement(rows: int, seconds: tuple[float, ...], shape: str = "clean") -> Measurement:
    return Measurement("tool", shape, rows // 2, rows, Answer(1.0, seconds, seconds, {}, 100.0))


def test_growth_is_the_slope_on_logarithmic_axes() -> None:
    assert exponent([(10, 1.0), (100, 10.0), (1000, 100.0)]) == pytest.approx(1.0)
    assert exponent([(10, 1.0), (100, 100.0)]) == pytest.approx(2.0)


def test_the_cold_pass_is_no_part_of_the_median_and_heavy_is_told_a_row() -> None:
    told = lines(
        [
            measurement(100, (50.0, 2.0, 1.0, 3.0)),
            measurement(1000, (9.0, 20.0)),
            measurement(500, (9.0, 20.0), "half lost"),
        ]
    )
    assert told[1].split()[5:8] == ["50.00", "2.00", "1.00-3.00"]
    assert "growth of tool over clean histories: rows^1.00" in told
    assert "tool, half lost: 2.00 times the seconds per row of the clean history" in told


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_history_holds_what_it_says(shape: str, tmp_path: Path) -> None:
    wrote = SHAPES[shape](tmp_path, 50_000)
    sends = pq.read_table(tmp_path / "sends", columns=["producer", "seq", "offset", "partition"]).to_pylist()
    reads = pq.read_table(tmp_path / "reads", columns=["partition", "offset"]).to_pylist()
    assert (len(sends), len(reads)) == (wrote.sends, wrote.reads)
    assert wrote.sends % UNIT == 0
    assert {(row["producer"], row["seq"]) for row in sends} == {
        (producer, seq) for producer in range(PRODUCERS) for seq in range(wrote.sends // PRODUCERS)
    }
    # No log holds two records at one offset, whatever was lost or repeated.
    assert max(Counter((row["partition"], row["offset"]) for row in reads).values()) == 1
    final = RunMeta.load(tmp_path).final_read
    assert final is not None
    assert final.records == wrote.reads
    assert max(row["offset"] for row in reads) < final.bounds[0].end_offset
    assert pandas(tmp_path, 4711, 1) == wrote.findings
    assert sum(wrote.findings.values()) > 0


def test_reads_lie_in_the_order_of_their_offsets_in_narrow_row_groups(tmp_path: Path) -> None:
    SHAPES["ten times"](tmp_path, 50_000)
    for path in sorted((tmp_path / "reads").iterdir()):
        file = pq.ParquetFile(path)
        offsets = file.read(columns=["offset"]).column("offset").to_pylist()
        assert offsets == sorted(offsets)
        for number in range(file.metadata.num_row_groups):
            assert file.metadata.row_group(number).num_rows <= READ_GROUP_ROWS


def test_memory_and_time_of_this_very_process() -> None:
    before = use_of(os.getpid())
    held = bytearray(64 * 2**20)
    held[::4096] = b"x" * len(held[::4096])
    sum(number * number for number in range(1_000_000))
    after = use_of(os.getpid())
    assert after.mib > before.mib + 50
    assert after.cpu_seconds > before.cpu_seconds
    assert use_of(2**22 + 1).mib == 0
