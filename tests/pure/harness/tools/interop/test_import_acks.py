"""Whether the sends that are imported were acknowledged: offsets tell; contradictions are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.model.errors import BadInput
from harness.tools.interop.import_summary import VerifiableImport
from harness.tools.interop.verifiable_import import Imported, import_run
from tests.support.verifiable_output import START, STOP, TOPIC, failed, got, polled, sent, summary

pytestmark = pytest.mark.pure


def imported(folder: Path, *producers: list[str], **options: Any) -> Imported:
    paths = [folder / f"p{number}.log" for number in range(len(producers))]
    for path, lines in zip(paths, producers, strict=True):
        path.write_text("\n".join([START, *lines]))
    (folder / "c.log").write_text("\n".join([START, got("0", 0), got("1", 1), polled(2)]))
    request = VerifiableImport(tuple(paths), finals=(folder / "c.log",), complete=True, **options)
    return import_run(request, folder / "run")


def outcomes(folder: Path) -> list[str]:
    rows = pq.read_table(folder / "run" / "sends", columns=["outcome"])
    return [str(one) for one in rows["outcome"].to_pylist()]


UNANSWERED = [sent("0", -1), sent("1", -1), sent("2", -1), STOP, summary(3)]


def test_sends_without_any_offset_are_taken_as_acks_0(tmp_path: Path) -> None:
    done = imported(tmp_path, UNANSWERED)
    assert done.meta.acks == "0"
    assert outcomes(tmp_path) == ["unconfirmed"] * 3
    assert "every success has the offset -1" in done.file_lines[-1]
    assert "taken as acks=0" in done.file_lines[-1]


def test_given_acks_0_nothing_is_told(tmp_path: Path) -> None:
    done = imported(tmp_path, UNANSWERED, acks="0")
    assert done.meta.acks == "0"
    assert not any("taken as" in line for line in done.file_lines)


@pytest.mark.parametrize("acks", ["1", "all"])
def test_sends_without_any_offset_are_refused_under_other_acks(tmp_path: Path, acks: str) -> None:
    with pytest.raises(BadInput) as refused:
        imported(tmp_path, UNANSWERED, acks=acks)
    assert f"acks={acks}" in str(refused.value)
    assert "--acks 0" in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_offset_shows_that_brokers_answered(tmp_path: Path, at: int) -> None:
    """Near miss: a broker that has forgotten a retried batch acknowledges it without its offset."""
    lines = [sent(str(seq), seq if seq == at else -1) for seq in range(3)]
    done = imported(tmp_path, [*lines, STOP, summary(3)])
    assert done.meta.acks == "all"
    assert outcomes(tmp_path) == ["acked"] * 3
    assert not any("acks" in line for line in done.file_lines)


def test_sends_with_offsets_are_refused_under_acks_0(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="acknowledged, which acks=0 does not do"):
        imported(tmp_path, [sent("0", -1), sent("1", 1)], acks="0")


def test_failures_alone_tell_nothing(tmp_path: Path) -> None:
    done = imported(tmp_path, [failed("0"), STOP, summary(1)])
    assert done.meta.acks == "all"
    assert imported_again_with_acks_0(tmp_path).meta.acks == "0"


def imported_again_with_acks_0(folder: Path) -> Imported:
    other = folder / "other"
    other.mkdir()
    return imported(other, [failed("0"), STOP, summary(1)], acks="0")


def test_producers_of_both_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not have the same acks") as refused:
        imported(tmp_path, [sent("1.0", -1)], [sent("2.0", 0)])
    assert "p0.log" in str(refused.value)
    assert "p1.log" in str(refused.value)


@pytest.mark.parametrize("offset", [None, -1001])
def test_confluents_tools_name_no_offset_in_their_own_way(tmp_path: Path, offset: int | None) -> None:
    event = {"_time": "2026-11-28 10:00:00.000", "name": "producer_send_success", "topic": TOPIC}
    event |= {"key": "", "value": "0", "partition": 0}  # type: ignore[dict-item]
    done = imported(tmp_path, [json.dumps({**event, "offset": offset})])
    assert done.meta.acks == "0"
    assert outcomes(tmp_path)[0] == "unconfirmed"


def test_the_command_says_it(tmp_path: Path) -> None:
    (tmp_path / "p.log").write_text("\n".join([START, *UNANSWERED]))
    (tmp_path / "c.log").write_text("\n".join([START, got("0", 0), polled(1)]))
    files = ["--producer", str(tmp_path / "p.log"), "--final", str(tmp_path / "c.log"), "--complete"]
    done = CliRunner().invoke(app, ["import", str(tmp_path / "run"), *files])
    assert done.exit_code == 0
    assert "taken as acks=0" in done.output
