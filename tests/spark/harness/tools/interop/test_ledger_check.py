"""Two lists of ids are compared on the engine, as a few lines of Python would."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from checkers import EngineChoice
from checkers.records.ledger import count_ids
from harness.cli.app import app
from harness.model.errors import BadInput
from harness.model.result import ExperimentResult, VerdictWord
from harness.tools.interop.ledger_check import LedgerRequest, check_ids
from harness.tools.interop.ledger_files import write_ids
from harness.tools.interop.ledger_page import ledger_text

pytestmark = pytest.mark.spark

SENT = "parcel\toutcome\nP-1\tok\nP-2\tok\nP-3\ttimeout\nP-4\tOK\nP-5\ttimeout\n"
RECEIVED = "parcel\tpartition\nP-1\t0\nP-3\t1\nP-4\t0\nP-4\t0\n"


def checked(folder: Path, sent: str, received: str, **options: Any) -> ExperimentResult:
    (folder / "sent").write_text(sent)
    (folder / "received").write_text(received)
    given = {"id": "parcel", "complete": True, "engine": EngineChoice("sail"), **options}
    return check_ids(LedgerRequest((folder / "sent",), (folder / "received",), **given), "test").result


def counts(result: ExperimentResult) -> dict[str, int]:
    (arm,) = result.arms
    assert arm.summary is not None
    return {one.value: number for one, number in arm.summary.findings.items()}


def verdict(result: ExperimentResult) -> tuple[VerdictWord, int]:
    return result.arms[0].judgement.verdict, result.exit_code()


def test_a_ledger(tmp_path: Path) -> None:
    result = checked(tmp_path, SENT, RECEIVED)
    assert counts(result) == {"lost": 1, "duplicate": 1, "recovered": 1}
    assert verdict(result) == (VerdictWord.INVALID, 1)
    summary = result.arms[0].summary
    assert summary is not None
    assert (summary.sent, summary.reads, summary.extra_copies) == (5, 4, 1)
    assert summary.outcomes == {"acked": 3, "indeterminate": 2}
    told = "\n".join(ledger_text(result))
    for words in ("lost 1: ack", "lost: id P-2: acknowledged once", "recovered: id P-3", "no offsets"):
        assert words in told


def test_near_misses_of_each_finding(tmp_path: Path) -> None:
    all_there = checked(tmp_path, "parcel\na\nb\n", "parcel\nb\na\n")
    assert (counts(all_there), verdict(all_there)) == ({}, (VerdictWord.VALID, 0))
    # An id that was sent twice may arrive twice, and a failed one may be absent.
    twice = checked(tmp_path, "parcel,outcome\na,timeout\na,ok\nb,error\n", "parcel\na\na\n")
    assert (counts(twice), verdict(twice)[1]) == ({"recovered": 1}, 0)
    thrice = checked(tmp_path, "parcel,outcome\na,timeout\na,ok\n", "parcel\na\na\na\n")
    assert counts(thrice) == {"recovered": 1, "duplicate": 1}
    # Ids are text: no number is rounded, and zeros before it count.
    text = checked(tmp_path, "parcel\n007\n12345678901234567890\n", "parcel\n7\n12345678901234567891\n007\n")
    assert counts(text) == {"lost": 1, "phantom": 2}


@pytest.mark.parametrize(("idempotent", "code"), [(False, 0), (True, 1)])
def test_duplicates_break_the_verdict_only_if_they_must_not_be(
    tmp_path: Path, idempotent: bool, code: int
) -> None:
    result = checked(tmp_path, "parcel\na\n", "parcel\na\na\n", idempotent=idempotent)
    assert (counts(result), result.exit_code()) == ({"duplicate": 1}, code)


def test_a_rejected_id_must_not_be_there(tmp_path: Path) -> None:
    sent = "parcel;state\na;done\nb;no\nc;no\n"
    words = {"outcome": "state", "acked": ("done",), "rejected": ("no",)}
    result = checked(tmp_path, sent, "parcel\na\nb\n", **words)
    assert (counts(result), result.exit_code()) == ({"rejected_present": 1}, 1)


def test_without_the_users_word_nothing_is_complete(tmp_path: Path) -> None:
    result = checked(tmp_path, SENT, RECEIVED, complete=False)
    assert verdict(result) == (VerdictWord.UNKNOWN, 3)
    assert "--complete" in result.arms[0].judgement.reasons[0]
    assert counts(result)["lost"] == 1


@pytest.mark.parametrize(
    ("sent", "received", "why"),
    [
        ("parcel,x\na,1\n,2\n", "parcel\na\n", "1 rows have no id"),
        ("parcel,x\na,1\nb\n", "parcel\na\n", "do not have 2 columns"),
        ("parcel\na\nb\n", "parcel\nA\nB\n", "no id is in both lists"),
    ],
)
def test_what_is_in_doubt_makes_the_verdict_unknown(
    tmp_path: Path, sent: str, received: str, why: str
) -> None:
    result = checked(tmp_path, sent, received)
    assert verdict(result) == (VerdictWord.UNKNOWN, 3)
    assert why in " ".join(result.arms[0].judgement.reasons)


def test_nothing_received_is_lost_and_not_in_doubt(tmp_path: Path) -> None:
    result = checked(tmp_path, "parcel\na\nb\n", "parcel\n")
    assert (counts(result), verdict(result)) == ({"lost": 2}, (VerdictWord.INVALID, 1))


def expected(sent: list[tuple[str, str]], received: list[str]) -> dict[str, int]:
    """The rules in plain Python."""
    got, found = Counter(received), Counter[str]()
    for one in {*got, *(name for name, _ in sent)}:
        outcomes = Counter(outcome for name, outcome in sent if name == one)
        sends, here = outcomes.total(), got[one]
        if not sends:
            found["phantom"] += here
            continue
        # Which of several sends has arrived is not known: acknowledged ones are looked for first.
        left = min(here, sends)
        found["lost"] += max(0, outcomes["ok"] - left)
        left = max(0, left - outcomes["ok"])
        found["recovered"] += min(left, outcomes["timeout"])
        found["rejected_present"] += max(0, left - outcomes["timeout"])
        found["duplicate"] += here > sends
    return {name: number for name, number in found.items() if number}


def test_random_ledgers_agree_with_plain_python(tmp_path: Path) -> None:
    chance = random.Random(48)
    for _ in range(12):
        ids = [f"{chance.choice('ab')}-{number}" for number in range(chance.randint(1, 30))]
        sent = [(chance.choice(ids), chance.choice(("ok", "ok", "timeout", "rejected"))) for _ in range(60)]
        received = [name for name, _ in sent if chance.random() < 0.7]
        received += [chance.choice([*ids, "x-1", "x-2"]) for _ in range(chance.randint(0, 9))]
        text = "parcel,outcome\n" + "".join(f"{name},{outcome}\n" for name, outcome in sent)
        result = checked(tmp_path, text, "parcel\n" + "".join(f"{name}\n" for name in received))
        assert counts(result) == expected(sent, received)


def test_either_engine_counts_the_same(spark: SparkSession, tmp_path: Path) -> None:
    for name, text, words in (
        ("sent", SENT, {"ok": "acked", "timeout": "indeterminate"}),
        ("got", RECEIVED, None),
    ):
        (tmp_path / f"{name}.tsv").write_text(text)
        (tmp_path / name).mkdir()
        outcome = "outcome" if words else None
        write_ids(tmp_path / f"{name}.tsv", "parcel", tmp_path / name / "0.parquet", words, outcome)
    found = count_ids(spark, tmp_path / "sent", tmp_path / "got", tmp_path / "ids")
    assert {one.value: number for one, number in found.findings.items()} == {
        "lost": 1,
        "duplicate": 1,
        "recovered": 1,
    }
    assert (found.received, found.in_both, found.extra_copies) == (4, 3, 1)
    assert [text for _, text in found.examples] == [
        "id P-2: acknowledged once, received 0 times",
        "id P-4: sent once, received 2 times",
        "id P-3: failed, and received once",
    ]


def test_files_as_spreadsheets_write_them(tmp_path: Path) -> None:
    sent = '\ufeff"order ""id""";outcome\r\n"A;1";ok\r\n" B ";ok\r\n'
    received = 'number|"order ""id"""\n1|A;1\n2|B\n'
    result = checked(tmp_path, sent, received, id='order "id"')
    assert (counts(result), result.exit_code()) == ({}, 0)
    other = checked(tmp_path, "a\n1\n", "b\n1\n", id="a", received_id="b")
    assert (counts(other), other.exit_code()) == ({}, 0)


