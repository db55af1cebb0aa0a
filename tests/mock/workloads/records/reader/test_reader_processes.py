"""Live readers whose clients have processes of their own, against librdkafka's mock cluster."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaException

from tests.support.live_readers import PARTITIONS, QUICK, LiveReaders, Rows, everything, places, rising
from workloads.groups.group_handlers import restart_reader
from workloads.groups.group_steps import RestartReader
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.reader.consumer_process import ConsumerGone, ConsumerProcess

pytestmark = pytest.mark.mock


def test_a_reader_in_its_own_process_goes_on_after_a_crash(
    case: Callable[..., LiveReaders],
    write: Callable[[int], None],
) -> None:
    write(50)
    made = case(ReaderSpec(name="plain", process=True))
    made.readers.start()
    restart_reader(made.readers.members("plain"), RestartReader(reader="plain", received=200, crash=True))
    restart_reader(made.readers.members("plain"), RestartReader(reader="plain", away=True))
    write(30)
    assert made.readers.members("plain")[0].received == 200, "nobody is there"
    restart_reader(made.readers.members("plain"), RestartReader(reader="plain"))
    made.end()
    rows = made.rows("plain")
    rising(rows)
    assert sorted(places(rows)) == sorted(everything(80))
    assert {row["session"] for row in rows} == {0, 2}
    lost = [row["partition"] for row in made.table("assignments") if row["event"] == "lost"]
    assert lost == list(range(PARTITIONS))


def test_what_was_committed_before_it_was_processed_is_processed_by_nobody(
    case: Callable[..., LiveReaders],
    write: Callable[[int], None],
) -> None:
    write(10)
    made = case(
        ReaderSpec(name="app", group="app", commits="before", takes=20, process=True, extra={**QUICK})
    )
    made.readers.start()
    (reader,) = made.readers.members("app")
    restart_reader([reader], RestartReader(reader="app", received=1, after=1, crash=True))
    assert reader.records == 0, "the batch in hand was not processed"
    made.close()
    rows = made.table("commits")
    assert {row["error"] for row in rows} == {None}
    last = [max(row["offset"] for row in rows if row["partition"] == number) for number in parts(rows)]
    assert sum(last) == reader.received, "nothing comes again"


def parts(rows: Rows) -> set[int]:
    return {row["partition"] for row in rows}


def test_the_client_refuses_settings_in_its_own_words() -> None:
    with pytest.raises(KafkaException, match=r"no\.such\.setting"):
        ConsumerProcess({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "no.such.setting": "1"})


def test_a_killed_client_says_so() -> None:
    consumer = ConsumerProcess({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"})
    consumer.kill()
    with pytest.raises(ConsumerGone, match="the process of a consumer has ended: SIGKILL"):
        consumer.consume(1, 0.1)


def test_two_readers_of_one_group_catch_up_together(
    case: Callable[..., LiveReaders],
    write: Callable[[int], None],
) -> None:
    write(20)
    member = ReaderSpec(name="one", group="both", commits="manual", extra={**QUICK})
    made = case(member, member.model_copy(update={"name": "two"}))
    made.readers.start()
    made.until(lambda: made.readers.records() >= 20 * PARTITIONS)
    made.end()
    assert set(places(made.rows("one-0") + made.rows("two-0"))) == everything(20)
