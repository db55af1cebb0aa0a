"""Run folders with small journals: sends and samples around a change of the leader, and findings."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from harness.model.journal import FINDINGS_DIR, SAMPLES, SAMPLES_DIR, SENDS, SENDS_DIR
from tests.support.builders.results import SECOND, START


def send(at: float, report: float | None, outcome: str = "acked", partition: int = 0) -> dict[str, object]:
    """A row of the journal of sends; times in seconds after the start."""
    return {
        "producer": 0,
        "seq": 0,
        "topic": "t",
        "partition": partition,
        "size": 100,
        "step": 0,
        "sent_ns": START + int(at * SECOND),
        "outcome": outcome,
        "closed_ns": None if report is None else START + int(report * SECOND),
    }


def sample(at: float, broker: int, leader: int, epoch: int, isr: list[int] | None) -> dict[str, object]:
    """What a broker answers about partition 0; without an ISR it does not answer."""
    row: dict[str, object] = {
        "at_ns": START + int(at * SECOND),
        "broker": broker,
        "answered": isr is not None,
    }
    if isr is None:
        return row
    return row | {"topic": "t", "partition": 0, "leader": leader, "leader_epoch": epoch, "isr": isr}


def save(folder: Path, number: int, rows: list[dict[str, object]], schema: pa.Schema) -> Path:
    """Write one file of a journal."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"part-{number:05d}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


def run_folder(folder: Path) -> Path:
    """Sends that wait from 2 s to 4 s, and a leader that changes at 3 s."""
    save(folder / SENDS_DIR, 0, [send(0.1, 0.2), send(0.3, 0.4), send(2.1, 4.0, "indeterminate")], SENDS)
    save(folder / SENDS_DIR, 1, [send(5.0, 5.1), send(5.0, None, "indeterminate")], SENDS)
    rows = [sample(n / 4, broker, 1, 0, [1, 2, 3]) for n in range(12) for broker in (1, 2)]
    rows += [sample(n / 4, 1, 0, 0, None) for n in range(12, 20)]
    rows += [sample(n / 4, 2, 2, 1, [2, 3]) for n in range(12, 20)]
    save(folder / SAMPLES_DIR, 0, rows, SAMPLES)
    return folder


def findings(folder: Path, *rows: tuple[str, float | None, float | None]) -> None:
    """Save findings as (class, sent, reported), times in seconds after the start."""
    target = folder / FINDINGS_DIR
    target.mkdir(parents=True)
    at = [[None if one is None else START + int(one * SECOND) for one in row[1:]] for row in rows]
    table = pa.table(
        {
            "finding": [row[0] for row in rows],
            "sent_ns": pa.array([sent for sent, _ in at], pa.int64()),
            "closed_ns": pa.array([closed for _, closed in at], pa.int64()),
        }
    )
    pq.write_table(table, target / "part-00000-of-spark.snappy.parquet")
