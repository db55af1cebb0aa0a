"""Each class of finding and its near misses: many small histories side by side in one run, checked once."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from harness.model.run import FinalRead
from tests.support.finding_cases import LOG_END, LOG_START, Case, same
from tests.support.history import (
    FINISHED,
    OTHER_RUN,
    Check,
    History,
    Row,
    bounds,
    findings_of,
    ns,
    run_meta,
    window,
    write_run,
)

pytestmark = pytest.mark.spark


WINDOWS = (window("kill-1", 5, 10), window("cut-1", 20, 30), window("pause-1", 40, None))


CASES: dict[str, Case] = {
    "acked and read is no finding": Case(lambda h: h.send(0, at=20).read(0, at=20)),
    "acked and absent is lost": Case(
        lambda h: h.send(0, at=20), ({"finding": "lost", "seq": 0, "place": "unknown", "acked_offset": 20},)
    ),
    "read at another offset than acked is not lost": Case(lambda h: h.send(0, at=20).read(0, at=21)),
    "acked without an offset and read is no finding": Case(lambda h: h.send(0).read(0, at=20)),
    "acked without an offset and absent is lost, place unknown": Case(
        lambda h: h.send(0), ({"finding": "lost", "place": "unknown", "acked_offset": None},)
    ),
    "another record at the acked offset: overwritten": Case(
        lambda h: h.send(0, at=20).send(1, at=21).read(1, at=20),
        ({"finding": "lost", "seq": 0, "place": "overwritten"},),
    ),
    "another record at that offset of another partition: not overwritten": Case(
        lambda h: h.send(0, at=20).send(1, at=20, partition=1).read(1, at=20, partition=1),
        ({"finding": "lost", "seq": 0, "place": "unknown"},),
    ),
    "a bad value at the acked offset: lost and corrupt": Case(
        lambda h: h.send(0, at=20).read(0, at=20, state="corrupt", value=b"\x01\x02"),
        (
            {"finding": "corrupt", "seq": 0, "offsets": [20]},
            {"finding": "lost", "place": "overwritten", "detail": "*a damaged value*"},
        ),
    ),
    "acked at the end of the log: tail": Case(
        lambda h: h.send(0, at=LOG_END), ({"finding": "lost", "place": "tail"},)
    ),
    "acked at the last offset of the log is no tail": Case(
        lambda h: h.send(0, at=LOG_END - 1), ({"finding": "lost", "place": "unknown"},)
    ),
    "replicas that hold a lost record": Case(
        lambda h: h.send(0, at=20).replica(3, 0).replica(2, 0).replica(2, 0),
        ({"finding": "lost", "held_by": [2, 3], "detail": "*in the files of broker 2, 3"},),
    ),
    "a replica's bad value, another record or another run holds nothing": Case(
        lambda h: (
            h.send(0, at=20)
            .replica(1, 0, at=1, state="corrupt")
            .replica(2, 1, at=2)
            .replica(3, 0, at=3, run=OTHER_RUN)
        ),
        ({"finding": "lost", "held_by": []},),
    ),
    "two places are a duplicate": Case(
        lambda h: h.send(0, at=20).read(0, at=20, epoch=1).read(0, at=25, epoch=2),
        ({"finding": "duplicate", "copies": 2, "epochs": 2, "offsets": [20, 25], "outcome": "acked"},),
    ),
    "two reads of one offset are no duplicate": Case(
        lambda h: h.send(0, at=20).read(0, at=20).read(0, at=20, reader="again")
    ),
    "copies of an indeterminate send are a duplicate, not recovered": Case(
        lambda h: h.send(0, "indeterminate", error="_MSG_TIMED_OUT").read(0, at=21).read(0, at=20),
        ({"finding": "duplicate", "outcome": "indeterminate", "epochs": 1, "error": "_MSG_TIMED_OUT"},),
    ),
    "copies beyond the fifth are counted, not listed": Case(
        lambda h: [h.send(0, at=20), *(h.read(0, at=30 - i) for i in range(7)), h.read(0, at=30)],
        ({"finding": "duplicate", "copies": 7, "offsets": [24, 25, 26, 27, 28]},),
    ),
    "never sent is a phantom": Case(
        lambda h: h.read(3, at=20, key=9),
        ({"finding": "phantom", "seq": 3, "offsets": [20], "outcome": None, "key": 9, "windows": ""},),
    ),
    "another run's record is a phantom, also under an identity of ours": Case(
        lambda h: h.send(0, at=20).read(0, at=20).read(0, at=21, run=OTHER_RUN, state="foreign"),
        ({"finding": "phantom", "detail": f"*another run ({OTHER_RUN})*"},),
    ),
    "another producer's sequence number does not stand for ours": Case(
        lambda h: h.send(0, at=20).send(1, producer=1).read(1, at=21, producer=1),
        ({"finding": "lost", "seq": 0},),
    ),
    "another partition than sent to is misplaced": Case(
        lambda h: h.send(0, at=20).read(0, at=20, partition=1), ({"finding": "misplaced", "copies": 1},)
    ),
    "another topic than sent to is misplaced": Case(
        lambda h: h.send(0, at=20).read(0, at=20, topic="u"),
        ({"finding": "misplaced", "detail": "sent to t-*, read from u-*"},),
    ),
    "one copy in place and one elsewhere is misplaced, not duplicate": Case(
        lambda h: h.send(0, at=20).read(0, at=20).read(0, at=20, partition=1),
        ({"finding": "misplaced", "copies": 2, "offsets": [20, 20]},),
    ),
    "the copy elsewhere may also come first": Case(
        lambda h: h.send(0, at=20, partition=1).read(0, at=20, partition=1).read(0, at=20),
        ({"finding": "misplaced", "copies": 2},),
    ),
    "a rejected record elsewhere is misplaced before all": Case(
        lambda h: h.send(0, "rejected").read(0, at=20, partition=1), ({"finding": "misplaced"},)
    ),
    "another key than sent is corrupt": Case(
        lambda h: h.send(0, at=20, key=5).read(0, at=20, key=6),
        ({"finding": "corrupt", "key": 5, "detail": "sent with key 5, read with key 6"},),
    ),
    "a key where none was sent is corrupt": Case(
        lambda h: h.send(0, at=20).read(0, at=20, key=6),
        ({"finding": "corrupt", "detail": "sent with key none, read with key 6"},),
    ),
    "no key where one was sent is corrupt, in any copy": Case(
        lambda h: h.send(0, at=20, key=5).read(0, at=20, key=5).read(0, at=21),
        ({"finding": "corrupt", "copies": 2},),
    ),
    "a greater or a smaller key in a second copy is corrupt, not duplicate": Case(
        lambda h: (
            [h.send(seq, at=20, key=5).read(seq, at=20, key=5) for seq in (0, 1)]
            and h.read(0, at=21, key=6).read(1, at=22, key=4)
        ),
        (
            {"finding": "corrupt", "detail": "sent with key 5, read with key 6"},
            {"finding": "corrupt", "detail": "sent with key 5, read with key 4"},
        ),
    ),
    "the key that was sent is no finding": Case(lambda h: h.send(0, at=20, key=5).read(0, at=20, key=5)),
    "rejected and present": Case(
        lambda h: h.send(0, "rejected", error="MSG_SIZE_TOO_LARGE").read(0, at=20),
        ({"finding": "rejected_present", "error": "MSG_SIZE_TOO_LARGE", "detail": "refused (MSG_SIZE*"},),
    ),
    "rejected and twice present stays rejected_present": Case(
        lambda h: h.send(0, "rejected").read(0, at=20).read(0, at=21),
        ({"finding": "rejected_present", "copies": 2},),
    ),
    "rejected and absent is no finding": Case(lambda h: h.send(0, "rejected")),
    "indeterminate and present is recovered": Case(
        lambda h: h.send(0, "indeterminate").read(0, at=20), ({"finding": "recovered", "offsets": [20]},)
    ),
    "indeterminate and absent is no finding": Case(lambda h: h.send(0, "indeterminate", at=20)),
    "unconfirmed and present is recovered": Case(
        lambda h: h.send(0, "unconfirmed").read(0, at=20), ({"finding": "recovered"},)
    ),
    "unconfirmed and absent is counted apart from lost": Case(
        lambda h: h.send(0, "unconfirmed"),
        ({"finding": "unconfirmed_absent", "place": None, "held_by": None},),
    ),
    "old enough and below the log start is expired": Case(
        lambda h: h.send(0, at=LOG_START - 1, sent=40), ({"finding": "expired", "place": None},)
    ),
    "too young for retention is lost": Case(
        lambda h: h.send(0, at=LOG_START - 1, sent=40.001), ({"finding": "lost"},)
    ),
    "at the log start is lost": Case(lambda h: h.send(0, at=LOG_START, sent=1), ({"finding": "lost"},)),
    "without an offset nothing is expired": Case(lambda h: h.send(0, sent=1), ({"finding": "lost"},)),
    "a value that does not decode is corrupt": Case(
        lambda h: h.read(None, at=20, producer=None, run=None, state="undecodable", value=b"junk"),
        ({"finding": "corrupt", "seq": None, "detail": "*4 bytes beginning 6A756E6B"},),
    ),
    "a higher seq at a lower offset: the lower seq is late": Case(
        lambda h: h.send(0, at=21).send(1, at=20).send(2, at=22).read(0, at=21).read(1, at=20).read(2, at=22),
        ({"finding": "reordered", "seq": 0, "offsets": [21]},),
    ),
    "all that lie behind a later one are late": Case(
        lambda h: [h.send(seq, at=24 - seq).read(seq, at=24 - seq) for seq in range(3)],
        ({"finding": "reordered", "seq": 0}, {"finding": "reordered", "seq": 1}),
    ),
    "a late record has the producer and seq of a foreign one": Case(
        lambda h: (
            h.send(0, at=21).send(1, at=20).read(0, at=21).read(1, at=20)
            and h.read(0, at=22, run=OTHER_RUN, state="foreign")
        ),
        ({"finding": "phantom", "seq": 0}, {"finding": "reordered", "seq": 0}),
    ),
    "order goes by producer and partition": Case(
        lambda h: (
            h.send(0, at=21).read(0, at=21).send(1, at=20, partition=1).read(1, at=20, partition=1)
            and h.send(1, at=19, producer=1).read(1, at=19, producer=1)
        )
    ),
    "order goes by the first copy, and a duplicate is no late one": Case(
        lambda h: h.send(0, at=20).send(1, at=25).read(0, at=30).read(0, at=20).read(1, at=25),
        ({"finding": "duplicate", "seq": 0},),
    ),
    "what lies in another partition, or was never sent, makes none late": Case(
        lambda h: h.send(0, at=21).read(0, at=21).send(1, at=20).read(1, at=20, partition=1).read(2, at=19),
        ({"finding": "misplaced", "seq": 1}, {"finding": "phantom", "seq": 2}),
    ),
    "late and indeterminate is reordered, not recovered": Case(
        lambda h: h.send(0, "indeterminate").send(1, at=20).read(0, at=21).read(1, at=20),
        ({"finding": "reordered", "seq": 0},),
    ),
    "another record where it was acknowledged, itself elsewhere": Case(
        lambda h: h.send(0, at=20).send(1, at=20).read(0, at=21).read(1, at=20),
        ({"finding": "inconsistent_offset", "seq": 0, "detail": "acknowledged at offset 20 of t-*"},),
    ),
    "a bad value where it was acknowledged is no other record": Case(
        lambda h: h.send(0, at=20).read(0, at=21).read(9, at=20, state="corrupt"),
        ({"finding": "corrupt", "seq": 9},),
    ),
    "read where it was acknowledged and elsewhere is a duplicate": Case(
        lambda h: h.send(0, at=20).send(1, at=19).read(0, at=20).read(0, at=19),
        ({"finding": "duplicate", "seq": 0}, {"finding": "lost", "seq": 1}),
    ),
    "without an acknowledged offset nothing is inconsistent": Case(
        lambda h: h.send(0).send(1, at=20).read(0, at=19).read(1, at=20)
    ),
    "replicas that hold different records at an offset have diverged": Case(
        lambda h: h.replica(1, 0, at=20).replica(2, 1, at=20).replica(3, 0, at=20),
        (
            {
                "finding": "diverged",
                "offsets": [20],
                "held_by": [2],
                "detail": "*broker 2 differs from offset 20 on*",
            },
        ),
    ),
    "so they have by checksum or leader epoch": Case(
        lambda h: (
            h.replica(1, 0, at=20).replica(2, 0, at=20, crc=1)
            and h.replica(1, 1, at=21).replica(2, 1, at=21, epoch=1)
        ),
        (
            {"finding": "diverged", "offsets": [20], "held_by": [2]},
            {"finding": "diverged", "offsets": [21], "detail": "*broker 2 differs from offset 20 on*"},
        ),
    ),
    "the same records, at the end or beyond the high watermark: not diverged": Case(
        lambda h: (
            h.replica(1, 0, at=20).replica(2, 0, at=20).replica(3, 0, at=20)
            and h.replica(1, 1, at=LOG_END).replica(2, 2, at=LOG_END)
        )
    ),
    "a hole in a replica that the leader fills is a divergence": Case(
        lambda h: (
            [h.replica(1, at, at=at) for at in (20, 21, 22)] and h.replica(2, 20, at=20).replica(2, 22, at=22)
        ),
        ({"finding": "diverged", "offsets": [21], "held_by": [2]},),
    ),
    "a replica that begins later or ends earlier has not diverged": Case(
        lambda h: [h.replica(1, at, at=at) for at in (20, 21, 22)] and h.replica(2, 21, at=21)
    ),
    "a hole where the leader holds nothing either is none": Case(
        lambda h: (
            h.replica(1, 20, at=20).replica(1, 22, at=22).replica(2, 20, at=20).replica(2, 22, at=22)
            and h.replica(3, 21, at=21)
        )
    ),
    "a window open between send and report": Case(
        lambda h: h.send(0, "unconfirmed", sent=4, closed=6),
        ({"windows": "kill-1"},),
    ),
    "windows that touch at their edges count, others do not": Case(
        lambda h: h.send(0, "unconfirmed", sent=10, closed=20).send(1, "unconfirmed", sent=11, closed=19),
        ({"windows": "kill-1 + cut-1"}, {"windows": ""}),
    ),
    "without a report a send was open to the end": Case(
        lambda h: h.send(0, "indeterminate", sent=11, closed=None).read(0, at=20),
        ({"finding": "recovered", "windows": "cut-1 + pause-1"},),
    ),
    "a lost record names every window since it was sent": Case(
        lambda h: h.send(0, at=20, sent=11, closed=12), ({"finding": "lost", "windows": "cut-1 + pause-1"},)
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
    meta = run_meta(final_read=final, windows=WINDOWS, topic_config={"retention.ms": "60000"})
    folder = write_run(tmp_path_factory.mktemp("cases"), *histories, meta=meta)
    check_run(spark, folder)
    rows = findings_of(folder)
    return {name: [row for row in rows if row["partition"] // 2 == index] for index, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_case(told: dict[str, list[Row]], name: str) -> None:
    same(told[name], CASES[name].expect)


def test_every_finding_has_a_sentence(told: dict[str, list[Row]]) -> None:
    assert all(row["detail"] for rows in told.values() for row in rows)


def test_a_retention_that_never_ends_deletes_nothing(check: Check) -> None:
    final = FinalRead(complete=True, bounds=(bounds(0, LOG_START, LOG_END),), finished_ns=ns(FINISHED))
    meta = run_meta(final_read=final, topic_config={"retention.ms": str(2**63 - 1)})
    _, rows = check(History().send(0, at=LOG_START - 1, sent=1), meta=meta)
    assert [row["finding"] for row in rows] == ["lost"]
