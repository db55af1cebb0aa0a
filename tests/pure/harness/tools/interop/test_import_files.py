"""Files of other tools as people have them: prefixes, containers, clients, dumps, and what is refused."""

from __future__ import annotations

import json
import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.model.errors import BadInput
from harness.tools.interop.import_files import (
    _JSON_FILE,
    PRODUCER_TOOL,
    _formats,
    split_prefix,
    streams_of,
)
from harness.tools.interop.import_summary import VerifiableImport
from harness.tools.interop.verifiable_import import Imported, import_run
from tests.support.paths import ROOT
from tests.support.verifiable_output import LOG, START, STOP, assigned, got, polled, sent, summary

pytestmark = pytest.mark.pure

CASES = ROOT / "tests" / "support" / "cases"
TIME = "2026-11-20T10:00:01.123456789Z"
SENT = [START, *(sent(str(seq), seq) for seq in range(3)), STOP, summary(3)]
READ = [START, assigned(0), *(got(str(seq), seq) for seq in range(3)), polled(3), STOP]
SHARED = (CASES / "i-share-again.log").read_text().splitlines()
KCAT = [
    json.dumps({"topic": "t", "partition": 0, "offset": seq, "tstype": "create", "ts": 17, "broker": 1,
                "key": None, "payload": str(seq)})
    for seq in range(3)
]  # fmt: skip


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
    return found


def run_of(folder: Path, sends: bytes | list[str], reads: bytes | list[str], **options: Any) -> Imported:
    """An import of these two files, the second as the final read, into `folder/run`."""
    for name, content in (("p.log", sends), ("c.log", reads)):
        text = content if isinstance(content, bytes) else "\n".join([*content, ""]).encode()
        (folder / name).write_bytes(text)
    request = VerifiableImport((folder / "p.log",), finals=(folder / "c.log",), complete=True, **options)
    return import_run(request, folder / "run")


def seen(folder: Path) -> tuple[list[int], list[int]]:
    """Numbers that were acknowledged, and those of the final read."""
    sends, reads = rows(folder / "run" / "sends"), rows(folder / "run" / "reads")
    return [row["seq"] for row in sends if row["outcome"] == "acked"], [row["seq"] for row in reads]


@pytest.mark.parametrize("producer", ["i-java-producer", "i-ckp-producer", "i-compose-producer"])
def test_what_people_have_at_hand_is_read(producer: str, tmp_path: Path) -> None:
    files = [(CASES / f"{name}.log").read_bytes() for name in (producer, "i-java-full")]
    done = run_of(tmp_path, *files)
    assert seen(tmp_path) == (list(range(20)), list(range(20)))
    assert done.meta.problems == ()
    assert done.meta.final_read is not None
    assert done.meta.final_read.complete
    assert done.meta.client == ("librdkafka" if "ckp" in producer else "java")
    told = {
        "i-ckp-producer": "a zone are taken as UTC",
        "i-compose-producer": "prefix of docker compose logs",
    }
    assert told.get(producer, "23 events") in done.file_lines[0]


def test_confluents_consumer_is_read(tmp_path: Path) -> None:
    request = VerifiableImport(
        (CASES / "i-ckp-producer.log",), (CASES / "i-ckp-consumer.log",), complete=True
    )
    done = import_run(request, tmp_path / "run")
    assert [row["seq"] for row in rows(tmp_path / "run" / "reads")] == [n for n in range(20) if n != 7]
    assert [(row["offset"], row["error"]) for row in rows(tmp_path / "run" / "commits")] == [(20, None)]
    assert done.meta.readers[0].client == "librdkafka"
    assert done.meta.final_read is not None
    assert done.meta.final_read.complete
    # 2026-11-20 10:00:00.000001, taken as UTC.
    assert done.meta.started_ns == 1_795_168_800_000 * 10**6


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        ("producer-1  | ", "docker compose logs"),
        ("\x1b[36mproducer-1  |\x1b[0m ", "docker compose logs"),
        (f"producer-1  | {TIME} ", "docker compose logs"),
        (f"{TIME} ", "docker logs -t, kubectl logs --timestamps"),
        ("2026-11-20T10:00:01+01:00 ", "docker logs -t, kubectl logs --timestamps"),
        (f"{TIME} stdout F ", "log file of a pod"),
        ("[pod/orders-0/producer] ", "kubectl logs --prefix"),
        (f"[pod/orders-0/producer] {TIME} ", "kubectl logs --prefix"),
        ("Nov 20 10:00:01 host1 docker[812]: ", "syslog, journalctl"),
        ("<30>Nov  2 10:00:01 host1 producer: ", "syslog, journalctl"),
        ("2026-11-20T10:00:01+0000 host1 producer[7]: ", "syslog, journalctl"),
        (f"<30>1 {TIME} host1 producer 7 - - ", "syslog (RFC 5424)"),
    ],
)
def test_prefixes_are_taken_off_and_named(prefix: str, name: str, tmp_path: Path) -> None:
    done = run_of(tmp_path, [prefix + line for line in [LOG, *SENT]], READ)
    assert seen(tmp_path) == ([0, 1, 2], [0, 1, 2])
    assert f"without the prefix of {name}" in done.file_lines[0]
    assert "6 events, 1 other lines" in done.file_lines[0]


