"""Clients as data, the built-in ones, and how a program is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.lab.clients import installing
from harness.lab.clients.client import CLIENT, ClientSpec, filled_in
from harness.lab.clients.fault import CLIENT_FAULT
from harness.lab.clients.installing import TOOLCHAINS, install, named_client
from harness.model.config.built_in_files import built_in_files
from harness.model.errors import BadInput, PrerequisiteMissing
from workloads.own.language_files import LANGUAGES

pytestmark = pytest.mark.pure

NAMES = CLIENT.builtin_names()
MINE = """
title: ours
language: {language}
registry: none
package: ours
version: 1.0.0
needs: [{needs}]
install:
  - ["{{python}}", -c, "import sys; open('built', 'w').write(sys.argv[1])", "{{version}}"]
  - ["{{python}}", -c, "{second}"]
command: ["{{python}}", "{{folder}}/program.py"]
env: {{WHERE: "{{folder}}/built"}}
modes:
  default: {{says: "Ours()"}}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kafka-chaos" / "clients"


def own(folder: Path, language: str = "python", needs: str = "", second: str = "pass") -> str:
    """The file of a client of ours, with its program beside it."""
    (folder / "ours").mkdir(exist_ok=True)
    (folder / "ours" / "program.py").write_text("print('ours')")
    path = folder / "ours.yaml"
    path.write_text(MINE.format(language=language, needs=needs, second=second))
    return str(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_built_in_client_has_a_program_and_known_tools(name: str) -> None:
    spec, _ = CLIENT.builtin(name)
    files = [entry.name for entry in built_in_files(f"harness/lab/clients/{name}").iterdir()]
    assert files, "its program stands beside it"
    assert set(spec.needs) <= set(TOOLCHAINS), "what is missing is named by its package"
    assert not set(files) & set(LANGUAGES.values()), (
        "the file for journals comes from workloads/own/languages"
    )
    assert any("{version}" in word for command in spec.install for word in command), "the version is pinned"


@pytest.mark.parametrize("name", CLIENT_FAULT.builtin_names())
def test_a_built_in_fault_can_be_read(name: str) -> None:
    spec, _ = CLIENT_FAULT.builtin(name)
    assert any(step.write is not None for step in spec.steps)


def test_placeholders_are_filled_in_and_unknown_ones_refused() -> None:
    assert filled_in(("{python}", "{folder}/x"), {"python": "py", "folder": "/f"}) == ("py", "/f/x")
    fields = CLIENT.builtin(NAMES[0])[0].model_dump()
    with pytest.raises(ValueError, match=r"holds \{home\}; there are \{folder\}, \{python\}, \{version\}"):
        ClientSpec.model_validate({**fields, "command": ("{home}/x",)})


def test_every_client_has_a_default_mode() -> None:
    fields = CLIENT.builtin(NAMES[0])[0].model_dump()
    with pytest.raises(ValueError, match="no mode is called `default`"):
        ClientSpec.model_validate({**fields, "modes": {"fast": {"says": ""}}})


def test_a_program_is_installed_once_and_again_when_it_changes(tmp_path: Path, cache: Path) -> None:
    path = own(tmp_path)
    first = install(named_client(path))
    assert (first.folder / "built").read_text() == "1.0.0"
    assert first.command == (sys.executable, f"{first.folder}/program.py")
    assert first.env == {"WHERE": f"{first.folder}/built"}
    (first.folder / "built").write_text("kept")
    assert (install(named_client(path)).folder / "built").read_text() == "kept"
    (tmp_path / "ours" / "program.py").write_text("print('changed')")
    assert (install(named_client(path)).folder / "built").read_text() == "1.0.0"
    newer = install(named_client(f"{path}@2.0"))
    assert (newer.folder / "built").read_text() == "2.0"
    assert (first.named.label, newer.named.label) == ("ours", "ours-2.0")
    assert len(list(cache.iterdir())) == 3


@pytest.mark.parametrize(("language", "file"), [("go", "kafkachaos/journal.go"), ("rust", "src/journal.rs")])
def test_the_journal_of_its_language_comes_with_it(tmp_path: Path, language: str, file: str) -> None:
    assert (install(named_client(own(tmp_path, language))).folder / file).is_file()


def test_what_cannot_be_installed_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    path = own(tmp_path, second="import sys; sys.exit('there is no version 1.0.0')")
    with pytest.raises(PrerequisiteMissing, match=r"ours 1\.0\.0 cannot be installed") as refused:
        install(named_client(path))
    assert "there is no version 1.0.0" in str(refused.value)
    assert list(cache.iterdir()) == []


def test_a_missing_tool_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteMissing, match="the client ours needs cargo and go") as refused:
        install(named_client(own(tmp_path, needs="cargo, go")))
    assert "install cargo golang-go" in str(refused.value)


def test_a_client_with_an_image_is_installed_in_a_container_where_a_tool_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, ...]] = []

    @contextmanager
    def container(image: str, folder: Path, whose: str, seconds: int) -> Iterator[Any]:  # noqa: ARG001
        yield lambda command: done.append((image, *command)) or (None if len(done) < 4 else "disk is full")

    refusals: dict[str, str | None] = {"golang:1": None}
    monkeypatch.setattr(installing, "in_container", container)
    monkeypatch.setattr(installing, "refusal_of", refusals.__getitem__)
    path = Path(own(tmp_path, needs="no-such-tool"))
    path.write_text(path.read_text() + "image: 'golang:1'\n")
    mine = install(named_client(str(path)))
    assert mine.image == "golang:1"
    assert [command[0] for command in done] == ["golang:1", "golang:1"]
    assert not (mine.folder / "built").exists(), "not on this machine"
    with pytest.raises(PrerequisiteMissing, match="cannot be installed") as failed:
        install(named_client(f"{path}@2.0"))
    assert "disk is full" in str(failed.value)
    refusals["golang:1"] = "no registry answered"
    with pytest.raises(PrerequisiteMissing, match="the client ours needs no-such-tool") as refused:
        install(named_client(str(path)))
    assert "no no-such-tool on PATH, no image golang:1: no registry answered" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kafka-pythn", "did you mean 'kafka-python'"),
        ("kafka-python@", "found:    ''"),
        ("kafka-python@1; x", "this is no version of a client"),
        ("nowhere.yaml", "the client file cannot be read"),
    ],
)
def test_a_client_that_is_none_is_refused(text: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        named_client(text)
    assert says in str(refused.value)
