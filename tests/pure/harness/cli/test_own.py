"""`kafka-chaos own`: prints a journal to copy, checks journals, and ends with 2 if a run would refuse one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.cli.app import main
from kafka_chaos import Journal
from workloads.own.language_files import language_file

pytestmark = pytest.mark.pure


def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["kafka-chaos", "own", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    assert "Traceback" not in err
    return ended.value.code, out, err


def test_a_language_is_printed_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, capsys, "--language", "go") == (0, language_file("go"), "")


def test_journals_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Journal.begin("x 1", acks="all", idempotent=True, journal=tmp_path, topic="orders")
    whole.sent(b"x")
    whole.end()
    code, out, err = call(monkeypatch, capsys, "--check", str(tmp_path))
    assert (code, err) == (0, "")
    assert "topic orders, run " in out
    assert "0.jsonl: producer 0; x 1 (acks=all, idempotent); sends 1: indeterminate 1" in out
    assert out.endswith("a run would take over all of it\n")
    Journal.begin("x 1", acks="all", idempotent=True, journal=tmp_path)
    code, out, err = call(monkeypatch, capsys, "--check", str(tmp_path))
    assert code == 2
    assert "1.jsonl: producer 1" in out
    assert "take over all" not in out
    assert "1.jsonl does not end with `end`" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "found:    neither"),
        (("--language", "go", "--check", "."), "found:    both"),
        (("--language", "cobol"), "there is no journal for the language 'cobol'"),
        (("--check", "there-is-none"), "there is no such folder"),
    ],
)
def test_what_cannot_be_done_is_one_message(
    arguments: tuple[str, ...],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = call(monkeypatch, capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.count("kafka-chaos: ") == 1
    assert says in err
