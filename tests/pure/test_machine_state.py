"""What is told of the machine on which a test failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.machine_state import reading, told

pytestmark = pytest.mark.pure


def kernel(folder: Path, *, idle: int, stolen: int, stalled: int | None = None) -> Path:
    (folder / "pressure").mkdir(parents=True)
    (folder / "stat").write_text(f"cpu  1000 0 0 {idle} 50 0 0 {stolen} 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    (folder / "loadavg").write_text("7.50 3.20 1.10 3/400 1234\n")
    (folder / "meminfo").write_text("MemTotal:       24000000 kB\nMemAvailable:    9000000 kB\n")
    if stalled is not None:
        (folder / "pressure" / "cpu").write_text(
            f"some avg10=1.00 avg60=2.00 avg300=3.00 total={stalled}\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
        )
    return folder


def test_time_that_the_host_took_is_told(tmp_path: Path) -> None:
    before = kernel(tmp_path / "before", idle=1000, stolen=0, stalled=1_000_000)
    after = kernel(tmp_path / "after", idle=1100, stolen=300, stalled=9_000_000)
    lines = told(reading(before), reading(after), 10.0, after).splitlines()
    assert (
        lines[0] == "processors: idle 25% · waited 0% · stolen 75% · somebody waited for one 80% of the time"
    )
    assert lines[1:] == ["load: 7.50 3.20 1.10 3/400 1234", "MemAvailable: 9000000 kB"]


def test_a_kernel_without_pressure_tells_the_rest(tmp_path: Path) -> None:
    before = kernel(tmp_path / "before", idle=1000, stolen=0)
    after = kernel(tmp_path / "after", idle=1100, stolen=0)
    assert told(reading(before), reading(after), 10.0, after).splitlines()[0] == (
        "processors: idle 100% · waited 0% · stolen 0%"
    )


def test_nothing_is_made_up_where_the_kernel_says_nothing(tmp_path: Path) -> None:
    assert reading(tmp_path) is None
    (tmp_path / "stat").write_text("cpu 1 2\n")
    assert reading(tmp_path) is None
    assert told(None, None, 1.0, tmp_path) == "nothing is known of the machine"
