"""A run as a Jepsen history: read back, it is well formed and says what the journals say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from harness.cli.app import app
from harness.model.errors import BadInput, JournalError
from harness.model.group_journal import ASSIGNMENTS
from harness.model.journal import OPEN_SENDS, READS, SENDS, TRANSACTIONS
from harness.model.run import ReaderInfo, RunMeta
from harness.tools.interop.jepsen import in_order
from harness.tools.interop.jepsen_export import export_jepsen
from tests.support.edn import read

pytestmark = pytest.mark.pure

RUN = 5
Op = dict[str, Any]
Row = dict[str, Any]


def send(seq: int, sent: int, closed: int | None = None, **more: Any) -> Row:
    outcome = "acked" if closed is not None else "indeterminate"
    return {
        "producer": 0,
        "seq": seq,
        "topic": "t",
        "partition": 0,
        "key": None,
        "size": 100,
        "step": 0,
        "sent_ns": sent,
        "outcome": outcome,
        "closed_ns": closed,
        "offset": seq if closed is not None else None,
        "error": None,
        "txn": None,
        **more,
    }


def got(seq: int | None, offset: int, at: int = 900, **more: Any) -> Row:
    return {
        "reader": "final",
        "topic": "t",
        "partition": 0,
        "offset": offset,
        "leader_epoch": 0,
        "timestamp_ms": None,
        "state": "ok",
        "run": RUN,
        "producer": 0,
        "seq": seq,
        "key": None,
        "value": None,
        "read_ns": at,
        "session": None,
        "position": None,
        **more,
    }


Export = Callable[..., list[Op]]


@pytest.fixture
def export(tmp_path: Path) -> Export:
    """export(sends, reads, NAME=rows...) -> the operations; `run` replaces fields of run.json."""

    def made(
        sends: list[Row], reads: list[Row], *, run: Row | None = None, **journals: list[Row]
    ) -> list[Op]:
        folder = tmp_path / "run"
        meta = {
            "run_id": RUN,
            "experiment": "e",
            "arm": "a",
            "topic": "t",
            "partitions": 2,
            "replication_factor": 3,
            "acks": "all",
            "idempotent": False,
            "started_ns": 0,
            **(run or {}),
        }
        schemas = {"assignments": ASSIGNMENTS, "transactions": TRANSACTIONS, "sends": SENDS}
        for name, rows in {"sends": sends, "reads": reads, **journals}.items():
            path = folder / name.replace("__", "/")
            path.mkdir(parents=True)
            half = len(rows) // 2
            schema = schemas.get(name, READS)
            for number, part in enumerate((rows[half:], rows[:half])):
                pq.write_table(pa.Table.from_pylist(part, schema=schema), path / f"part-{number}.parquet")
        RunMeta.model_validate(meta).save(folder)
        export_jepsen(folder, tmp_path / "history.edn")
        return history(tmp_path / "history.edn")

    return made


def history(path: Path) -> list[Op]:
    """The operations; refuses what Jepsen would: indexes that are not dense, time that goes back, a process
    that does two things at once."""
    ops: list[Op] = [read(line) for line in path.read_text().splitlines()]
    assert [op[":index"] for op in ops] == list(range(len(ops)))
    times = [op[":time"] for op in ops]
    assert times == sorted(times)
    assert not times or times[0] == 0
    busy: dict[int, Op] = {}
    crashed = set()
    for op in ops:
        process = op[":process"]
        assert process not in crashed
        if op[":type"] == ":invoke":
            assert process not in busy
            busy[process] = op
        else:
            begun = busy.pop(process)
            assert begun[":f"] == op[":f"]
            assert begun[":time"] <= op[":time"]
            if op[":type"] == ":info":
                crashed.add(process)
    assert not busy
    return ops


def brief(ops: list[Op]) -> list[tuple[str, str, Any]]:
    return [(op[":type"], op[":f"], op[":value"]) for op in ops]


def ended(ops: list[Op], what: str = ":send") -> list[Op]:
    return [op for op in ops if op[":f"] == what and op[":type"] != ":invoke"]


def test_sends_and_the_final_read(export: Export) -> None:
    ops = export([send(0, 100, 200), send(1, 150, 300, partition=1)], [got(0, 0), got(1, 1, partition=1)])
    assert brief(ops) == [
        (":invoke", ":send", [[":send", 0, 0]]),
        (":invoke", ":send", [[":send", 1, 1]]),
        (":ok", ":send", [[":send", 0, [0, 0]]]),
        (":ok", ":send", [[":send", 1, [1, 1]]]),
        (":invoke", ":assign", [0, 1]),
        (":ok", ":assign", [0, 1]),
        (":invoke", ":poll", [[":poll"]]),
        (":ok", ":poll", [[":poll", {0: [[0, 0]]}]]),
        (":invoke", ":poll", [[":poll"]]),
        (":ok", ":poll", [[":poll", {1: [[1, 1]]}]]),
    ]
    assert [op[":time"] for op in ops[:5]] == [0, 50, 100, 200, 800]
    assert ops[4][":seek-to-beginning?"] is True
    assert len({op[":process"] for op in ops[4:]}) == 1


@pytest.mark.parametrize(
    ("outcome", "kind", "error"),
    [("acked", ":ok", None), ("rejected", ":fail", "E"), ("indeterminate", ":info", "E"),
     ("unconfirmed", ":info", None)],
)  # fmt: skip
def test_outcomes(export: Export, outcome: str, kind: str, error: str | None) -> None:
    (op,) = ended(export([send(0, 1, 2, outcome=outcome, error=error, offset=None)], []))
    assert op[":type"] == kind
    assert op.get(":error") == (error or {"unconfirmed": "unconfirmed"}.get(outcome))
    assert op[":value"] == [[":send", 0, [None, 0] if kind == ":ok" else 0]]


def test_a_process_is_used_again_unless_its_send_was_never_answered(export: Export) -> None:
    ops = export(
        [
            send(0, 10, 20),
            send(1, 30, 60, outcome="indeterminate"),
            send(2, 40, 50),
            send(3, 70, 80),
            send(4, 90),
        ],
        [],
    )
    process = {op[":value"][0][2]: op[":process"] for op in ops if op[":type"] == ":invoke"}
    assert process[0] == process[1] != process[2] == process[3] == process[4]
    # What was never answered ends last, and at no time of its own.
    assert (ops[-1][":type"], ops[-1][":time"], ops[-1][":value"]) == (
        ":info",
        ops[-2][":time"],
        [[":send", 0, 4]],
    )


def test_a_report_before_its_send_still_ends_after_it(export: Export) -> None:
    ops = export([send(0, 100, 90)], [])
    assert [op[":time"] for op in ops] == [0, 0]


def test_values_are_unique_over_producers(export: Export) -> None:
    sends = [send(seq, 10 + seq, 50, producer=producer) for producer in (0, 7, 9) for seq in range(4)]
    reads = [got(seq, 10 * producer + seq, producer=producer) for producer in (0, 7, 9) for seq in range(4)]
    ops = export(sends, reads)
    written = sorted(op[":value"][0][2][1] for op in ended(ops))
    assert written == list(range(12))
    assert sorted(value for op in ended(ops, ":poll") for _, value in op[":value"][0][1][0]) == written


def test_what_is_none_of_ours_has_a_value_of_its_own(export: Export) -> None:
    none = {"producer": None, "run": None, "state": "undecodable"}
    reads = [
        got(0, 0),
        got(8, 1, producer=3),
        got(0, 2, run=6, state="foreign"),
        got(None, 3, **none, value=b"x"),
        got(None, 4, **none, value=b"y"),
        got(None, 5, **none, value=b"x"),
        got(0, 6, state="corrupt", value=b"z"),
        got(-1, 7),
    ]
    polls = ended(export([send(0, 1, 2)], reads), ":poll")
    values = [value for op in polls for _, value in op[":value"][0][1][0]]
    assert values[0] == 0
    assert all(value < 0 for value in values[1:])
    assert values[3] == values[5]
    assert len(set(values)) == 7


def live(seq: int, offset: int, session: int, position: int, at: int, reader: str = "r") -> Row:
    return got(seq, offset, at, reader=reader, session=session, position=position)


def test_a_session_of_a_live_reader_is_a_process(export: Export) -> None:
    given = {"reader": "r", "at_ns": 1, "topic": "t", "offset": None}
    ops = export(
        [send(seq, 1, 2) for seq in range(3)],
        [got(seq, seq) for seq in range(3)],
        run={"readers": [ReaderInfo(name="r", group="g").model_dump(), ReaderInfo(name="s").model_dump()]},
        live__r=[live(1, 1, 0, 1, 20), live(0, 0, 0, 0, 20), live(1, 1, 1, 2, 30)],
        live__s=[live(2, 2, 0, 0, 25, "s")],
        assignments=[
            {**given, "session": 0, "event": "assigned", "partition": 0},
            {**given, "session": 0, "event": "revoked", "partition": 0},
            {**given, "session": 1, "event": "assigned", "partition": 0},
            {**given, "session": 1, "event": "assigned", "partition": 1},
        ],
    )
    ours = [op for op in ops if op[":f"] != ":send" and op[":type"] == ":ok" and op[":time"] < 800]
    assert [(op[":f"], op[":value"]) for op in ours] == [
        (":subscribe", [0]),
        (":poll", [[":poll", {0: [[0, 0], [1, 1]]}]]),
        (":assign", [0, 1]),
        (":poll", [[":poll", {0: [[2, 2]]}]]),
        (":subscribe", [0, 1]),
        (":poll", [[":poll", {0: [[1, 1]]}]]),
    ]
    processes = [op[":process"] for op in ours]
    assert processes[0::2] == processes[1::2]
    assert len(set(processes)) == 3
    assert ":seek-to-beginning?" not in ours[0]


def test_polls_are_short(export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.tools.interop.jepsen.POLL_RECORDS", 3)
    polls = ended(export([send(0, 1, 2)], [got(0, offset) for offset in range(7)]), ":poll")
    assert [[offset for offset, _ in op[":value"][0][1][0]] for op in polls] == [[0, 1, 2], [3, 4, 5], [6]]


def transaction(txn: int, outcome: str, begun: int, ended: int | None) -> Row:
    return {
        "producer": 0, "txn": txn, "begun_ns": begun, "ended_ns": ended, "asked": "commit",
        "outcome": outcome, "records": 2, "error": None,
    }  # fmt: skip


def test_a_transaction_is_one_operation(export: Export, tmp_path: Path) -> None:
    sends = [send(seq, 10 + seq, 20 + seq, txn=seq // 2, partition=seq % 2) for seq in range(6)]
    ops = export(
        sends,
        [got(3, 3)],
        run={"transactional": True, "readers": [ReaderInfo(name="u").model_dump()]},
        transactions=[transaction(0, "committed", 5, 30), transaction(1, "aborted", 35, 40),
                      transaction(2, "indeterminate", 45, None)],
        committed=[got(0, 0), got(1, 1, partition=1)],
        live__u=[live(3, 3, 0, 0, 20, "u")],
    )  # fmt: skip
    assert [(op[":type"], op[":value"]) for op in ended(ops)] == [
        (":ok", [[":send", 0, [0, 0]], [":send", 1, [1, 1]]]),
        (":fail", [[":send", 0, 2], [":send", 1, 3]]),
        (":info", [[":send", 0, 4], [":send", 1, 5]]),
    ]
    # Nobody who may read what is not committed has a say: neither the other final read nor reader u.
    assert {
        value for op in ended(ops, ":poll") for pairs in op[":value"][0][1].values() for _, value in pairs
    } == {0, 1}
    assert export_jepsen(tmp_path / "run", tmp_path / "again.edn").left_out == ("u",)


def test_sends_of_unknown_partition_go_where_they_were_read(export: Export) -> None:
    sends = [send(0, 1, None, partition=-1), send(1, 2, None, partition=-1)]
    keys = {op[":value"][0][2]: op[":value"][0][1] for op in ended(export(sends, [got(0, 4, partition=1)]))}
    assert keys == {0: 1, 1: 0}


def test_a_record_of_another_topic_is_another_key(export: Export) -> None:
    polls = ended(export([send(0, 1, 2)], [got(0, 0), got(0, 0, topic="other")]), ":poll")
    assert sorted(key for op in polls for key in op[":value"][0][1]) == [0, 2]


def test_open_sends_of_a_killed_run(export: Export, tmp_path: Path) -> None:
    folder = tmp_path / "run" / "sends"
    folder.mkdir(parents=True)
    opened = [send(0, 1), send(1, 2)]
    pq.write_table(pa.Table.from_pylist(opened, schema=SENDS), tmp_path / OPEN_SENDS)
    folder.rmdir()
    export([send(0, 1, 5)], [])
    (tmp_path / OPEN_SENDS).rename(folder / OPEN_SENDS)
    export_jepsen(tmp_path / "run", tmp_path / "history.edn")
    assert [(op[":type"], op[":value"][0][2]) for op in ended(history(tmp_path / "history.edn"))] == [
        (":ok", [0, 0]), (":info", 1),
    ]  # fmt: skip


def test_what_cannot_be_read_or_written_is_told(export: Export, tmp_path: Path) -> None:
    export([send(0, 1, 2)], [])
    (tmp_path / "taken").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        export_jepsen(tmp_path / "run", tmp_path / "taken" / "history.edn")
    with pytest.raises(JournalError, match="not a run folder"):
        export_jepsen(tmp_path / "none", tmp_path / "history.edn")
    (tmp_path / "run" / "reads" / "part-0.parquet").write_bytes(b"PAR1")
    with pytest.raises(JournalError, match="cannot be read"):
        export_jepsen(tmp_path / "run", tmp_path / "new.edn")
    assert not (tmp_path / "new.edn").exists()
    assert not list(tmp_path.glob(".export-*"))


def test_the_command(export: Export, tmp_path: Path) -> None:
    export([send(0, 1, 2)], [got(0, 0)])
    done = CliRunner().invoke(
        app, ["export", str(tmp_path / "run"), str(tmp_path / "out.edn"), "--to", "jepsen"]
    )
    assert done.exit_code == 0, done.output
    assert done.output.startswith("6 lines written")
    assert (tmp_path / "out.edn").read_text() == (tmp_path / "history.edn").read_text()


@given(
    st.lists(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), max_size=9), max_size=6),
    st.integers(1, 7),
)
def test_sorting_is_sorting(blocks: list[list[tuple[int, int]]], rows: int) -> None:
    import tempfile

    def tables() -> Any:
        for block in blocks:
            columns = [[row[index] for row in block] for index in (0, 1)]
            yield pa.table(
                {name: pa.array(column, pa.int64()) for name, column in zip("ab", columns, strict=True)}
            )

    with tempfile.TemporaryDirectory() as scratch:
        assert list(in_order(tables(), Path(scratch), rows)) == sorted(
            row for block in blocks for row in block
        )


def test_a_transaction_that_polled_is_one_operation(export: Export) -> None:
    """Its reader received a record before the first transaction, and one after the last."""
    ends = {"committed": (5, 30), "aborted": (35, 40), "indeterminate": (45, None)}
    ops = export(
        [send(number, 6 + 30 * number, 7 + 30 * number, txn=number) for number in range(3)],
        [],
        run={
            "transactional": True,
            "readers": [ReaderInfo(name="p", committed=True, producer=0).model_dump()],
        },
        transactions=[
            {**transaction(number, outcome, *times), "polled_from": 2 * number + 1, "polled": 2}
            for number, (outcome, times) in enumerate(ends.items())
        ],
        live__p=[live(seq, seq, 0, seq, 20, "p") | {"partition": seq % 2} for seq in range(8)],
    )
    assert brief(ops) == [
        (":invoke", ":txn", [[":send", 0, 0], [":poll"]]),
        (":ok", ":txn", [[":send", 0, [0, 0]], [":poll", {1: [[1, 1]], 0: [[2, 2]]}]]),
        (":invoke", ":txn", [[":send", 0, 1], [":poll"]]),
        (":fail", ":txn", [[":send", 0, 1], [":poll"]]),
        (":invoke", ":txn", [[":send", 0, 2], [":poll"]]),
        (":info", ":txn", [[":send", 0, 2], [":poll"]]),
    ]