def test_docker_s_own_log_file_is_read(tmp_path: Path) -> None:
    sends = [json.dumps({"log": f"{line}\n", "stream": "stdout", "time": TIME}) for line in SENT]
    done = run_of(tmp_path, sends, READ)
    assert seen(tmp_path) == ([0, 1, 2], [0, 1, 2])
    assert "without the prefix of log file of docker (json-file)" in done.file_lines[0]


@pytest.mark.parametrize("line", [*SENT, *READ, *KCAT, LOG, "Partition:0\tOffset:1\t5", "12 of 20", ""])
def test_what_has_no_prefix_stays_whole(line: str) -> None:
    assert split_prefix(line.encode()) == ("", (), line.encode())


def test_values_with_what_looks_like_a_prefix_stay_whole() -> None:
    line = json.dumps({"timestamp": 1, "name": "record_data", "value": f"a | {TIME} host tag: b"})
    assert split_prefix(f"c-1 | {line}".encode()) == ("c-1", ("docker compose logs",), line.encode())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_ends_of_lines_and_marks_of_windows(encoding: str, tmp_path: Path) -> None:
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    done = run_of(tmp_path, (mark + "\r\n".join([*SENT, ""])).encode(encoding), READ)
    assert seen(tmp_path) == ([0, 1, 2], [0, 1, 2])
    assert done.file_lines[0].endswith("p.log: 6 events")


def test_containers_in_one_file_are_told_apart(tmp_path: Path) -> None:
    # Two producers, one of which was killed, two consumers and a broker, as `docker compose logs` mixes them.
    first = [START, *(sent(f"1.{seq}", seq) for seq in range(2)), STOP, summary(2)]
    second = [START, sent("2.0", 2)]
    reads = [START, assigned(0), got("1.0", 0), got("1.1", 1), got("2.0", 2), got("2.1", 3), polled(4)]
    said = {"p-1": first, "p-2": second, "c-1": reads, "c-2": reads, "kafka-1": [LOG] * 9}
    lines = [
        f"{name:8}| {lines[number]}"
        for number in range(9)
        for name, lines in said.items()
        if number < len(lines)
    ]
    path = tmp_path / "all.log"
    path.write_text("Attaching to p-1, p-2\n" + "\n".join(lines) + '\nc-2     | {"timestamp":')
    done = import_run(VerifiableImport((path,), consumers=(path,), complete=True), tmp_path / "run")
    outcomes = {(row["producer"], row["seq"]): row["outcome"] for row in rows(tmp_path / "run" / "sends")}
    # The count of the first is not that of the second, which may have sent what was read.
    assert outcomes == {(1, 0): "acked", (1, 1): "acked", (2, 0): "acked", (2, 1): "indeterminate"}
    assert [reader.name for reader in done.meta.readers] == ["c-1", "c-2"]
    assert len(rows(tmp_path / "run" / "live" / "c-1")) == 4
    assert done.meta.problems == ()
    assert any(line.startswith(f"{path} (p-2): 2 events") for line in done.file_lines)
    assert f"(the first: line {len(lines) + 2})" in done.file_lines[-1]
    assert done.meta.final_read is not None
    assert done.meta.final_read.reasons == ("all.log (c-2): 1 damaged lines may have reported records",)


def test_pods_in_one_file_are_told_apart(tmp_path: Path) -> None:
    pods = {"[pod/p-0/main] ": SENT, "[pod/c-0/main] ": READ, "[pod/c-1/main] ": READ[:-3]}
    path = tmp_path / "all.log"
    path.write_text("\n".join(prefix + line for prefix, lines in pods.items() for line in lines))
    done = import_run(VerifiableImport((path,), (path,), complete=True), tmp_path / "run")
    assert [reader.name for reader in done.meta.readers] == ["pod-c-0-main", "pod-c-1-main"]
    assert done.file_lines[0].startswith(
        f"{path} (pod/p-0/main): 6 events, without the prefix of kubectl logs"
    )


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("\n".join(SENT)))
    writer.start()
    with ExitStack() as stack:
        (stream,) = streams_of(pipe, (PRODUCER_TOOL,), stack)
        assert [line.decode() for line in stream.lines() if line is not None] == SENT
    writer.join()


