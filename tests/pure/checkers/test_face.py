"""What other packages may use of `checkers`: type checkers see imports, Python a table, and both agree."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import checkers

pytestmark = pytest.mark.pure


def _imported() -> dict[str, str]:
    """The names that are imported for type checkers, and their modules."""
    tree = ast.parse(Path(checkers.__file__).read_text())
    blocks = (node for node in tree.body if isinstance(node, ast.If))
    imports = (node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_the_table_and_the_imports_for_types_say_the_same() -> None:
    table = {
        name: f"checkers.{module}" for module, names in checkers._NAMES_OF.items() for name in names.split()
    }
    assert table == _imported()


@pytest.mark.parametrize(("name", "module"), _imported().items())
def test_each_name_is_there(name: str, module: str) -> None:
    assert getattr(checkers, name) is getattr(importlib.import_module(module), name)
