"""Each room imports only what it may: the rules of ARCHITECTURE.md, read off the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure

ROOT = Path(__file__).parents[2]
OURS = {"harness", "faults", "workloads", "checkers", "compose"}
FORBIDDEN = {
    "faults": {"workloads", "checkers", "compose", "pyspark", "confluent_kafka", "docker", "testcontainers"},
    "workloads": {"faults", "checkers", "compose", "pyspark", "docker", "testcontainers"},
    "checkers": {"faults", "workloads", "compose", "docker", "testcontainers", "confluent_kafka", "kio"},
    "compose": OURS - {"compose"},
}


def imported(path: Path) -> set[str]:
    """Dotted names of everything a module imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("room", sorted(FORBIDDEN))
def test_a_room_imports_only_what_it_may(room: str) -> None:
    for path in sorted((ROOT / room).rglob("*.py")):
        for name in imported(path):
            top = name.split(".")[0]
            assert top not in FORBIDDEN[room], f"{path.relative_to(ROOT)} imports {name}"
            if top == "harness":
                assert name.startswith("harness.model"), f"{path.relative_to(ROOT)} imports {name}"


def test_the_model_talks_to_nobody() -> None:
    outside = {"docker", "testcontainers", "confluent_kafka", "pyspark", "kio"}
    for path in sorted((ROOT / "harness" / "model").glob("*.py")):
        tops = {name.split(".")[0] for name in imported(path)}
        assert not tops & (outside | OURS - {"harness"}), path.name
