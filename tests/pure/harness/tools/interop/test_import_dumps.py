"""Dumps of a topic by other tools: JSON of rpk, Kafka UI and AKHQ, tables, arrays, and names of their own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.model.errors import BadInput
from harness.tools.interop.import_summary import VerifiableImport
from harness.tools.interop.table_dumps import dump_header, table_header
from harness.tools.interop.verifiable_import import Imported, import_run
from tests.support.verifiable_output import START, STOP, TOPIC, sent, summary

pytestmark = pytest.mark.pure

RPK = {"topic": TOPIC, "key": "k", "value": "0", "timestamp": 1, "partition": 0, "offset": 0}
KAFKA_UI = {"partition": 0, "offset": 0, "timestamp": "2026-11-28T10:00:00Z", "key": None, "content": "0"}
AKHQ = {"topic": {"name": TOPIC}, "partition": "0", "offset": "0", "key": "k", "value": "0", "headers": []}
NUMBERS = {"topicName": TOPIC, "partition": 0, "offset": 0, "value": 0}
KCAT = [{"topic": TOPIC, "partition": 0, "offset": n, "key": None, "payload": str(n)} for n in range(2)]


def imported(folder: Path, text: str, **options: Any) -> Imported:
    (folder / "p.log").write_text("\n".join([START, sent("0", 0), sent("1", 1), STOP, summary(2)]))
    (folder / "dump").write_text(text)
    files = {"producers": (folder / "p.log",), "finals": (folder / "dump",), "complete": True}
    return import_run(VerifiableImport(**{**files, **options}), folder / "run")


def read(folder: Path) -> list[tuple[object, ...]]:
    columns = ["topic", "partition", "offset", "seq", "state"]
    rows = pq.read_table(folder / "run" / "reads", columns=columns).to_pylist()
    return [tuple(row.values()) for row in rows]


@pytest.mark.parametrize("record", [RPK, KAFKA_UI, AKHQ, NUMBERS], ids=["rpk", "Kafka UI", "AKHQ", "numbers"])
def test_json_of_other_tools_is_read(tmp_path: Path, record: dict[str, object]) -> None:
    done = imported(tmp_path, json.dumps(record) + "\n")
    assert read(tmp_path) == [(TOPIC, 0, 0, 0, "ok")]
    assert done.meta.final_read is not None
    assert done.meta.final_read.complete


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
@pytest.mark.parametrize("value", ["value", "Payload", "CONTENT"])
def test_a_table_is_read_by_its_header(tmp_path: Path, separator: str, value: str) -> None:
    rows = [["Offset", value, "Partition"], ["0", "0", "0"], ["1", '"1"', "0"]]
    imported(tmp_path, "\r\n".join(separator.join(row) for row in rows) + "\r\n")
    assert read(tmp_path) == [(TOPIC, 0, 0, 0, "ok"), (TOPIC, 0, 1, 1, "ok")]


@pytest.mark.parametrize("row", ["0,5", "0,5,1,7", "x,5,1", "0,-3,1", "0,5\t1"])
def test_a_damaged_row_of_a_table_makes_the_read_incomplete(tmp_path: Path, row: str) -> None:
    done = imported(tmp_path, f"partition,offset,value\n0,0,0\n{row}\n")
    assert done.meta.final_read is not None
    assert done.meta.final_read.reasons == ("dump: 1 damaged lines may have reported records",)
    assert len(read(tmp_path)) == 1


def test_a_table_without_a_topic_needs_one(tmp_path: Path) -> None:
    (tmp_path / "silent.log").write_text(START)
    silent = {"producers": (tmp_path / "silent.log",)}
    with pytest.raises(BadInput, match="--topic"):
        imported(tmp_path, "partition,offset,value\n0,0,0\n", **silent)
    imported(tmp_path, "partition,offset,value,topic\n0,0,0,a\n", topic="a", **silent)
    assert read(tmp_path)[0][0] == "a"


def test_the_advice_about_arrays_works(tmp_path: Path) -> None:
    """What `jq -c '.[]'` does: each element as one line."""
    for text in (json.dumps(KCAT), json.dumps(KCAT, indent=2), f"{json.dumps(KCAT)}\n"):
        with pytest.raises(BadInput) as refused:
            imported(tmp_path, text)
        assert refused.value.next_step == "write one object per line, for example with `jq -c '.[]'`"
    imported(tmp_path, "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in json.loads(text)))
    assert [row[3] for row in read(tmp_path)] == [0, 1]


def test_the_advice_about_names_works(tmp_path: Path) -> None:
    own = [{"t": TOPIC, "p": 0, "o": n, "v": str(n)} for n in range(2)]
    with pytest.raises(BadInput) as refused:
        imported(tmp_path, "\n".join(map(json.dumps, own)))
    assert "needed: topic, partition, offset, and the value with its identity" in str(refused.value.expected)
    assert "JSON with the fields t, p, o, v" in str(refused.value.found)
    renames = re.search(r"jq -c '\{(.*?)\}'", str(refused.value.next_step))
    assert renames is not None
    names = dict(pair.split(": .") for pair in renames[1].split(", "))
    imported(tmp_path, "\n".join(json.dumps({to: one[of] for to, of in names.items()}) for one in own))
    assert [row[3] for row in read(tmp_path)] == [0, 1]


@pytest.mark.parametrize("option", ["producers", "finals"])
def test_lists_of_ids_are_sent_to_their_own_command(tmp_path: Path, option: str) -> None:
    (tmp_path / "ids.csv").write_text("order_id,outcome\nA-1,ok\n")
    with pytest.raises(BadInput, match="kafka-chaos import-ids"):
        imported(tmp_path, "", **{option: (tmp_path / "ids.csv",)})


def test_what_a_header_is() -> None:
    assert dump_header(b"partition\toffset\tvalue") is not None
    assert dump_header(b"topic;Partition;Offset;key;payload") is not None
    # Near misses: a column is missing, a name twice, numbers, a sentence.
    for line in (b"partition\toffset", b"partition,offset,value,value", b"0,1,2", b"a partition, an offset"):
        assert dump_header(line) is None
    assert table_header(b"order id\toutcome") is not None
