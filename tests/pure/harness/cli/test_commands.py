"""The command line as a whole: groups, examples, versions, completion."""

from __future__ import annotations

import importlib.metadata
import re
import shlex
from typing import Any

import pytest
import typer.main

from harness.cli.app import EXAMPLES, app
from harness.spec.experiment_files import EXPERIMENT
from harness.spec.fault_index import fault_specs
from tests.support.command_line import call
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

ROOT_COMMAND: Any = typer.main.get_command(app)
SUBCOMMANDS: dict[str, Any] = ROOT_COMMAND.commands


def test_every_command_has_a_group_and_an_example() -> None:
    assert set(SUBCOMMANDS) == set(EXAMPLES)


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_an_example_has_only_options_and_arguments_that_exist(name: str) -> None:
    program, command, *words = shlex.split(EXAMPLES[name].partition(" > ")[0])
    assert (program, command) == ("kafka-chaos", name)
    # Raises for an option that does not exist, a value that it cannot take, and a missing argument.
    SUBCOMMANDS[name].make_context(name, words)


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_help_shows_the_example_and_no_type_of_a_flag(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert call(monkeypatch, name, "--help") == 0
    printed = capsys.readouterr().out
    assert f"Example: {EXAMPLES[name]}" in printed
    assert "<bool>" not in printed
    assert "BOOLEAN" not in printed


def test_commands_are_listed_in_groups(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "--help") == 0
    printed = capsys.readouterr().out
    assert re.findall(r"─ (\w+) ─", printed) == ["Options", "Run", "Analyse", "Suites", "Data", "Machine"]
    assert "<bool>" not in printed


def test_version_names_all_that_takes_part(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "--version") == 0
    first, second, *others = capsys.readouterr().out.splitlines()
    assert first == f"kafka-chaos {importlib.metadata.version('kafka-chaos')}"
    assert second.startswith("Python 3.")
    assert [line.split()[0] for line in others] == ["pyspark", "pysail", "confluent-kafka"]


def completions(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What bash is offered for the last of these words."""
    monkeypatch.setenv("_KAFKA_CHAOS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    call(monkeypatch)
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("kafka-chaos ex", ["explore", "experiments", "export"]),
        ("kafka-chaos run c", ["connect-files", "cut-then-kill"]),
        ("kafka-chaos run kill-leader sto", ["storm"]),
        ("kafka-chaos plan k", ["kafka-streams", "kill-leader"]),
        ("kafka-chaos matrix acks", ["acks-idempotence"]),
        ("kafka-chaos faults pa", ["partition", "pause"]),
        ("kafka-chaos run kill-leader --pro", ["--profile", "--producer-config"]),
        ("kafka-chaos run --brok", ["--broker-config"]),
    ],
)
def test_the_shell_completes_commands_and_names(
    words: str, offered: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completions(words, monkeypatch, capsys) == offered


def test_all_names_and_files_of_the_folder_are_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert set(EXPERIMENT.builtin_names()) <= set(completions("kafka-chaos run ", monkeypatch, capsys))
    assert set(completions("kafka-chaos faults ", monkeypatch, capsys)) == set(fault_specs())
    assert "mkdocs.yml" in completions("kafka-chaos run mk", monkeypatch, capsys)
    found = completions("kafka-chaos run harness/spec/ex", monkeypatch, capsys)
    assert found == ["harness/spec/example.yaml"]
