"""When a final read is complete, and when the replicas' files are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.client_security import PLAIN_TEXT
from harness.model.errors import ClusterError
from harness.model.journal import READS, READS_DIR, SENDS, SENDS_DIR
from harness.model.run import FinalRead, PartitionBounds
from harness.run.reads import final_read
from harness.run.reads.final_read import FinalReadTarget, differences, held_back, merge_reads
from harness.run.reads.missing_records import gap_reasons, unexplained_gaps, unread_partitions
from tests.support.builders.batches import batch, marker, old_message
from workloads.records.log_format.segments import kept_offsets
from workloads.records.reader.digest import DigestBuilder, PartitionDigest
from workloads.records.record.identity import decode

pytestmark = pytest.mark.pure

BOUNDS = (
    PartitionBounds(topic="t", partition=0, log_start_offset=0, end_offset=10, leader=1, leader_epoch=0),
)


def digest(**changes: object) -> PartitionDigest:
    whole: dict[str, object] = {
        "start": 0,
        "end": 10,
        "records": 10,
        "gaps": (),
        "gap_count": 0,
        "content_hash": 42,
    }
    return PartitionDigest(**(whole | changes))  # type: ignore[arg-type]


def test_two_equal_passes_prove_a_read() -> None:
    assert differences(BOUNDS, {0: digest()}, {0: digest()}) == []


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ({0: digest()}, {0: digest(content_hash=43)}, "read differently twice"),
        ({0: digest()}, {0: digest(records=9)}, "10 and 9 records"),
        ({0: digest(problem="cut")}, {0: digest(problem="cut")}, "not read to its end 10"),
        ({0: digest()}, {}, "not read to its end 10"),
    ],
)
def test_what_proves_no_read(
    first: dict[int, PartitionDigest], second: dict[int, PartitionDigest], says: str
) -> None:
    (reason,) = differences(BOUNDS, first, second)
    assert says in reason


def test_gaps_are_explained_by_what_no_reader_is_given() -> None:
    control = {0: np.array([3, 4, 7])}
    holed = {0: digest(gaps=((3, 5), (7, 8)), gap_count=2)}
    assert unexplained_gaps(BOUNDS, holed, control) == []
    wider = {0: digest(gaps=((3, 6), (7, 8)), gap_count=2)}
    (reason,) = unexplained_gaps(BOUNDS, wider, control)
    assert "1 unexplained gap(s)" in reason
    assert "[3, 6)" in reason
    (reason,) = unexplained_gaps(BOUNDS, holed, {1: control[0]})
    assert "2 unexplained gap(s)" in reason


def test_more_gaps_than_are_listed_are_not_explained() -> None:
    more = {0: digest(gaps=((3, 4),), gap_count=2)}
    assert unexplained_gaps(BOUNDS, more, {0: np.array([3])})


class Leader:
    """A cluster of which only the leader's files can be read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def log_files(self, number: int, topic: str, partition: int) -> dict[str, bytes]:
        if (number, topic, partition) != (1, "t", 0):
            raise ClusterError("these files are not to be read")
        return {"00000000000000000000.log": self._data, "00000000000000000000.index": b"x"}


TRANSACTIONS = b"".join(
    [
        batch(0, 2, pid=7),
        marker(2, pid=7, commit=True),
        batch(3, 2, pid=7),
        batch(5, 2, pid=8),
        marker(7, pid=7, commit=False),
        marker(8, pid=8, commit=True),
        batch(9, 1),
    ]
)
PLAIN = {0: digest(records=7, gaps=((2, 3), (7, 9)), gap_count=2)}
COMMITTED = {0: digest(records=5, gaps=((2, 5), (7, 9)), gap_count=2)}


def test_read_committed_may_hide_what_an_abort_marker_ended() -> None:
    cluster: Any = Leader(TRANSACTIONS)
    assert gap_reasons(cluster, BOUNDS, PLAIN, None) == []
    assert gap_reasons(cluster, BOUNDS, PLAIN, COMMITTED) == []
    (reason,) = gap_reasons(cluster, BOUNDS, COMMITTED, None)
    assert "[2, 5)" in reason, "to read_uncommitted readers nothing is hidden"
    wider = {0: digest(records=4, gaps=((2, 6), (7, 9)), gap_count=2)}
    (reason,) = gap_reasons(cluster, BOUNDS, PLAIN, wider)
    assert reason == "read_committed: partition 0: 1 unexplained gap(s) in the offsets, the first [2, 6)"


