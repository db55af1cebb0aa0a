"""One name, one meaning: the nouns of ARCHITECTURE.md, and names that were given twice."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

PACKAGES = ("harness", "faults", "workloads", "checkers", "kafka_chaos")
FORBIDDEN = {
    "told": "say what the function does, such as format or describe",
    "place": "location, position or offset",
    "places": "locations, positions or offsets",
}
"""Words that no module, class or function has in its name, and what may take their place. `place` is a
column of findings."""
USERS_NAMES = ("harness/cli/", "harness/lab/suite/expect_")
"""Functions that are called as users type them: commands, and the expectations of claims."""

Sources = Mapping[str, ast.Module]


def sources() -> dict[str, ast.Module]:
    files = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in files}


def nouns() -> list[str]:
    words = (ROOT / "ARCHITECTURE.md").read_text().split("## Words\n")[1].split("\n## ")[0]
    return re.findall(r"^- \*\*(\w+)\*\*", words, re.MULTILINE)


def words_of(name: str) -> list[str]:
    """`AnswerRow` and `answer_row` as answer, row."""
    return re.findall(r"[a-z0-9]+", re.sub(r"([A-Z])", r"_\1", name).lower())


def classes(tree: ast.Module, named: frozenset[str]) -> Iterator[str]:
    """The public classes of a module, and the other types that have the name of a noun."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (one.id for one in node.targets if isinstance(one, ast.Name) and one.id in named)


def functions(tree: ast.Module) -> Iterator[str]:
    return (node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def problems(modules: Sources, named: list[str]) -> list[str]:
    """What has a name that means something else elsewhere, or one that is not allowed."""
    singular = [noun.lower().removesuffix("s") for noun in named]
    of_nouns = {form for noun in singular for form in (noun, f"{noun}s", f"{noun}_of", f"{noun}s_of")}
    where: defaultdict[str, list[str]] = defaultdict(list)
    found = []
    for path, tree in modules.items():
        for name in classes(tree, frozenset(named)):
            where[name].append(path)
        if not path.startswith(USERS_NAMES):
            for name in of_nouns.intersection(functions(tree)):
                where[name].append(path)
        definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        given = [node.name for node in ast.walk(tree) if isinstance(node, definitions)]
        for name in (Path(path).stem, *given):
            found += [f"{path}: {name}: {FORBIDDEN[word]}" for word in words_of(name) if word in FORBIDDEN]
    return found + [f"{name}: {', '.join(paths)}" for name, paths in where.items() if len(paths) > 1]


def test_one_name_has_one_meaning() -> None:
    assert problems(sources(), nouns()) == []


def test_the_list_has_each_noun_once() -> None:
    found = nouns()
    assert len(found) >= 20
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("first", "second", "number"),
    [
        ("class Answers: ...", "class Answers: ...", 1),
        ("class _Answers: ...", "class _Answers: ...", 0),
        ("class Answers: ...", "class AnswerStream: ...", 0),
        ("class Row: ...", "Row = dict", 1),
        ("def row_of(): ...", "def row_of(): ...", 1),
        ("def rows(): ...", "def rows(): ...", 1),
        ("def table(): ...", "def table(): ...", 0),
        ("class A:\n  def _told(self): ...", "class PlaceOfRecord: ...", 2),
        ("def replaced(): ...", "def is_misplaced(): ...", 0),
    ],
)
def test_what_is_refused(first: str, second: str, number: int) -> None:
    modules = {"faults/a.py": ast.parse(first), "checkers/b.py": ast.parse(second)}
    assert len(problems(modules, ["Row"])) == number


def test_commands_and_expectations_have_the_names_that_users_type() -> None:
    modules = {"harness/cli/a.py": ast.parse("def run(): ..."), "checkers/b.py": ast.parse("def run(): ...")}
    assert problems(modules, ["Run"]) == []
    assert problems({"harness/run/told.py": ast.parse("")}, []) != []