@pytest.mark.parametrize(
    ("sent", "options", "says"),
    [
        ("order\na\n", {}, "no column 'parcel'"),
        ("parcels\na\n", {}, "did you mean 'parcels'"),
        ("parcel,parcel\na,b\n", {}, "several columns 'parcel'"),
        ('{"parcel": 1}\n', {}, "this is no list of ids"),
        ("", {}, "this is no list of ids"),
        ("parcel,outcome\na,okay\n", {}, "--acked WORD"),
        ("parcel,state\na,ok\n", {"outcome": "stat"}, "no column 'stat'"),
        ("parcel\na\n", {"acked": ("x",), "failed": ("X",)}, "given for two outcomes"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, sent: str, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadInput) as refused:
        checked(tmp_path, sent, RECEIVED, **options)
    assert says in str(refused.value)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "s.tsv").write_text(SENT)
    (tmp_path / "r.tsv").write_text(RECEIVED)
    files = ["--sent", str(tmp_path / "s.tsv"), "--received", str(tmp_path / "r.tsv"), "--id", "parcel"]
    plain = CliRunner().invoke(app, ["import-ids", *files, "--complete", "--engine", "sail"])
    assert (plain.exit_code, "verdict: invalid" in plain.output) == (1, True), plain.output
    as_json = CliRunner().invoke(app, ["import-ids", *files, "--json", "--quiet", "--engine", "sail"])
    assert as_json.exit_code == 3
    assert json.loads(as_json.stdout)["arms"][0]["summary"]["findings"]["lost"] == 1