def test_compaction_explains_what_is_not_in_the_files_either() -> None:
    held = b"".join(old_message(offset, b"v") for offset in (0, 1, 5, 9))
    cluster: Any = Leader(held)
    read = {0: digest(records=4, gaps=((2, 5), (6, 9)), gap_count=2)}
    assert gap_reasons(cluster, BOUNDS, read, None, compacted=True) == []
    assert "2 unexplained gap(s)" in gap_reasons(cluster, BOUNDS, read, None)[0]
    missed = {0: digest(records=3, gaps=((2, 9),), gap_count=1)}
    (reason,) = gap_reasons(cluster, BOUNDS, missed, None, compacted=True)
    assert "[2, 9)" in reason, "offset 5 is in the leader's files"


def test_what_a_broken_batch_claims_is_not_gone_by_compaction() -> None:
    data = bytearray(old_message(0, b"v") + old_message(3, b"v"))
    data[-1] ^= 1
    assert list(kept_offsets({"00000000000000000000.log": bytes(data)})) == [0, 3]


def test_files_that_cannot_be_read_explain_nothing() -> None:
    elsewhere = (BOUNDS[0].model_copy(update={"leader": 2}),)
    reasons = gap_reasons(cast(Any, Leader(TRANSACTIONS)), elsewhere, PLAIN, None)
    assert "on its leader 2 cannot be read" in reasons[0]
    assert "2 unexplained gap(s)" in reasons[1]
    assert gap_reasons(cast(Any, Leader(b"")), elsewhere, {0: digest()}, None) == [], "no gaps, no question"


