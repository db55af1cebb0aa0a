"""Journals of what an application has handled: what is taken, what is passed over, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.history import RUN
from workloads.applications.deliveries import DeliveryFiles, HandlerFailure
from workloads.applications.output_read import OutputRead, read_output_table
from workloads.applications.outputs.output_identity import OutputIdentity
from workloads.records.record.identity import PREFIX, ValueBuilder

pytestmark = pytest.mark.pure

VALUES = [ValueBuilder(RUN, 0, 60, seed=1)(seq) for seq in range(4)]
BEGIN = {"event": "begin", "time_ms": 1000, "client": "kafkajs 2.2.4"}
MARKER = {"key": "00000001", "value": "000000000000"}


def _handled(seq: int, *, ms: int = 2000, **more: Any) -> dict[str, Any]:
    value = VALUES[seq][:PREFIX].hex()
    return {"event": "handled", "time_ms": ms, "partition": 0, "offset": seq, "value": value, **more}


def _file(folder: Path, name: str, *events: dict[str, Any], end: str = "\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("\n".join(map(json.dumps, events)) + end)
    return path


def _read(folder: Path, files: DeliveryFiles) -> OutputRead:
    return read_output_table(
        [folder / "handled"], files.rows, "output", OutputIdentity("delivery"), RUN, folder
    )


def test_what_was_handled_is_an_output_of_its_record(tmp_path: Path) -> None:
    _file(tmp_path / "handled", "0-1.jsonl", BEGIN, _handled(0), _handled(1, ms=2005))
    _file(tmp_path / "handled", "0-2.jsonl", BEGIN, _handled(1, ms=3000), {"event": "end", "time_ms": 3001})

    read = _read(tmp_path, DeliveryFiles())

    assert read == OutputRead(3)
    rows = pq.read_table(tmp_path / "outputs").to_pylist()
    told = [(row["partition"], row["offset"], row["state"], row["seq"], row["timestamp_ms"]) for row in rows]
    assert told == [(0, 0, "ok", 0, 2000), (0, 1, "ok", 1, 2005), (1, 0, "ok", 1, 3000)]


def test_failures_of_the_handler_are_noted_with_their_file(tmp_path: Path) -> None:
    failed = {"event": "failed", "time_ms": 7, "partition": 1, "offset": 5, "error": "OutOfStock"}
    _file(tmp_path / "handled", "0-1.jsonl", BEGIN)
    _file(tmp_path / "handled", "0-2.jsonl", BEGIN, failed)
    files = DeliveryFiles()

    assert _read(tmp_path, files) == OutputRead(0)
    assert files.failures == [
        HandlerFailure(member=1, at_ns=7_000_000, partition=1, offset=5, error="OutOfStock")
    ]


@pytest.mark.parametrize("key", ["00000000", "00000001"], ids=["abort", "commit"])
def test_markers_are_counted_and_passed_over(tmp_path: Path, key: str) -> None:
    _file(tmp_path / "handled", "0-1.jsonl", _handled(0), _handled(1, **MARKER | {"key": key}))
    files = DeliveryFiles()

    assert _read(tmp_path, files) == OutputRead(1)
    assert files.markers == 1


@pytest.mark.parametrize(
    "changed",
    [{"key": "00000002"}, {"key": ""}, {"value": "0000000000"}, {"value": ""}],
    ids=["another type", "no key", "five bytes", "no value"],
)
def test_what_only_resembles_a_marker_names_no_record(tmp_path: Path, changed: dict[str, str]) -> None:
    _file(tmp_path / "handled", "0-1.jsonl", _handled(0, **MARKER | changed))
    files = DeliveryFiles()

    assert _read(tmp_path, files) == OutputRead(1)
    assert files.markers == 0
    assert pq.read_table(tmp_path / "outputs")["state"].to_pylist() != ["ok"]


def test_a_last_line_that_is_cut_off_was_that_of_a_killed_process(tmp_path: Path) -> None:
    _file(tmp_path / "handled", "0-1.jsonl", BEGIN, _handled(0), end='\n{"event": "hand')

    assert _read(tmp_path, DeliveryFiles()) == OutputRead(1)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"event": "hand\n', "Invalid JSON"),
        ('{"event": "eaten", "time_ms": 1}\n', "eaten"),
        ('{"event": "handled", "time_ms": 1, "offset": 3}\n', "Field required"),
        ('{"event": "handled", "time_ms": 1, "partition": 0, "offset": "3"}\n', "valid integer"),
        ('{"event": "handled", "time_ms": 1, "partition": 0, "offset": 3, "seq": 1}\n', "no such key"),
        ('{"event": "handled", "time_ms": -1, "partition": 0, "offset": 3}\n', "greater than or equal to 0"),
    ],
    ids=["half a line", "no such event", "a missing field", "a number as text", "another field", "a time"],
)
def test_a_line_that_cannot_be_used_makes_the_read_incomplete(tmp_path: Path, line: str, found: str) -> None:
    path = _file(tmp_path / "handled", "0-1.jsonl", BEGIN, _handled(0))
    path.write_text(path.read_text() + line + json.dumps(_handled(1)) + "\n")

    read = _read(tmp_path, DeliveryFiles())

    assert not read.complete
    assert "0-1.jsonl, line 3: a line of a journal of deliveries cannot be used: " in read.reasons[0]
    assert found in read.reasons[0]
