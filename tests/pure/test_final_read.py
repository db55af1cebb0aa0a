"""What makes a final read complete, and what makes a loss worth looking for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.apparent import unread_partitions
from harness.final_read import differences, unexplained_gaps
from harness.model.journal import READS, READS_DIR, REPLICAS, REPLICAS_DIR, SENDS, SENDS_DIR
from harness.model.run import PartitionBounds
from workloads.digest import PartitionDigest

pytestmark = pytest.mark.pure

BOUNDS = (
    PartitionBounds(topic="t", partition=0, log_start_offset=0, end_offset=10, leader=1, leader_epoch=0),
)


def digest(**changes: object) -> PartitionDigest:
    whole: dict[str, object] = {
        "start": 0,
        "end": 10,
        "records": 10,
        "first": 0,
        "last": 9,
        "gaps": (),
        "gap_count": 0,
        "missing": 0,
        "content_hash": 42,
        "finished": True,
    }
    return PartitionDigest(**(whole | changes))  # type: ignore[arg-type]


def test_two_equal_passes_prove_a_read() -> None:
    assert differences(BOUNDS, {0: digest()}, {0: digest()}) == []


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ({0: digest()}, {0: digest(content_hash=43)}, "read differently twice"),
        ({0: digest()}, {0: digest(records=9)}, "10 and 9 records"),
        ({0: digest(finished=False)}, {0: digest(finished=False)}, "not read to its end 10"),
        ({0: digest()}, {}, "not read to its end 10"),
    ],
)
def test_what_proves_no_read(
    first: dict[int, PartitionDigest], second: dict[int, PartitionDigest], says: str
) -> None:
    (reason,) = differences(BOUNDS, first, second)
    assert says in reason


def replica(folder: Path, offsets: list[int], *, broker: int = 1, control: bool = True) -> None:
    (folder / REPLICAS_DIR).mkdir(exist_ok=True)
    rows = [
        {
            "broker": broker,
            "topic": "t",
            "partition": 0,
            "offset": offset,
            "leader_epoch": 0,
            "control": control,
            "state": "ok",
        }
        for offset in offsets
    ]
    pq.write_table(pa.Table.from_pylist(rows, REPLICAS), folder / REPLICAS_DIR / f"part-{broker}.parquet")


def test_gaps_are_explained_by_control_batches_of_the_leader(tmp_path: Path) -> None:
    replica(tmp_path, [3, 4, 7])
    holed = {0: digest(gaps=((3, 5), (7, 8)), gap_count=2, missing=3)}
    assert unexplained_gaps(BOUNDS, holed, tmp_path) == []
    wider = {0: digest(gaps=((3, 6), (7, 8)), gap_count=2, missing=4)}
    (reason,) = unexplained_gaps(BOUNDS, wider, tmp_path)
    assert "1 unexplained gap(s)" in reason
    assert "[3, 6)" in reason


@pytest.mark.parametrize("where", [{"broker": 2}, {"control": False}])
def test_records_or_other_brokers_explain_no_gap(tmp_path: Path, where: dict[str, object]) -> None:
    replica(tmp_path, [3], **where)  # type: ignore[arg-type]
    assert unexplained_gaps(BOUNDS, {0: digest(gaps=((3, 4),), gap_count=1, missing=1)}, tmp_path)


def test_more_gaps_than_are_listed_are_not_explained(tmp_path: Path) -> None:
    replica(tmp_path, [3])
    assert unexplained_gaps(BOUNDS, {0: digest(gaps=((3, 4),), gap_count=2, missing=2)}, tmp_path)


Sends = list[tuple[int, int, str]]


def write(folder: Path, sends: Sends, reads: list[tuple[int, int, str]]) -> None:
    """Sends as (producer, seq, outcome) to partition seq % 3; reads as (producer, seq, state)."""
    for name in (SENDS_DIR, READS_DIR):
        (folder / name).mkdir(exist_ok=True)
    rows = [
        {
            "producer": producer,
            "seq": seq,
            "topic": "t",
            "partition": seq % 3,
            "size": 100,
            "step": 0,
            "sent_ns": 1,
            "outcome": outcome,
        }
        for producer, seq, outcome in sends
    ]
    pq.write_table(pa.Table.from_pylist(rows, SENDS), folder / SENDS_DIR / "part-0.parquet")
    found = [
        {
            "reader": "final",
            "topic": "t",
            "partition": seq % 3,
            "offset": number,
            "state": state,
            "producer": producer,
            "seq": seq,
            "read_ns": 1,
        }
        for number, (producer, seq, state) in enumerate(reads)
    ]
    pq.write_table(pa.Table.from_pylist(found, READS), folder / READS_DIR / "part-0.parquet")


identities = st.tuples(st.integers(0, 2), st.integers(0, 20))


@given(
    sends=st.dictionaries(identities, st.sampled_from(["acked", "unconfirmed", "indeterminate"])),
    reads=st.lists(st.tuples(identities, st.sampled_from(["ok", "ok", "foreign", "corrupt"]))),
)
def test_exactly_the_partitions_of_acked_and_unread_sends(
    tmp_path_factory: pytest.TempPathFactory,
    sends: dict[tuple[int, int], str],
    reads: list[tuple[tuple[int, int], str]],
) -> None:
    folder = tmp_path_factory.mktemp("run")
    write(folder, [(*who, outcome) for who, outcome in sends.items()], [(*who, what) for who, what in reads])
    there = {who for who, state in reads if state == "ok"}
    expected = {who[1] % 3 for who, outcome in sends.items() if outcome == "acked" and who not in there}
    assert unread_partitions(folder) == frozenset(expected)


def test_nothing_read_at_all(tmp_path: Path) -> None:
    write(tmp_path, [(0, 5, "acked")], [])
    assert unread_partitions(tmp_path) == {2}
