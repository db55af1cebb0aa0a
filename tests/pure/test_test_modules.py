"""No test module is the library of another one: what several tests use is in `tests/support/`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in (ROOT / "tests").rglob("*.py")
}
COLLECTED = {name for name in FILES if name.rpartition(".")[2].startswith(("test_", "conftest"))}
"""Modules of tests, and of fixtures, which need no import."""


def imports(source: str, module: str) -> Iterator[str]:
    """What the module of this name imports; of `from a import b`, both `a` and `a.b`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            package = ".".join([*above, *filter(None, [node.module])])
            yield package
            yield from (f"{package}.{alias.name}" for alias in node.names)


def test_no_module_imports_a_module_of_tests() -> None:
    assert len(COLLECTED) > 300
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}: move what both use to tests/support/"
        for module, file in FILES.items()
        for name in sorted(COLLECTED.intersection(imports(file.read_text(encoding="utf-8"), module)))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "source",
    [
        "import tests.conftest",
        "from tests import conftest",
        "from tests.conftest import TIERS",
        "from . import conftest",
        "from .conftest import TIERS",
        "def late():\n    from tests.conftest import TIERS",
    ],
)
def test_every_way_to_import_one_is_seen(source: str) -> None:
    assert COLLECTED.intersection(imports(source, "tests.test_x")) == {"tests.conftest"}


def test_what_helps_tests_may_be_imported() -> None:
    source = "from tests.support.paths import ROOT\nfrom tests.support import paths\nimport json"
    assert not COLLECTED.intersection(imports(source, "tests.test_x"))
