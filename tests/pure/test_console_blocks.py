"""Every command of the documents can be typed: it and its options exist, and what can run here is run."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from harness.cli.app import app, main
from harness.cluster.containers import docker_engine
from harness.lab.bugs.bug import BUGS
from harness.lab.claims.claim import CLAIMS
from tests.support.console_blocks import PAGES, Command, blocks_of, commands_of, inline_of
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

GROUP: Any = typer.main.get_command(app)
WITH_BLOCKS = [page for page in PAGES if blocks_of(page)]
OTHER_PROGRAMS = {
    "pip",
    "mv",
    "mkdir",
    "sh",
    "pytest",
    "java",
    "cargo",
    "export",
    "spark-submit",
    ".venv/bin/pre-commit",
}
AT_ONCE = {"--version", "init", "plan", "audit", "experiments", "findings", "schema"}
"""Commands that need no brokers and no minutes, whatever their arguments are (except --prove)."""
AT_ONCE_WITH = {"--list", "--dry-run", "--show", "--schema", "--init", "--language", "--help"}
"""With one of these options every command is such a command."""
FILES = {
    "producer.properties": "acks=all\nenable.idempotence=true\n",
    "topic.properties": "min.insync.replicas=1\nreplication.factor=3\n",
    "a.properties": "acks=1\n",
    "b.properties": "acks=all\n",
    "writer.yaml": "Writer: {Topic: orders, BatchTimeout: 10 * time.Millisecond}\n",
    "consumer.properties": "group.id=orders\nauto.offset.reset=latest\nenable.auto.commit=true\n",
    "application.yml": "spring: {kafka: {producer: {acks: 1}, consumer: {group-id: orders}}}\n---\n"
    "spring: {config.activate.on-profile: prod, kafka.producer.acks: all}\n",
}
"""What a reader has of his own when he types the commands."""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def is_at_once(words: tuple[str, ...]) -> bool:
    if words[0] != "kafka-chaos" or "--prove" in words:
        return False
    return words[1] in AT_ONCE or bool(AT_ONCE_WITH & set(words))


def wrong_with(words: tuple[str, ...]) -> str | None:
    """What is wrong with a command that a page shows, as far as can be said without running it."""
    program, *arguments = words
    if program == "make":
        known = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return None if arguments[0] in known else "no such target"
    if program == "python" and arguments[:1] == ["-m"]:
        return None if importlib.util.find_spec(arguments[1]) else "no such module"
    if program == "python":
        return None if (ROOT / arguments[0]).is_file() else "no such file"
    if program.startswith("compose/"):
        return None if (ROOT / program).exists() else "no such file"
    if program != "kafka-chaos":
        return None if program in OTHER_PROGRAMS else "a program that this test does not know"
    try:
        context = GROUP.make_context("kafka-chaos", list(arguments))
        name, command, rest = GROUP.resolve_command(context, [*context._protected_args, *context.args])
        parsed = command.make_context(name, rest, parent=context)
    except typer.Exit as left:
        return f"exit code {left.exit_code}" if left.exit_code else None
    except Exception as error:
        if not hasattr(error, "format_message"):  # what Click says to a user; Typer brings a Click of its own
            raise
        return str(error.format_message())
    return wrong_name(name, parsed.params)


def wrong_name(command: str, given: dict[str, Any]) -> str | None:
    """A file, experiment, matrix, claim or bug that is named and does not exist."""
    folders = {"run": "experiments", "matrix": "matrices", "plan": "experiments"}
    if command in folders:
        named = [given.get(key) for key in ("experiment", "spec", "show")] + list(
            given.get("experiments") or ()
        )
        for name in filter(None, named):
            where = ROOT / name if "/" in name else ROOT / "harness" / folders[command] / f"{name}.yaml"
            if name.startswith("examples/") and not where.exists():
                return f"{name} does not exist"
            if re.fullmatch(r"[a-z-]+", name) and not where.exists():
                return f"nothing built in is called {name}"
    items = {"claims": CLAIMS, "bugs": BUGS}.get(command, ())
    named = {name for name in given.get("ids") or () if not name.endswith(".yaml")}
    unknown = named - {item.id for item in items}
    return f"unknown: {', '.join(sorted(unknown))}" if items and unknown else None


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=name_of)
def test_every_command_of_a_block_exists_with_its_options(page: Path) -> None:
    found = {" ".join(each.words): wrong_with(each.words) for block in blocks_of(page) for each in block}
    assert {words: wrong for words, wrong in found.items() if wrong} == {}


def test_every_command_in_running_text_exists_with_its_options() -> None:
    wrong = []
    for page in PAGES:
        for _, name, *rest in inline_of(page):
            if not re.fullmatch(r"[a-z-]+", name) or name.startswith("-"):
                continue  # COMMAND stands for any, and options of all commands
            command = GROUP.commands.get(name)
            known = (
                {option for one in command.params for option in one.opts} | {"--help"} if command else set()
            )
            options = [each for each in rest if re.fullmatch(r"--[a-z-]+", each)]
            if command is None or set(options) - known:
                wrong.append((name_of(page), name, *options))
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("kafka-chaos rum kill-leader", "rum"),
        ("kafka-chaos run kill-leader --sed 1", "--sed"),
        ("kafka-chaos run kill-laeder", "kill-laeder"),
        ("kafka-chaos run examples/none.yaml", "does not exist"),
        ("kafka-chaos claims R99", "R99"),
        ("make demos", "target"),
        ("python -m harness.none", "module"),
        ("compose/none.sh", "file"),
        ("kafka-choas run kill-leader", "does not know"),
    ],
)
def test_a_wrong_command_is_noticed(line: str, says: str) -> None:
    (command,) = commands_of(f"$ {line}   # a comment\n")
    assert says in str(wrong_with(command.words))


def test_blocks_are_read_with_continuations_redirections_and_output() -> None:
    assert commands_of("$ kafka-chaos run a \\\n    --seed 1 > b.txt   # why\nshown\n...\n$ make demo\n") == [
        Command(("kafka-chaos", "run", "a", "--seed", "1"), "b.txt", ("shown",)),
        Command(("make", "demo"), None, ()),
    ]


@pytest.mark.parametrize(
    "page", [p for p in WITH_BLOCKS if any(is_at_once(c.words) for b in blocks_of(p) for c in b)], ids=name_of
)
def test_commands_that_need_no_brokers_run_as_written(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docker_engine, "connect", lambda: pytest.fail("the engine was asked"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    for command in (each for block in blocks_of(page) for each in block if is_at_once(each.words)):
        monkeypatch.setattr(sys, "argv", list(command.words))
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        # An audit that finds a contradiction has done its work.
        assert caught.value.code in ((0, 1) if command.words[1] == "audit" else (0,)), (command.words, err)
        assert out.strip(), command.words
        if command.goes_to:
            Path(command.goes_to).write_text(out)
        printed = " ".join(out.split())
        assert " ".join(" ".join(command.shown).split()) in printed, command.words
