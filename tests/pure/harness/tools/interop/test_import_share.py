"""Members of a share group among imported files: their deliveries, and where the group begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.model.errors import BadInput
from harness.model.share_journal import DELIVERIES
from harness.tools.interop.foreign_deliveries import ForeignDeliveries
from harness.tools.interop.import_share import described_group
from harness.tools.interop.import_summary import VerifiableImport
from harness.tools.interop.verifiable_import import Imported, import_run
from tests.support.paths import ROOT
from tests.support.verifiable_output import (
    EARLIEST,
    START,
    STOP,
    T0_MS,
    acknowledged,
    got,
    line,
    sent,
    share_polled,
    summary,
)

pytestmark = pytest.mark.pure

CASES = ROOT / "tests" / "support" / "cases"
DESCRIBED = """
GROUP           TOPIC           PARTITION  START-OFFSET  LAG
queue           t               0          3             0
queue           other           0          -             -
"""


def deliveries(*lines: str, reader: str = "m") -> list[dict[str, Any]]:
    one = ForeignDeliveries(reader, 1)
    list(one.tables(lines))
    table = one.deliveries("g", end=True)
    assert table.schema == DELIVERIES
    assert one.given == table.num_rows
    assert one.lines.damaged == 0
    rows: list[dict[str, Any]] = table.to_pylist()
    return sorted(rows, key=lambda row: (row["acquired_ns"], row["offset"]))


def ms(ns: int | None) -> int | None:
    return None if ns is None else ns // 10**6 - T0_MS


def test_a_delivery_with_its_answer() -> None:
    (row,) = deliveries(START, got("3.7", 4, at=10), share_polled(4, at=11), acknowledged(4, at=20))
    assert row == {
        "member": "m", "session": 0, "group": "g", "topic": "t", "partition": 0, "offset": 4,
        "delivery_count": None, "state": "ok", "run": 1, "producer": 3, "seq": 7,
        "asked_ns": T0_MS * 10**6, "acquired_ns": (T0_MS + 10) * 10**6, "acknowledgement": "accept",
        "acknowledged_ns": (T0_MS + 10) * 10**6, "answered_ns": (T0_MS + 20) * 10**6, "error": None,
    }  # fmt: skip


def test_a_record_was_acquired_no_earlier_than_two_polls_before() -> None:
    polls = [one for at in (10, 20, 30, 40) for one in (got(str(at), at, at=at), share_polled(at, at=at + 1))]
    assert [ms(row["asked_ns"]) for row in deliveries(line("startup_complete", 5), *polls)] == [5, 5, 11, 21]
    # A successor begins anew; of a client whose start is not in the file nothing is known.
    again = deliveries(*polls, line("startup_complete", 50), got("1", 1, at=60))
    assert [row["asked_ns"] for row in again][:2] == [0, 0]
    assert (ms(again[-1]["asked_ns"]), again[-1]["session"]) == (50, 0)


@pytest.mark.parametrize(
    ("lines", "answers"),
    [
        ([got("0", 0, at=1)], [(None, None)]),
        ([got("0", 0, at=1), acknowledged(0, at=2, error="lock is gone")], [(2, "lock is gone")]),
        # The client acknowledges offsets without a record too, such as those of control batches.
        ([got("0", 0, at=1), acknowledged(0, 1, at=2)], [(2, None)]),
        # The answer is that of the later delivery.
        ([got("0", 0, at=1), got("0", 0, at=2), acknowledged(0, at=3)], [(None, None), (3, None)]),
        # The client that was given it has ended before.
        ([START, got("0", 0, at=1), START, acknowledged(0, at=3)], [(None, None)]),
        ([got("0", 0, at=1), acknowledged(0, at=2), got("0", 0, at=3)], [(2, None), (None, None)]),
        ([got(None, 0, at=1), acknowledged(0, at=2)], [(2, None)]),
    ],
)
def test_answers(lines: list[str], answers: list[tuple[int | None, str | None]]) -> None:
    assert [(ms(row["answered_ns"]), row["error"]) for row in deliveries(*lines)] == answers


def imported(folder: Path, *member: str, described: str | None = DESCRIBED) -> Imported:
    sends = [START, *(sent(str(seq), seq) for seq in range(3)), STOP, summary(3)]
    for name, text in (("p.log", "\n".join(sends)), ("m.log", "\n".join(member)), ("o.txt", described)):
        if text is not None:
            (folder / name).write_text(text)
    offsets = None if described is None else folder / "o.txt"
    files = {"producers": (folder / "p.log",), "consumers": (folder / "m.log",), "share_offsets": offsets}
    return import_run(VerifiableImport(complete=True, **files), folder / "run")


ALL = [*(got(str(seq), seq) for seq in range(3)), share_polled(0, 1, 2), acknowledged(0, 1, 2), STOP]


def test_the_run_has_a_share_group(tmp_path: Path) -> None:
    done = imported(tmp_path, START, EARLIEST, *ALL)
    assert (done.meta.readers, done.meta.problems) == ((), ())
    (info,) = done.meta.share
    assert (info.group, info.members, info.deliveries, info.closed) == ("queue", ("m",), 3, True)
    assert [row["group"] for row in pq.read_table(tmp_path / "run" / "deliveries").to_pylist()] == [
        "queue"
    ] * 3
    (row,) = pq.read_table(tmp_path / "run" / "share_offsets").to_pylist()
    assert (row["topic"], row["start_offset"], row["lag"]) == ("t", 3, 0)
    assert row["at_ns"] == done.meta.ended_ns
    # Without --final, what its members were given is the final read.
    assert done.meta.final_read is not None
    assert done.meta.final_read.records == 3
    assert not (tmp_path / "run" / "live").exists()


@pytest.mark.parametrize(
    ("member", "described", "problem"),
    [
        ([START, EARLIEST, *ALL], None, "give --share-offsets"),
        ([START, *ALL], DESCRIBED, "--offset-reset-strategy earliest"),
        ([START, EARLIEST, *ALL, got("9", 9, partition=4)], DESCRIBED, "no row of partition 4 of t"),
    ],
)
def test_what_cannot_be_judged_is_a_problem(
    member: list[str], described: str | None, problem: str, tmp_path: Path
) -> None:
    (found,) = imported(tmp_path, *member, described=described).meta.problems
    assert problem in found


@pytest.mark.parametrize(
    "text", ["", "GROUP TOPIC PARTITION\nq t 0\n", DESCRIBED.replace("queue           t", "b t")]
)
def test_a_file_that_does_not_describe_one_group_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"(?s)one share group.*kafka-share-groups --describe --offsets"):
        imported(tmp_path, START, *ALL, described=text)


def test_what_is_described_without_members_is_refused(tmp_path: Path) -> None:
    (tmp_path / "o.txt").write_text(DESCRIBED)
    producer, consumer = CASES / "i-java-producer.log", CASES / "i-java-full.log"
    request = VerifiableImport((producer,), (consumer,), share_offsets=tmp_path / "o.txt")
    with pytest.raises(BadInput, match="each VerifiableShareConsumer with --consumer"):
        import_run(request, tmp_path / "run")


def test_the_table_with_leader_epochs_behind_a_prefix(tmp_path: Path) -> None:
    head = "GROUP TOPIC PARTITION LEADER-EPOCH START-OFFSET LAG"
    (tmp_path / "o.txt").write_text(f"tools-1 | {head}\r\ntools-1 | q t 1 - 12345678901 -\r\n")
    group, rows = described_group(tmp_path / "o.txt")
    assert (group, [(row["partition"], row["start_offset"], row["lag"]) for row in rows]) == (
        "q",
        [(1, 12_345_678_901, None)],
    )


def test_a_counting_member_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="with --verbose"):
        imported(tmp_path, START, share_polled(0, 1, 2), acknowledged(0, 1, 2))
