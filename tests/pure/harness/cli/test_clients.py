"""`kafka-chaos clients`: what it prints without a cluster, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.lab.clients.client import CLIENT
from harness.lab.clients.comparison_result import CLIENTS_FILE, ClientsResult
from harness.many.run_store import RunStore
from tests.support.command_line import call

pytestmark = pytest.mark.pure


def test_clients_and_faults_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "clients", "--list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert [row["client"] for row in listed["clients"]] == list(CLIENT.builtin_names())
    assert "lost-answer" in {row["fault"] for row in listed["faults"]}
    assert call(monkeypatch, "clients", "--list") == 0
    assert "franz-go" in capsys.readouterr().out


def test_the_file_of_a_client_and_the_schema_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "clients", "--show", "sarama") == 0
    assert capsys.readouterr().out == CLIENT.builtin_text("sarama")
    assert call(monkeypatch, "clients", "--schema") == 0
    assert "registry" in json.loads(capsys.readouterr().out)["properties"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--client", "kafkjs"), "did you mean 'kafkajs'"),
        (("--fault", "kil"), "did you mean 'kill'"),
        (("--client", "kafkajs", "--mode", "fast"), "no client has a mode 'fast'"),
        (("--command", "''"), "expected: a program"),
    ],
)
def test_bad_input_is_one_message(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    says: str,
) -> None:
    assert call(monkeypatch, "clients", *arguments) == 2
    assert says in capsys.readouterr().err


def test_a_folder_without_a_comparison_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "clients", "--from", "nowhere") == 3
    assert "there is no comparison of clients here" in capsys.readouterr().err


def test_an_earlier_comparison_is_printed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "clients-1"
    folder.mkdir()
    result = ClientsResult(command="c", started_ns=1, repeat=1, titles={}, says={}, left_out={"x": "no go"})
    RunStore[Any](folder).write(CLIENTS_FILE, result)
    assert call(monkeypatch, "clients", "--from", str(folder)) == 3
    assert "x was left out: no go" in capsys.readouterr().out
    assert (folder / "report.html").is_file()