def columns(seq: int, *before: str, separator: str = "\t") -> str:
    return separator.join([*before, str(seq)])


@pytest.mark.parametrize(
    "dump",
    [
        KCAT,
        [*KCAT, "% Reached end of topic t [0] at offset 3: exiting"],
        [columns(seq, "Partition:0", f"Offset:{seq}") for seq in range(3)],
        [columns(seq, "CreateTime:17", "Partition:0", f"Offset:{seq}", "NO_HEADERS") for seq in range(3)],
        [columns(seq, "NO_TIMESTAMP", "Partition:0", f"Offset:{seq}", "a:b,c:d", "null") for seq in range(3)],
        [columns(seq, "Partition:0", f"Offset:{seq}", "Delivery:1", "null") for seq in range(3)],
        [columns(seq, "Partition:0", f"Offset:{seq}", "null", separator=" - ") for seq in range(3)],
        [*(columns(seq, "Partition:0", f"Offset:{seq}") for seq in range(3)), "Processed a total of 3"],
        [f"c-1  | {line}" for line in KCAT],
    ],
)  # fmt: skip
def test_a_dump_of_the_topic_is_a_final_read(dump: list[str], tmp_path: Path) -> None:
    done = run_of(tmp_path, SENT, dump)
    reads = rows(tmp_path / "run" / "reads")
    assert [(row["topic"], row["partition"], row["offset"], row["seq"], row["key"]) for row in reads] == [
        ("t", 0, seq, seq, None) for seq in range(3)
    ]
    # It prints no time of reading: that is the time of the producers' last report.
    assert {row["read_ns"] for row in reads} == {done.meta.ended_ns}
    assert done.meta.final_read is not None
    assert done.meta.final_read.complete


def test_keys_of_dumps(tmp_path: Path) -> None:
    keyed = [START, *(sent(str(seq), seq, key=str(seq)) for seq in range(3)), summary(3)]
    with_keys = [columns(seq, "Partition:0", f"Offset:{seq}", str(seq)) for seq in range(3)]
    run_of(tmp_path, keyed, with_keys)
    assert [row["key"] for row in rows(tmp_path / "run" / "reads")] == [0, 1, 2]
    with pytest.raises(BadInput, match=r"(?s)keys of the records.*3 records without.*print\.key=true"):
        run_of(tmp_path / "run", keyed, [columns(seq, "Partition:0", f"Offset:{seq}") for seq in range(3)])


@pytest.mark.parametrize(
    "damage", ["Partition:0\tOff", "Partition:0\tOffset:4", "Partition:0\tOffset:4\ta\tb\tc", KCAT[0][:-9]]
)
def test_a_damaged_line_of_a_dump_makes_the_read_incomplete(damage: str, tmp_path: Path) -> None:
    done = run_of(tmp_path, SENT, [*KCAT, damage])
    assert done.meta.final_read is not None
    assert done.meta.final_read.reasons == ("c.log: 1 damaged lines may have reported records",)


def test_the_console_consumer_does_not_name_the_topic(tmp_path: Path) -> None:
    dump = [columns(0, "Partition:0", "Offset:0")]
    with pytest.raises(BadInput, match="--topic"):
        run_of(tmp_path, [START], dump)
    run_of(tmp_path, [START], dump, topic="orders")
    assert rows(tmp_path / "run" / "reads")[0]["topic"] == "orders"


UNREAD = {
    '{"event": "begin", "producer": 0, "run": 17, "topic": "orders"}': "events of a producer of your own",
    '{"progress":"a","totalProcessed":5,"consumed":5,"remaining":0}': "TransactionalMessageCopier",
    "\x00\x1b[2J": "such as this line: ??[2J",
    '{"originating_broker":{"id":1}}': "kcat -L",
    "Topic orders [0] at offset 5: key (0 bytes): 5": "kcat without -J",
    "1.17": "kafka-console-consumer without partitions",
    "CreateTime:17\tvalue": "kafka-console-consumer without partitions",
    "Partition:0\tvalue": "kafka-console-consumer without partitions",
    "baseOffset: 0 lastOffset: 4 count: 5": "kafka-dump-log",
    "5000 records sent, 1000.0 records/sec (0.95 MB/sec)": "kafka-producer-perf-test",
    "start.time, end.time, data.consumed.in.MB, MB.sec": "kafka-consumer-perf-test",
    "GROUP   TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET": "kafka-consumer-groups",
    "orders:0:17": "kafka-get-offsets",
    "{:index 0 :type :invoke}": "a history of Jepsen",
    "{": "JSON over several lines",
    "[": "an array of JSON",
    '[{"topic":"t","partition":0,"offset":0,"payload":"0"}]': "an array of JSON",
    '[{"timestamp":1,"name":"producer_send_success"}]': "an array of JSON",
    '{"topic": "t", "part": 0, "off": 0, "body": "0"}': "JSON with the fields topic, part, off, body",
    "order_id,outcome": "a table with the columns order_id, outcome",
    "parcel\tpartition\toffset": "a table with the columns parcel, partition, offset",
    "\x1f\x8b": "a compressed file",
    json.dumps({"MESSAGE": SENT[1], "_PID": "7"}): "JSON lines inside other JSON",
    f"orders-0 producer {SENT[1]}": "JSON lines behind an unknown prefix",
    LOG: "a log",
    "nothing of the kind": "a format that is not known, such as this line: nothing of the kind",
    "": "an empty file",
}


