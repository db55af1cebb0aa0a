"""What VerifiableProducer and VerifiableConsumer print, line by line: rows, doubts, and never a crash."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.group_journal import ASSIGNMENTS, COMMITS
from harness.model.journal import READS, SENDS
from harness.tools.interop.foreign_deliveries import ForeignDeliveries
from harness.tools.interop.foreign_reads import FINAL, ForeignReads, Once
from harness.tools.interop.foreign_sends import MAX_SEQ_JUMP, ForeignSends
from harness.tools.interop.verifiable_events import CONSUMER, PRODUCER, SHARE_CONSUMER, LineCounts, parse
from tests.support.verifiable_output import (
    LOG,
    START,
    STOP,
    T0_MS,
    TOPIC,
    assigned,
    committed,
    failed,
    got,
    line,
    polled,
    sent,
    summary,
)
from workloads.java.java_outcomes import exception_name, outcome_of

pytestmark = pytest.mark.pure

Rows = list[dict[str, Any]]


def rows_of(tables: Any) -> Rows:
    return [row for table in tables for row in table.to_pylist()]


def sends(
    *lines: str, acks: str = "all", read_to: dict[int, int] | None = None, **options: Any
) -> tuple[ForeignSends, Rows]:
    one = ForeignSends(acks, **options)
    found = rows_of(one.tables(lines))
    return one, found + rows_of(one.unreported(read_to or {}))


def outcomes(rows: Rows) -> dict[int, str]:
    assert len({row["seq"] for row in rows}) == len(rows)
    return {row["seq"]: row["outcome"] for row in rows}


def test_reports_become_sends() -> None:
    one, rows = sends(LOG, START, sent("3.0", 7, partition=2, key="5", at=9), failed("3.1"), STOP, summary(2))
    assert one.lines == LineCounts(events=5, other=1)
    assert one.ended
    assert rows[0] == {
        "producer": 3, "seq": 0, "topic": TOPIC, "partition": 2, "key": 5, "size": 3, "step": 0,
        "sent_ns": (T0_MS + 9) * 10**6, "outcome": "acked", "closed_ns": (T0_MS + 9) * 10**6, "offset": 7,
        "error": None, "txn": None, "timestamp_ms": None,
    }  # fmt: skip
    assert (rows[1]["outcome"], rows[1]["error"], rows[1]["partition"]) == (
        "indeterminate",
        "TimeoutException",
        -1,
    )


def test_a_success_without_an_offset_and_one_without_a_brokers_word() -> None:
    _, rows = sends(sent("0", -1))
    assert (rows[0]["outcome"], rows[0]["offset"]) == ("acked", None)
    _, rows = sends(sent("0", -1), acks="0")
    assert rows[0]["outcome"] == "unconfirmed"


def test_what_was_never_told_of_is_indeterminate() -> None:
    # A gap below the last one, and no word of the end: 5 was read, so it was sent; nobody knows of 6.
    _, rows = sends(START, sent("0", 0), sent("3", 1), read_to={0: 6})
    assert outcomes(rows) == {0: "acked", 3: "acked", **dict.fromkeys((1, 2, 4, 5), "indeterminate")}
    assert {row["closed_ns"] for row in rows if row["seq"] in (1, 2, 4, 5)} == {None}


def test_the_tools_own_count_rules_out_more() -> None:
    _, rows = sends(START, sent("0", 0), STOP, summary(2), read_to={0: 6})
    assert sorted(outcomes(rows)) == [0, 1]


def test_what_another_producer_wrote_is_not_claimed() -> None:
    _, rows = sends(START, sent("1.0", 0), read_to={1: 2, 2: 10})
    assert {(row["producer"], row["seq"]) for row in rows} == {(1, 0), (1, 1)}


def test_keys_of_untold_sends_go_round() -> None:
    told = [sent(str(seq), seq, key=str(seq % 3)) for seq in (0, 1, 2, 3)]
    one, rows = sends(*told, read_to={0: 8})
    assert one.unclear_keys() == ()
    assert {row["seq"]: row["key"] for row in rows} == {seq: seq % 3 for seq in range(8)}
    one, _ = sends(*told[:3])
    assert one.unclear_keys() == (0,)
    one, rows = sends(*told[:3], read_to={0: 5}, keys=3)
    assert one.unclear_keys() == ()
    assert rows[-1]["key"] == 1


@pytest.mark.parametrize(
    ("bad", "counter"),
    [
        (sent("not ours", 1), "foreign"),
        (sent(str(MAX_SEQ_JUMP + 2), 1), "foreign"),
        (sent("0", 1), "reported_again"),
        (sent("1", 1, topic="other"), "of_other_topics"),
    ],
)
def test_what_cannot_be_a_send_is_counted(bad: str, counter: str) -> None:
    one, rows = sends(sent("0", 0), bad)
    assert sorted(outcomes(rows)) == [0]
    assert {name: getattr(one, name) for name in ("foreign", "reported_again", "of_other_topics")} == {
        **dict.fromkeys(("foreign", "reported_again", "of_other_topics"), 0),
        counter: 1,
    }


@pytest.mark.parametrize(
    "damaged",
    [
        sent("1", 1)[:-20],
        sent("1", 1).replace('"offset":1', '"offset":"1"'),
        sent("1", 1).replace('"offset":1', '"offset":true'),
        sent("1", 1).replace('"offset":1', '"offset":9223372036854775808'),
        sent("1", 1).replace('"offset":1,', ""),
        sent("1", 1).replace('"partition":0', '"partition":4294967296'),
        sent("1", 1, topic="\ud800"),
        sent("1", 1).replace(str(T0_MS), "1" * 30),
        line("tool_data", sent="many", acked=0),
        "{" * 1000,
    ],
)
def test_damage_is_counted(damaged: str) -> None:
    one, rows = sends(sent("0", 0), LOG, damaged)
    assert (one.lines.damaged, one.lines.first_damaged, sorted(outcomes(rows))) == (1, 3, [0])


@pytest.mark.parametrize(
    "other", ["", "null", "[1]", LOG, "{}", '{"name":7}', line("no_such_event"), "\x00\xff"]
)
def test_lines_of_logs_say_nothing(other: str) -> None:
    one, rows = sends(other, sent("0", 0))
    assert (one.lines.other, one.lines.damaged, len(rows)) == (1, 0, 1)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_EVENTS = st.builds(
    lambda name, time, fields: json.dumps({**time, "name": name, **fields}),
    st.sampled_from([*PRODUCER, *CONSUMER, *SHARE_CONSUMER]),
    st.sampled_from([{"timestamp": T0_MS}, {"_time": "2026-11-20 10:00:01"}, {}]),
    st.fixed_dictionaries(
        {},
        optional={
            name: _JSON | st.just(0)
            for name in ("timestamp", "key", "value", "topic", "partition", "offset", "partitions", "offsets",
                         "count", "success", "error", "exception", "message", "sent", "acked", "_time",
                         "_qlen", "payload", "offsetResetStrategy")
        },
    ),
)  # fmt: skip


@given(st.lists(_EVENTS | st.text(max_size=20) | st.binary(max_size=20), max_size=8))
def test_no_line_is_a_crash(lines: list[str | bytes]) -> None:
    one = ForeignSends("all")
    for table in (*one.tables(lines), *one.unreported({0: 3})):
        assert table.schema == SENDS
    final = ForeignReads(FINAL, 1)
    member = ForeignDeliveries("m", 1)
    for table in member.tables(lines):
        assert table.schema == READS
    assert member.deliveries("g", end=True).num_rows == member.given
    assert member.lines.seen == len(lines)
    reader = ForeignReads("r", 1)
    for table in (*final.tables(lines), *reader.tables(lines)):
        assert table.schema == READS
    assert one.lines.seen == reader.lines.seen == final.lines.seen == len(lines)
    pa.Table.from_pylist(reader.assignments, schema=ASSIGNMENTS)
    pa.Table.from_pylist(reader.commits, schema=COMMITS)


def confluent(name: str, time: str | None = "2026-11-20 10:00:01.500001", **fields: Any) -> str:
    return json.dumps({"name": name, **({} if time is None else {"_time": time}), **fields})


@pytest.mark.parametrize("key", [None, "NULL", ""])
def test_sends_of_confluents_clients(key: str | None) -> None:
    success = {"topic": TOPIC, "partition": 0, "key": key}
    python = 'KafkaError{code=_MSG_TIMED_OUT,val=-192,str="Local: Message timed out"}'
    one, rows = sends(
        confluent("producer_send_success", value="0", offset=0, **success),
        confluent("producer_send_error", value="1", topic=TOPIC, key=key, message=python),
        confluent("producer_send_error", value="2", topic=TOPIC, key=key, message="Local: Timed out"),
        confluent("shutdown_complete"),
        read_to={0: 5},
    )
    assert (one.lines.damaged, one.ended, one.lines.zoneless) == (0, False, True)
    assert [(row["seq"], row["outcome"], row["error"], row["key"]) for row in rows[:3]] == [
        (0, "acked", None, None),
        (1, "indeterminate", "_MSG_TIMED_OUT", None),
        (2, "indeterminate", "Local: Timed out", None),
    ]
    # 2026-11-20 10:00:01.500 UTC. What it had sent and not reported may have been read: 3 and 4.
    assert rows[0]["closed_ns"] == 1_795_168_801_500 * 10**6
    assert [row["seq"] for row in rows[3:]] == [3, 4]


def test_confluents_producer_says_that_its_queue_is_empty() -> None:
    first = confluent("producer_send_success", value="0", offset=0, topic=TOPIC, partition=0, key=None)
    _, rows = sends(first, confluent("shutdown_complete", _qlen=0), read_to={0: 5})
    assert [row["seq"] for row in rows] == [0]
    _, rows = sends(first, confluent("shutdown_complete", _qlen=2), read_to={0: 5})
    assert [row["seq"] for row in rows] == [0, 1, 2, 3, 4]


def test_a_clock_without_a_date_passes_midnight() -> None:
    times = ["23:59:58.000", None, "00:00:01.250", "23:59:59.999", "12:00:00", "23:00:00.000", "01:00:00"]
    lines = LineCounts()
    found = [parse(confluent("startup_complete", time), PRODUCER, lines) for time in times]
    day, hour = 86_400_000, 3_600_000
    assert [event and event["timestamp"] for event in found] == [
        day - 2000, day - 2000, day + 1250, day - 1, day // 2, day - hour, day + hour,
    ]  # fmt: skip
    assert lines.dateless


@pytest.mark.parametrize(
    "time", ["yesterday", "25:00:00", "2026-13-01 00:00:00", "1969-12-31 00:00:00", "", "9999-01-01"]
)
def test_what_is_no_time_is_damage(time: str) -> None:
    lines = LineCounts()
    assert parse(confluent("startup_complete", time), PRODUCER, lines) is None
    assert lines.damaged == 1


def test_confluents_consumer_counts_all_partitions_together() -> None:
    parts = [{"topic": TOPIC, "partition": 0, "minOffset": 0, "maxOffset": 9}]
    reader = ForeignReads("r", 1)
    record = {"topic": TOPIC, "partition": 0, "key": None}
    text = [confluent("record_data", value=str(seq), offset=seq, **record) for seq in range(2)]
    offsets = [
        {"topic": TOPIC, "partition": 0, "offset": 2, "error": "no"},
        {"topic": TOPIC, "partition": 1, "offset": -1001},
    ]
    text += [
        confluent("records_consumed", count=5, partitions=parts),
        confluent("offsets_committed", offsets=offsets, success=True, error=""),
    ]
    assert len(rows_of(reader.tables(text))) == 2
    assert (reader.unlisted, reader.lines.damaged) == (3, 0)
    assert [(row["offset"], row["error"]) for row in reader.commits] == [(2, "no")]


def test_records_become_reads_with_session_and_position() -> None:
    reader = ForeignReads("r", 9)
    text = [START, assigned(0), got("3.0", 0, key="1"), polled(1), committed(1), assigned(0, event="revoked"),
            assigned(0, 1), got("3.0", 0, key="1"), got(None, 1), polled(2),
            committed(2, success=False, error="no")]  # fmt: skip
    rows = rows_of(reader.tables(text))
    assert [(row["session"], row["position"], row["offset"], row["state"]) for row in rows] == [
        (0, 0, 0, "ok"), (1, 1, 0, "ok"), (1, 2, 1, "undecodable"),
    ]  # fmt: skip
    assert (rows[0]["run"], rows[0]["producer"], rows[0]["seq"], rows[0]["key"]) == (9, 3, 0, 1)
    assert rows[2]["value"] == b""
    assert reader.ends == {0: 2}
    assert reader.read_to == {3: 1}
    assert [(row["session"], row["event"], row["partition"]) for row in reader.assignments] == [
        (0, "assigned", 0), (0, "revoked", 0), (1, "assigned", 0), (1, "assigned", 1),
    ]  # fmt: skip
    assert [(row["offset"], row["error"]) for row in reader.commits] == [(1, None), (2, "no")]
    assert reader.unlisted == 0


def test_records_that_are_not_told_one_by_one() -> None:
    reader = ForeignReads("r", 9)
    assert rows_of(reader.tables([got("0", 0), polled(3), polled(2)])) != []
    assert reader.unlisted == 4


def test_a_record_read_twice_is_one_of_the_final_read() -> None:
    reader = ForeignReads("r", 9)
    (table,) = reader.tables(
        [got("0", 0), got("1", 1), got("0", 0), got("other", 1), got("0", 5), got("0", 0, partition=1)]
    )
    once = Once()
    rows = once.fresh(table).to_pylist()
    assert [(row["partition"], row["offset"], row["seq"]) for row in rows] == [
        (0, 0, 0), (0, 1, 1), (0, 1, None), (0, 5, 0), (1, 0, 0),
    ]  # fmt: skip
    assert {(row["reader"], row["session"], row["position"]) for row in rows} == {("final", None, None)}
    assert once.fresh(table.slice(0, 1)).num_rows == 0
    assert once.fresh(table).schema == READS


def test_only_a_refusal_by_the_client_itself_is_rejected() -> None:
    assert outcome_of(None, None, "all") == "acked"
    assert outcome_of(None, None, "0") == "unconfirmed"
    never = "Topic t not present in metadata after 60000 ms."
    assert outcome_of("TimeoutException", never, "all") == "rejected"
    late = "Expiring 3 record(s) for t-0:120000 ms has passed since batch creation"
    assert outcome_of("TimeoutException", late, "all") == "indeterminate"
    assert outcome_of("TimeoutException", None, "all") == "indeterminate"
    large = "The message is 9000000 bytes when serialized which is larger than 1048576, which is the value of"
    assert outcome_of("RecordTooLargeException", large, "all") == "rejected"
    assert (
        outcome_of("RecordTooLargeException", "The request included a message larger", "all")
        == "indeterminate"
    )
    assert outcome_of("NotEnoughReplicasException", "", "all") == "indeterminate"


def test_exceptions_by_their_simple_names() -> None:
    assert exception_name("class org.apache.kafka.common.errors.TimeoutException") == "TimeoutException"
    assert exception_name("class Odd") == "Odd"
    assert exception_name("") == "Exception"


def test_bytes_and_text_parse_alike() -> None:
    text = got("3.0", 0)
    assert (
        parse(text, CONSUMER, LineCounts())
        == parse(text.encode(), CONSUMER, LineCounts())
        == json.loads(text)
    )


def test_blocks_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.tools.interop.foreign_sends._ROWS_AT_ONCE", 3)
    monkeypatch.setattr("harness.tools.interop.foreign_reads._ROWS_AT_ONCE", 3)
    one = ForeignSends("all")
    assert outcomes(rows_of(one.tables([sent(str(seq), seq) for seq in range(8)]))) == dict.fromkeys(
        range(8), "acked"
    )
    assert len(rows_of(one.unreported({0: 20}))) == 12
    reader = ForeignReads("r", 1)
    tables = list(reader.tables([got(str(seq), seq) for seq in range(8)]))
    assert pa.concat_tables(tables)["position"].to_pylist() == list(range(8))