def test_thousands_of_transactions_are_accounted_for() -> None:
    """Ten offsets a transaction, the last its marker; every third is aborted."""
    count = 20_000
    data = b"".join(
        batch(10 * n, 9, pid=7) + marker(10 * n + 9, pid=7, commit=bool(n % 3)) for n in range(count)
    )
    bounds = (BOUNDS[0].model_copy(update={"end_offset": 10 * count}),)

    def reading(*, committed: bool) -> PartitionDigest:
        builder = DigestBuilder(0, 10 * count)
        offset = np.arange(10 * count, dtype=np.int64)
        given_out = (offset % 10 < 9) & ((offset // 10 % 3 > 0) | (not committed))
        builder.add(offset[given_out], decode([None] * int(given_out.sum()), 1))
        return builder.done()

    plain, hidden = {0: reading(committed=False)}, {0: reading(committed=True)}
    assert plain[0].gap_count == count
    cluster: Any = Leader(data)
    assert gap_reasons(cluster, bounds, plain, hidden) == []
    (reason,) = gap_reasons(cluster, bounds, hidden, None)
    assert f"{(count + 2) // 3} unexplained gap(s)" in reason


def test_the_reads_of_two_topics_are_complete_together_or_not_at_all() -> None:
    one = FinalRead(complete=True, bounds=BOUNDS, records=7, committed_records=5, finished_ns=1)
    other = FinalRead(
        complete=False,
        reasons=("why",),
        records=2,
        committed_records=1,
        finished_ns=9,
        replicas_inspected=(2, 3),
    )
    both = merge_reads([one, other])
    assert (both.complete, both.reasons, both.bounds) == (False, ("why",), BOUNDS)
    assert (both.records, both.committed_records, both.finished_ns) == (9, 6, 9)
    assert both.replicas_inspected == (2, 3)
    plain = FinalRead(complete=True, records=3, settled_seconds=0.5)
    assert merge_reads([plain]) == plain


Sends = list[tuple[int, int, str]]


def write(
    folder: Path,
    sends: Sends,
    reads: list[tuple[int, int, str]],
    partitions: Mapping[int, int] | None = None,
) -> None:
    """Sends as (producer, seq, outcome) to partition seq % 3, or that of `partitions` by seq; reads as
    (producer, seq, state)."""
    for name in (SENDS_DIR, READS_DIR):
        (folder / name).mkdir(exist_ok=True)
    rows = [
        {
            "producer": producer,
            "seq": seq,
            "topic": "t",
            "partition": (partitions or {}).get(seq, seq % 3),
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
    assert unread_partitions(folder, "t", range(3)) == frozenset(expected)


def test_nothing_read_at_all(tmp_path: Path) -> None:
    write(tmp_path, [(0, 5, "acked")], [])
    assert unread_partitions(tmp_path, "t", range(3)) == {2}
    assert unread_partitions(tmp_path, "another", range(3)) == set()


@pytest.mark.parametrize(("outcome", "expected"), [("acked", {0, 1, 2, 3}), ("indeterminate", set())])
def test_a_record_whose_partition_the_client_has_not_named_may_be_in_any(
    tmp_path: Path, outcome: str, expected: set[int]
) -> None:
    write(tmp_path, [(0, 5, "acked"), (0, 6, outcome)], [(0, 5, "ok")], partitions={6: -1})
    assert unread_partitions(tmp_path, "t", range(4)) == expected


def bound(partition: int, end: int) -> PartitionBounds:
    return BOUNDS[0].model_copy(update={"partition": partition, "end_offset": end})


def test_a_partition_is_held_back_where_a_transaction_is_open() -> None:
    bounds = (bound(0, 10), bound(1, 4))
    assert held_back(bounds, {0: 10, 1: 4}) == {}
    assert held_back(bounds, {0: 3, 1: 4}) == {0: 3}


class Looks:
    """What leaders say of last stable offsets, look after look, while a clock runs a second each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *said: dict[int, int]) -> None:
        self.said, self.seconds = list(said), 0.0
        monkeypatch.setattr(final_read, "settle_target", lambda *_: (bound(0, 10), bound(1, 4)))
        monkeypatch.setattr(final_read, "last_stable", lambda *_: self.next())
        monkeypatch.setattr(final_read.time, "sleep", self.sleep)
        monkeypatch.setattr(final_read.time, "monotonic", lambda: self.seconds)

    def next(self) -> dict[int, int]:
        return self.said.pop(0) if len(self.said) > 1 else self.said[0]

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def ended() -> tuple[int, dict[int, int]]:
    """(partitions, where they are held back) once no transaction is open, or one hangs."""

    class Somewhere:
        bootstrap = "b:1"
        access = PLAIN_TEXT

    found, held = final_read.settle_transactions(
        cast(ManagedCluster, Somewhere()), FinalReadTarget("t", 2, 1, 7, 5.0)
    )
    return len(found), held


def test_an_open_transaction_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(monkeypatch, {0: 3, 1: 4}, {0: 3, 1: 4}, {0: 10, 1: 4})
    assert ended() == (2, {})
    assert looks.seconds == 2.0


def test_one_that_is_open_long_after_its_time_out_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(monkeypatch, {0: 3, 1: 4})
    assert ended() == (2, {0: 3})
    assert looks.seconds >= 5.0 + final_read.TRANSACTION_MARGIN_SECONDS


def test_a_leader_that_does_not_tell_proves_no_hanging_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    Looks(monkeypatch, {0: -1, 1: 4})
    with pytest.raises(ClusterError, match="last stable offset is not known"):
        ended()


class Doubting:
    """A cluster whose leaders contradict themselves on where a partition ends, if there is a sentence."""

    def __init__(self, *sentences: str) -> None:
        self._sentences = list(sentences)

    def doubtful_ends(self, bounds: object) -> list[str]:
        assert bounds
        return self._sentences


def passes(monkeypatch: pytest.MonkeyPatch, *settled: PartitionBounds, doubts: str = "") -> FinalRead:
    """A final read of one partition whose bounds are these, pass after pass; every pass reads the same."""
    left = list(settled)
    monkeypatch.setattr(final_read, "settle_target", lambda *_: (left.pop(0) if len(left) > 1 else left[0],))
    digest = DigestBuilder(0, 10).done()
    monkeypatch.setattr(final_read, "read_pass", lambda *_, **__: {0: digest})
    monkeypatch.setattr(final_read, "differences", lambda *_: [])
    monkeypatch.setattr(final_read, "gap_reasons", lambda *_, **__: [])
    monkeypatch.setattr(final_read, "unread_partitions", lambda *_: set())
    monkeypatch.setattr(final_read.time, "sleep", lambda _: None)
    target = FinalReadTarget("t", 1, 1, 7, None)
    return final_read.final_read(
        cast(ManagedCluster, Doubting(*filter(None, [doubts]))), target, Path("nowhere")
    )


def test_a_leader_that_contradicts_itself_on_the_end_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    read = passes(monkeypatch, led(1), doubts="partition 0: Fetch says otherwise")
    assert not read.complete
    assert read.reasons == ("partition 0: Fetch says otherwise",)


def led(epoch: int, end: int = 10) -> PartitionBounds:
    return bound(0, end).model_copy(update={"leader_epoch": epoch})


def test_leaders_that_move_between_two_passes_cost_one_more_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    read = passes(monkeypatch, led(1), led(2), led(2))
    assert read.complete
    assert read.bounds == (led(2),)


@pytest.mark.parametrize(
    "settled", [(led(1), led(2), led(3), led(4)), (led(1), led(1, end=11), led(1, end=11))]
)
def test_leaders_that_move_on_and_ends_that_move_at_all_prove_nothing(
    monkeypatch: pytest.MonkeyPatch, settled: tuple[PartitionBounds, ...]
) -> None:
    read = passes(monkeypatch, *settled)
    assert read.reasons == ("offsets or leaders changed between the two passes",)