@pytest.mark.parametrize("line", UNREAD)
@pytest.mark.parametrize("option", ["producers", "consumers", "finals"])
def test_what_is_not_read_is_refused_by_name(line: str, option: str, tmp_path: Path) -> None:
    (tmp_path / "p.log").write_text("\n".join(SENT))
    path = tmp_path / "strange.log"
    path.write_bytes(f"{line}\r\n".encode("latin-1"))
    files = {"producers": (tmp_path / "p.log",), option: (path,)}
    with pytest.raises(BadInput) as refused:
        import_run(VerifiableImport(**files), tmp_path / "run")
    assert refused.value.where == str(path)
    assert UNREAD[line] in str(refused.value.found)
    assert refused.value.next_step


def test_every_format_has_a_case_and_a_place_in_the_docs() -> None:
    page = (ROOT / "docs" / "how-to" / "other-tools.md").read_text()
    assert all(any(words in name for words in UNREAD.values()) for name in _formats()["not_read"])
    names = [*_formats()["prefixes"], *_formats()["not_read"], *_formats()["read"], _JSON_FILE]
    assert [name for name in names if name.removeprefix("the output of ") not in page] == []


@pytest.mark.parametrize(
    ("option", "lines", "found", "named"),
    [
        ("producers", READ, "VerifiableConsumer", "--consumer or --final"),
        ("producers", KCAT, "kcat -J", "--final"),
        ("consumers", KCAT, "kcat -J", "--final"),
        ("consumers", SENT, "VerifiableProducer", "--producer"),
        ("finals", SENT, "VerifiableProducer", "--producer"),
        ("producers", SHARED, "VerifiableShareConsumer", "--consumer"),
        ("finals", SHARED, "VerifiableShareConsumer", "--consumer"),
    ],
)
def test_a_file_given_for_another_is_named(
    option: str, lines: list[str], found: str, named: str, tmp_path: Path
) -> None:
    (tmp_path / "p.log").write_text("\n".join(SENT))
    (tmp_path / "x.log").write_text("\n".join(lines))
    files = {"producers": (tmp_path / "p.log",), option: (tmp_path / "x.log",)}
    with pytest.raises(BadInput) as refused:
        import_run(VerifiableImport(**files), tmp_path / "run")
    assert refused.value.found == f"the output of {found}"
    assert refused.value.next_step is not None
    assert refused.value.next_step.endswith(named)


def test_two_kinds_of_consumers_without_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p.log").write_text("\n".join(SENT))
    (tmp_path / "c.log").write_text("\n".join([*SHARED, *READ]))
    request = VerifiableImport((tmp_path / "p.log",), consumers=(tmp_path / "c.log",))
    with pytest.raises(BadInput, match="VerifiableShareConsumer are mixed"):
        import_run(request, tmp_path / "run")
    # With names they are told apart.
    named = [f"a-1 | {line}" for line in SHARED] + [f"b-1 | {line}" for line in READ]
    (tmp_path / "c.log").write_text("\n".join(named))
    done = import_run(
        VerifiableImport((CASES / "i-java-producer.log",), (tmp_path / "c.log",)), tmp_path / "run"
    )
    assert [one.name for one in done.meta.readers] == ["b-1"]
    assert [one.members for one in done.meta.share] == [("a-1",)]


def test_ten_megabytes(tmp_path: Path) -> None:
    count = 60_000
    sends = [f"p-1  | {sent(str(seq), seq)}" for seq in range(count)]
    assert sum(map(len, sends)) > 7_000_000
    run_of(tmp_path, sends, [KCAT[0]])
    assert seen(tmp_path)[0] == list(range(count))
