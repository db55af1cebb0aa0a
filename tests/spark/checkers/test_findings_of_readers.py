"""What live readers, groups and transactions tell: each class and its near misses, in one run."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from harness.model.run import FinalRead, ReaderInfo
from tests.support.finding_cases import LOG_END, LOG_START, Case, same
from tests.support.history import FINISHED, History, Row, bounds, findings_of, ns, run_meta, window, write_run

pytestmark = pytest.mark.spark

READERS = (
    ReaderInfo(name="live"),
    ReaderInfo(name="strict", committed=True),
    ReaderInfo(name="one", group="pair"),
    ReaderInfo(name="two", group="pair"),
    ReaderInfo(name="cautious", group="careful", committed=True),
)


def _sent(h: History, *seqs: int, first: int = 20, txn: int | None = None) -> History:
    """Acknowledged and in the final read, from offset `first` on."""
    for number, seq in enumerate(seqs):
        h.send(seq, at=first + number, txn=txn).read(seq, at=first + number)
    return h


def _given(h: History, reader: str, *offsets: int, session: int = 0) -> History:
    """Offsets from 20 on hold seqs from 0 on."""
    for offset in offsets:
        h.give(offset - 20, at=offset, reader=reader, session=session)
    return h


CASES: dict[str, Case] = {
    "what a live reader got where the final read has it is no finding": Case(
        lambda h: _given(_sent(h, 0, 1), "live", 20, 21)
    ),
    "live only, never sent: a phantom": Case(
        lambda h: h.give(3, at=20), ({"finding": "phantom", "seq": 3, "offsets": [], "reader": "live"},)
    ),
    "live only, from another partition: misplaced": Case(
        lambda h: _sent(h, 0).give(0, at=20, partition=1), ({"finding": "misplaced", "copies": 1},)
    ),
    "live only, with another key: corrupt": Case(
        lambda h: h.send(0, at=20, key=5).read(0, at=20, key=5).give(0, at=20, key=6),
        ({"finding": "corrupt", "detail": "sent with key 5, read with key 6"},),
    ),
    "read committed with another key: corrupt": Case(
        lambda h: h.send(0, at=20, key=5).read(0, at=20, key=5).read_committed(0, at=20),
        ({"finding": "corrupt", "detail": "sent with key 5, read with key none"},),
    ),
    "a live reader got a value that does not check, and the final read one that does": Case(
        lambda h: _sent(h, 0).give(0, at=20, state="corrupt"),
        (
            {
                "finding": "corrupt",
                "seq": 0,
                "offsets": [20],
                "copies": 0,
                "reader": "live",
                "count": 1,
                "detail": "live reader live got what the final read does not hold: CRC does not match; t-*",
            },
        ),
    ),
    "two readers got it, one of them twice": Case(
        lambda h: (
            _sent(h, 0)
            .give(0, at=20, state="corrupt")
            .give(0, at=20, state="corrupt", session=1)
            .give(0, at=20, state="corrupt", reader="strict")
        ),
        (
            {"finding": "corrupt", "reader": "live", "count": 2},
            {"finding": "corrupt", "reader": "strict", "count": 1},
        ),
    ),
    "the value does not check for anybody: told once": Case(
        lambda h: h.send(0, "indeterminate").read(0, at=20, state="corrupt").give(0, at=20, state="corrupt"),
        ({"finding": "corrupt", "offsets": [20], "copies": 1, "reader": None},),
    ),
    "rejected, given to a live reader only": Case(
        lambda h: h.send(0, "rejected").give(0, at=20), ({"finding": "rejected_present", "copies": 0},)
    ),
    "a live reader got it where the final read holds another": Case(
        lambda h: _sent(h, 0, 1).give(0, at=21),
        ({"finding": "inconsistent_offset", "seq": 0, "reader": "live", "detail": "*holds another record*"},),
    ),
    "not in the final read, and another stands where a live reader got it": Case(
        lambda h: _sent(h, 1).send(0, "indeterminate").give(0, at=20),
        ({"finding": "inconsistent_offset", "seq": 0, "detail": "*; not in the log"},),
    ),
    "acknowledged, given to a live reader, and another stands there now: lost": Case(
        lambda h: _sent(h, 1).send(0, at=20).give(0, at=20),
        ({"finding": "lost", "place": "overwritten", "detail": "*live reader live had got it at offset 20"},),
    ),
    "a live reader got it where the final read holds nothing": Case(
        lambda h: _sent(h, 0).give(0, at=30),
    ),
    "acknowledged, given to a live reader, absent: lost": Case(
        lambda h: h.send(0, at=20).give(0, at=20),
        ({"finding": "lost", "reader": "live", "detail": "*live reader live had got it at offset 20"},),
    ),
    "not acknowledged, given to a live reader, absent: vanished": Case(
        lambda h: (
            h.send(0, "indeterminate", sent=41).send(1, "unconfirmed", sent=41).give(0, at=20).give(1, at=21)
        ),
        (
            {"finding": "vanished", "seq": 0, "windows": "cut-1", "reader": "live"},
            {"finding": "vanished", "seq": 1},
        ),
    ),
    "not acknowledged, given to a live reader, present: recovered": Case(
        lambda h: h.send(0, "indeterminate").read(0, at=20).give(0, at=20), ({"finding": "recovered"},)
    ),
    "given at an offset that retention may have deleted: not vanished": Case(
        lambda h: h.send(0, "indeterminate", sent=1).give(0, at=LOG_START - 1)
    ),
    "given below the log start but too young to be deleted: vanished": Case(
        lambda h: h.send(0, "indeterminate", sent=41).give(0, at=LOG_START - 1), ({"finding": "vanished"},)
    ),
    "a committed transaction, read by all": Case(
        lambda h: _given(_sent(h, 0, txn=0).txn(0).read_committed(0, at=20), "strict", 20)
    ),
    "an aborted transaction, in the log and read by no one else": Case(
        lambda h: _sent(h, 0, txn=0).txn(0, "aborted").give(0, at=20)
    ),
    "an aborted transaction in the final read of committed records": Case(
        lambda h: _sent(h, 0, txn=0).txn(0, "aborted").read_committed(0, at=20),
        ({"finding": "aborted_read", "txn": 0, "reader": None, "detail": "*the final read*"},),
    ),
    "an aborted transaction given to a live reader of committed records": Case(
        lambda h: _given(_sent(h, 0, txn=0).txn(0, "aborted"), "strict", 20),
        ({"finding": "aborted_read", "reader": "strict", "detail": "*live reader strict*"},),
    ),
    "a transaction of unknown end may be read or not": Case(
        lambda h: (
            _sent(h, 0, txn=0).txn(0, "indeterminate").read_committed(0, at=20)
            and _sent(h, 1, first=21, txn=1).txn(1, "indeterminate")
        )
    ),
    "part of a committed transaction is missing from the read of committed records": Case(
        lambda h: _sent(h, 0, 1, txn=0).txn(0).read_committed(0, at=20),
        ({"finding": "torn_transaction", "seq": 1, "txn": 0},),
    ),
    "all of a committed transaction is missing there: lost": Case(
        lambda h: _sent(h, 0, 1, txn=0).txn(0),
        tuple({"finding": "lost", "seq": seq, "place": "not committed", "held_by": None} for seq in (0, 1)),
    ),
    "another transaction does not stand for it": Case(
        lambda h: _sent(h, 0, txn=0).txn(0).read_committed(0, at=20) and _sent(h, 1, first=21, txn=1).txn(1),
        ({"finding": "lost", "seq": 1, "txn": 1, "place": "not committed"},),
    ),
    "outside of a transaction nothing is torn": Case(lambda h: _sent(h, 0)),
    "offsets that go back in a session": Case(
        lambda h: _given(_sent(h, 0, 1, 2), "live", 20, 21, 22, 21),
        ({"finding": "nonmonotonic_read", "seq": 1, "offsets": [21], "reader": "live", "count": 1},),
    ),
    "the same offset twice in a session": Case(
        lambda h: _given(_sent(h, 0), "live", 20, 20), ({"finding": "nonmonotonic_read", "offsets": [20]},)
    ),
    "offsets that go back in a new session, or in another partition": Case(
        lambda h: (
            _given(_given(_sent(h, 0, 1), "live", 20, 21), "live", 20, 21, session=1)
            and h.send(0, at=10, producer=1, partition=1).read(0, at=10, producer=1, partition=1)
            and h.give(0, at=10, producer=1, partition=1, session=1)
        )
    ),
    "a reader passes over what the final read holds": Case(
        lambda h: _given(_sent(h, 0, 1, 2, 3), "live", 20, 23),
        ({"finding": "skipped", "offsets": [21], "count": 2, "seq": 1, "reader": "live"},),
    ),
    "a bad value that is passed over is skipped too": Case(
        lambda h: _given(
            _sent(h, 0).read(9, at=21, state="corrupt").send(2, at=22).read(2, at=22), "live", 20, 22
        ),
        (
            {"finding": "skipped", "offsets": [21], "count": 1, "seq": None},
            {"finding": "corrupt"},
        ),
    ),
    "each run of offsets that is passed over is a finding": Case(
        lambda h: _given(
            _sent(h, 0)
            .send(1, at=21)
            .read(1, at=21)
            .send(3, at=23)
            .read(3, at=23)
            .send(4, at=24)
            .read(4, at=24),
            "live",
            20,
            24,
        ),
        ({"finding": "skipped", "offsets": [21]}, {"finding": "skipped", "offsets": [23]}),
    ),
    "nothing in the final read is passed over": Case(
        lambda h: _given(_sent(h, 0).send(3, at=23).read(3, at=23), "live", 20, 23)
    ),
    "before, after and between sessions nothing is passed over": Case(
        lambda h: _given(_given(_sent(h, 0, 1, 2, 3, 4), "live", 21), "live", 23, session=1)
    ),
    "a reader of committed records may pass over others": Case(
        lambda h: _given(
            _sent(h, 0, 1, txn=0).txn(0, "aborted")
            and _sent(h, 2, first=22, txn=1).txn(1).read_committed(2, at=22)
            and h.send(9, producer=1).read(9, at=19, producer=1).read_committed(9, at=19, producer=1)
            and h.give(9, at=19, producer=1, reader="strict"),
            "strict",
            22,
        )
    ),
    "a reader of committed records passes over one": Case(
        lambda h: (
            _sent(h, 0, 1, 2, txn=0).txn(0)
            and [h.read_committed(seq, at=20 + seq) for seq in range(3)]
            and _given(h, "strict", 20, 22)
        ),
        ({"finding": "skipped", "offsets": [21], "reader": "strict"},),
    ),
    "one group, two members: none passes over what the other got": Case(
        lambda h: _given(_given(_sent(h, 0, 1, 2), "one", 20, 22), "two", 21)
    ),
    "a group passes over what no member got": Case(
        lambda h: _given(_given(_sent(h, 0, 1, 2, 3), "one", 20), "two", 23, session=1),
        ({"finding": "skipped", "offsets": [21], "count": 2, "reader": "pair"},),
    ),
    "a group that committed beyond what it got passed it over": Case(
        lambda h: _given(_sent(h, 0, 1, 2), "one", 20).commit(22, reader="two"),
        ({"finding": "skipped", "offsets": [21], "count": 1, "reader": "pair"},),
    ),
    "a commit of what it got, one that failed, and one of another group": Case(
        lambda h: (
            _given(_sent(h, 0, 1, 2), "one", 20)
            .commit(21, reader="one")
            .commit(23, reader="one", error="REBALANCE_IN_PROGRESS")
            .commit(23, reader="cautious")
        )
    ),
    "a group gets an offset again, from whichever member": Case(
        lambda h: _given(_given(_sent(h, 0, 1), "one", 20, 21), "two", 21, session=1),
        ({"finding": "redelivered", "seq": 1, "offsets": [21], "count": 2, "reader": "pair"},),
    ),
    "two groups get an offset once each, a reader without a group twice": Case(
        lambda h: (
            _given(_given(_sent(h, 0), "one", 20), "live", 20)
            and _given(h.read_committed(0, at=20), "cautious", 20)
            and _given(h, "live", 20, session=1)
        )
    ),
}


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """Findings of every case. Each has ten producer numbers and two partitions of its own."""
    histories = []
    for index, case in enumerate(CASES.values()):
        history = History(producer=10 * index, partition=2 * index)
        case.tell(history)
        histories.append(history)
    final = FinalRead(
        complete=True,
        bounds=tuple(bounds(partition, LOG_START, LOG_END) for partition in range(2 * len(CASES))),
        finished_ns=ns(FINISHED),
        replicas_inspected=(1, 2, 3),
    )
    meta = run_meta(
        final_read=final,
        windows=(window("kill-1", 5, 10), window("cut-1", 50, None)),
        topic_config={"retention.ms": "60000"},
        transactional=True,
        readers=READERS,
    )
    folder = write_run(tmp_path_factory.mktemp("cases"), *histories, meta=meta)
    assert check_run(spark, folder).problems == ()
    rows = findings_of(folder)
    return {name: [row for row in rows if row["partition"] // 2 == index] for index, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_case(told: dict[str, list[Row]], name: str) -> None:
    same(told[name], CASES[name].expect)


def test_every_finding_has_a_sentence(told: dict[str, list[Row]]) -> None:
    assert all(row["detail"] for rows in told.values() for row in rows)
